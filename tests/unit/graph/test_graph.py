"""Graphs on the runtime: what they keep, where they stop, what they refuse."""

import operator
from typing import Annotated

import pytest
from typing_extensions import TypedDict

from clew.cache.memory import InMemoryCache
from clew.checkpoint.memory import InMemorySaver
from clew.checkpoint.sqlite import SqliteSaver
from clew.errors import (
    GraphRecursionError,
    InvalidUpdateError,
    MissingThreadError,
    PendingInterruptError,
    SerializationError,
)
from clew.func import task
from clew.graph import END, START, MessagesState, StateGraph
from clew.messages import AIMessage, HumanMessage
from clew.runnables import RunnableConfig
from clew.runtime import Runtime, get_runtime
from clew.types import CachePolicy, Command, RetryPolicy, Send, interrupt


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]


def thread(name="t"):
    return {"configurable": {"thread_id": name}}


def chain(*nodes, **options):
    builder = StateGraph(State)
    builder.add_sequence([(node.__name__, node) for node in nodes])
    builder.add_edge(START, nodes[0].__name__)
    return builder.compile(**options)


def test_nodes_take_what_they_declare(call):
    def node(state: State, config: RunnableConfig, runtime: Runtime, *, writer, store):
        writer("hello")
        return {"log": [config["configurable"]["thread_id"], runtime.context, store]}

    graph = StateGraph(State, context_schema=dict).add_node("node", node).add_edge(START, "node").compile()
    assert call(graph, "invoke", {}, thread("T"), context={"user": 1})["log"] == ["T", {"user": 1}, None]


def test_send_fans_out_and_keeps_order(call):
    builder = StateGraph(State)
    builder.add_node("square", lambda n: {"log": [n * n]})
    builder.add_conditional_edges(START, lambda s: [Send("square", n) for n in range(s["n"])], ["square"])
    assert call(builder.compile(), "invoke", {"n": 4})["log"] == [0, 1, 4, 9]


def test_command_updates_and_leads(call):
    builder = StateGraph(State)
    ways = Command(update={"log": ["chose"]}, goto=["b", Send("c", 7)])
    builder.add_node("choose", lambda s: ways, destinations=["b", "c"])
    builder.add_node("b", lambda s: {"log": ["b"]})
    builder.add_node("c", lambda n: {"log": [n]})
    builder.add_edge(START, "choose")
    assert call(builder.compile(), "invoke", {})["log"] == ["chose", "b", 7]


def test_command_for_the_graph_around(call):
    inner = StateGraph(State)
    inner.add_node("up", lambda s: Command(graph=Command.PARENT, update={"log": ["from inside"]}, goto="after"))
    inner.add_edge(START, "up")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile(), destinations=["after"])
    outer.add_node("after", lambda s: {"log": ["after"]})
    outer.add_edge(START, "inner")
    assert call(outer.compile(), "invoke", {})["log"] == ["from inside", "after"]
    with pytest.raises(InvalidUpdateError, match="no graph is around"):
        call(inner.compile(checkpointer=InMemorySaver()), "invoke", {}, thread())


def test_a_way_that_leads_to_no_node_is_an_error_that_names_both(call):
    graph = StateGraph(State).add_node("a", lambda s: Command(goto="nowhere")).add_edge(START, "a").compile()
    with pytest.raises(InvalidUpdateError, match="'a' leads to 'nowhere'"):
        call(graph, "invoke", {})


def test_a_branch_may_only_choose_what_its_map_names(call):
    builder = StateGraph(State).add_node("a", lambda s: {})
    builder.add_conditional_edges(START, lambda s: "b", {"a": "a"})
    with pytest.raises(ValueError, match="returned 'b'"):
        call(builder.compile(), "invoke", {})


def test_breakpoints_stop_once_and_go_on(call):
    ran = []

    def a(state):
        ran.append("a")

    def b(state):
        ran.append("b")

    def c(state):
        ran.append("c")

    graph = chain(a, b, c, checkpointer=InMemorySaver(), interrupt_before=["b"], interrupt_after=["b"])
    call(graph, "invoke", {"n": 1}, thread())
    assert ran == ["a"] and call(graph, "get_state", thread()).next == ("b",)
    call(graph, "invoke", None, thread())
    assert ran == ["a", "b"] and call(graph, "get_state", thread()).next == ("c",)
    assert call(graph, "invoke", None, thread()) == {"n": 1, "log": []}
    assert ran == ["a", "b", "c"]


def test_the_limit_of_steps_says_what_would_be_next():
    graph = StateGraph(State).add_node("a", lambda s: {"n": 1}).add_edge(START, "a").add_edge("a", "a").compile()
    with pytest.raises(GraphRecursionError, match="3 steps"):
        graph.invoke({}, {"recursion_limit": 3})


def test_case_103_a_new_input_does_not_drop_the_question(call):
    def ask(state):
        return {"log": [interrupt("sure?")]}

    graph = chain(ask, checkpointer=InMemorySaver())
    call(graph, "invoke", {"n": 1}, thread())
    with pytest.raises(PendingInterruptError, match="sure"):
        call(graph, "invoke", {"n": 2}, thread())
    assert call(graph, "invoke", Command(resume="yes"), thread()) == {"n": 1, "log": ["yes"]}


def test_parallel_questions_are_all_shown_and_answered_by_id(call):
    builder = StateGraph(State)
    builder.add_node("ask", lambda n: {"log": [(n, interrupt(f"q{n}"))]})
    builder.add_conditional_edges(START, lambda s: [Send("ask", n) for n in range(5)], ["ask"])
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = call(graph, "invoke", {}, thread())["__interrupt__"]
    assert [one.value for one in asked] == [f"q{n}" for n in range(5)]
    answers = {one.id: one.value.upper() for one in reversed(asked)}
    assert call(graph, "invoke", Command(resume=answers), thread())["log"] == [(n, f"Q{n}") for n in range(5)]


def test_an_error_handler_speaks_for_a_node(call):
    def fails(state):
        raise ConnectionError("down")

    def handler(state, error):
        return Command(update={"log": [error.node, str(error.error)]}, goto="after")

    builder = StateGraph(State)
    builder.add_node("fails", fails, error_handler=handler, destinations=["after"])
    builder.add_node("after", lambda s: {"log": ["after"]})
    builder.add_edge(START, "fails")
    assert call(builder.compile(), "invoke", {})["log"] == ["fails", "down", "after"]


def test_defaults_of_policies_reach_every_node(call):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError

    builder = StateGraph(State).add_node("flaky", flaky).add_edge(START, "flaky")
    builder.set_node_defaults(retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    call(builder.compile(), "invoke", {})
    assert len(tries) == 3


def test_case_109_two_nodes_of_one_name_share_no_cache():
    cache = InMemoryCache()

    def make(word):
        builder = StateGraph(State)
        builder.add_node("say", lambda s: {"log": [word]}, cache_policy=CachePolicy())
        return builder.add_edge(START, "say").compile(cache=cache)

    assert [make(word).invoke({"n": 1})["log"] for word in ("A", "B", "A")] == [["A"], ["B"], ["A"]]


def test_a_value_that_cannot_be_saved_is_named_by_its_key(call):
    graph = chain(_unsavable, checkpointer=InMemorySaver())
    with pytest.raises(SerializationError, match=r"'log'.*\$\[0\]"):
        call(graph, "invoke", {}, thread())


def _unsavable(state):
    return {"log": [lambda: 1]}


def test_a_thread_is_needed_when_something_is_saved(call):
    with pytest.raises(MissingThreadError):
        call(chain(_unsavable, checkpointer=InMemorySaver()), "invoke", {})


def test_durable_steps_on_sqlite_go_on_in_another_saver(tmp_path):
    ran = []

    def first(state):
        ran.append("first")
        return {"log": ["first"]}

    def second(state):
        ran.append("second")
        return {"log": [interrupt("?")]}

    for answer in (None, "yes"):
        with SqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
            graph = chain(first, second, checkpointer=saver)
            if answer is None:
                graph.invoke({"log": ["in"]}, thread())
            else:
                assert graph.invoke(Command(resume=answer), thread()) == {"log": ["in", "first", "yes"]}
    assert ran == ["first", "second", "second"]


def test_tasks_in_nodes_have_stable_ids_for_the_outside_world():
    seen = []

    @task
    def pay():
        seen.append(get_runtime().execution_info.task_id)
        if len(seen) == 1:
            raise ConnectionError

    def node(state):
        pay().result()

    graph = chain(node, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        graph.invoke({}, thread())
    graph.invoke(None, thread())
    assert len(seen) == 2 and seen[0] == seen[1]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_checkpoint_reads_back_as_it_was(durability, tmp_path):
    builder = StateGraph(MessagesState)
    builder.add_node("reply", lambda s: {"messages": [AIMessage(f"{len(s['messages'])} " + "word " * 30)]})
    builder.add_edge(START, "reply")
    with SqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        graph = builder.compile(checkpointer=saver)
        for turn in range(40):
            graph.invoke({"messages": [HumanMessage(f"turn {turn}")]}, thread(), durability=durability)
        ends = [one for one in graph.get_state_history(thread()) if one.next == ()]
        lengths = [len(one.values["messages"]) for one in ends]
        assert lengths == list(range(80, 0, -2))
        assert ends[-1].values["messages"][0].content == "turn 0"


def test_case_116_a_growing_conversation_costs_what_was_added(tmp_path):
    builder = StateGraph(MessagesState)
    builder.add_node("reply", lambda s: {"messages": [AIMessage("answer " * 12)]})
    builder.add_edge(START, "reply")
    file = tmp_path / "g.sqlite"
    sizes = []
    with SqliteSaver.from_conn_string(str(file)) as saver:
        graph = builder.compile(checkpointer=saver)
        for turn in range(400):
            graph.invoke({"messages": [HumanMessage("question " * 9)]}, thread())
            if turn in (99, 199, 299, 399):
                saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)") if hasattr(saver, "conn") else None
                sizes.append(sum(one.stat().st_size for one in tmp_path.iterdir()))
    first, last = sizes[1] - sizes[0], sizes[3] - sizes[2]
    assert last <= 1.6 * max(first, 40_000), sizes


def test_update_by_hand_and_go_on_from_there(call):
    graph = chain(_plus, _twice, checkpointer=InMemorySaver(), interrupt_before=["_twice"])
    call(graph, "invoke", {"n": 1}, thread())
    call(graph, "update_state", thread(), {"n": 10}, as_node="_plus")
    assert call(graph, "get_state", thread()).next == ("_twice",)
    assert call(graph, "invoke", None, thread())["n"] == 20
    with pytest.raises(InvalidUpdateError, match="no node"):
        call(graph, "update_state", thread(), {"n": 1}, as_node="ghost")


def _plus(state):
    return {"n": state["n"] + 1}


def _twice(state):
    return {"n": state["n"] * 2}


def test_drawing_shows_branches_ends_and_subgraphs():
    inner = StateGraph(State).add_node("deep", lambda s: {}).add_edge(START, "deep").compile()
    builder = StateGraph(State).add_node("a", lambda s: {}).add_node("inner", inner)
    builder.add_edge(START, "a").add_conditional_edges("a", lambda s: "x", {"x": "inner", "y": END})
    graph = builder.compile()
    ways = {(edge.source, edge.target, edge.data, edge.conditional) for edge in graph.get_graph().edges}
    assert ways == {
        (START, "a", None, False), ("a", "inner", "x", True), ("a", END, "y", True), ("inner", END, None, False),
    }  # fmt: skip
    assert "inner:deep" in graph.get_graph(xray=True).nodes
    assert list(graph.get_subgraphs()) == ["inner"]


def _asking(saver, ran):
    def a(state):
        ran.append("a")
        return {"log": ["a"]}

    def b(state):
        return {"log": [interrupt("first?")]}

    def c(state):
        return {"log": [interrupt("second?")]}

    return chain(a, b, c, checkpointer=saver)


@pytest.mark.parametrize("modes", ["exit exit exit", "exit sync exit", "sync exit sync", "exit async sync"])
def test_a_pause_is_found_and_answered_in_whatever_durability(call, modes):
    ran = []
    graph = _asking(InMemorySaver(), ran)
    first, second, third = modes.split()
    call(graph, "invoke", {"log": ["in"]}, thread(), durability=first)
    state = call(graph, "get_state", thread())
    assert state.next == ("b",) and state.values == {"log": ["in", "a"]}
    assert [one.value for one in state.interrupts] == ["first?"]
    call(graph, "invoke", Command(resume="x"), thread(), durability=second)
    state = call(graph, "get_state", thread())
    assert state.next == ("c",) and state.values == {"log": ["in", "a", "x"]}
    assert call(graph, "invoke", Command(resume="y"), thread(), durability=third) == {"log": ["in", "a", "x", "y"]}
    assert ran == ["a"] and call(graph, "get_state", thread()).next == ()


def test_a_failure_with_durability_exit_is_gone_on_with_from_its_step(call):
    ran, broken = [], [True]

    def a(state):
        ran.append("a")

    def b(state):
        ran.append("b")
        if broken:
            raise ConnectionError

    graph = chain(a, b, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        call(graph, "invoke", {}, thread(), durability="exit")
    assert call(graph, "get_state", thread()).next == ("b",)
    broken.clear()
    call(graph, "invoke", None, thread())
    assert ran == ["a", "b", "b"]


def test_one_key_is_one_run_of_a_graph(call):
    ran, broken = [], [True]

    def a(state):
        ran.append("a")
        return {"log": ["a"]}

    def b(state):
        if broken:
            raise ConnectionError
        return {"log": ["b"]}

    graph = chain(a, b, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t", "idempotency_key": "k"}}
    with pytest.raises(ConnectionError):
        call(graph, "invoke", {"log": ["in"]}, config)
    broken.clear()
    for _ in range(2):
        assert call(graph, "invoke", {"log": ["in"]}, config) == {"log": ["in", "a", "b"]}
    assert list(call(graph, "stream", {"log": ["in"]}, config, stream_mode="values")) == [{"log": ["in", "a", "b"]}]
    assert ran == ["a"]


def test_a_step_whose_nodes_are_done_and_not_yet_folded_is_not_the_end(call):
    broken = [True]

    def fold(old, new):
        if broken:
            raise ArithmeticError("can't fold")
        return old + new

    class Folded(TypedDict, total=False):
        log: Annotated[list, fold]

    builder = StateGraph(Folded)
    for name in "ab":
        builder.add_node(name, lambda s, name=name: {"log": [name]})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(ArithmeticError):
        call(graph, "invoke", {}, thread())
    assert call(graph, "get_state", thread()).next == ("a", "b")
    broken.clear()
    assert call(graph, "invoke", None, thread()) == {"log": ["a", "b"]}


def test_a_key_knows_its_run_whoever_finished_it(call):
    def a(state):
        return {"log": [interrupt("?")]}

    graph = chain(a, checkpointer=InMemorySaver())
    keyed = {"configurable": {"thread_id": "t", "idempotency_key": "k"}}
    call(graph, "invoke", {"log": ["in"]}, keyed)
    done = call(graph, "invoke", Command(resume="yes"), thread())
    assert call(graph, "invoke", {"log": ["in"]}, keyed) == done == {"log": ["in", "yes"]}
    with pytest.raises(RuntimeError, match="nothing waits"):
        call(graph, "invoke", Command(resume="again"), keyed)


def test_a_memory_of_its_own_for_a_subgraph_is_refused_and_says_what_to_do():
    with pytest.raises(ValueError, match="thread_id of its own"):
        StateGraph(State).add_node("a", lambda s: {}).add_edge(START, "a").compile(checkpointer=True)


def test_a_busy_thread_may_queue(call):
    graph = StateGraph(State).add_node("a", lambda s: {"log": ["a"]}).add_edge(START, "a")
    graph = graph.compile(checkpointer=InMemorySaver(), multitask_strategy="enqueue")
    assert graph.multitask == "enqueue" and call(graph, "invoke", {}, thread()) == {"log": ["a"]}
