"""Agents: the loop, approval, limits, healing, and that nothing finished runs twice."""

import threading
from typing import Annotated, Any

import pydantic
import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.checkpoint.sqlite import SqliteSaver
from clew.errors import BudgetExceededError, ToolError
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from clew.outputs import ChatGeneration, ChatResult
from clew.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, create_react_agent
from clew.prebuilt._react import healed
from clew.store.memory import InMemoryStore
from clew.tools import tool
from clew.types import Command


class Scripted(BaseChatModel):
    """Gives prepared answers in order; keeps what it was asked."""

    answers: list[Any]
    asked: list[Any] = pydantic.Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(list(messages))
        answer = self.answers[len(self.asked) - 1]
        message = AIMessage(answer) if isinstance(answer, str) else answer
        return ChatResult(generations=[ChatGeneration(message=message)])


def calling(*calls):
    made = [{"name": name, "args": args, "id": f"c{n}", "type": "tool_call"} for n, (name, args) in enumerate(calls)]
    return AIMessage("", tool_calls=made)


def thread(name="t"):
    return {"configurable": {"thread_id": name}}


ASK = {"messages": [("user", "go")]}


def results(done):
    return [(one.content, one.status) for one in done["messages"] if isinstance(one, ToolMessage)]


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_calls_of_one_answer_run_side_by_side_and_keep_their_order(call):
    gate = threading.Barrier(2, timeout=30)

    @tool
    def meet(name: str) -> str:
        """Wait for the other."""
        gate.wait()
        return name

    model = Scripted(answers=[calling(("meet", {"name": "a"}), ("meet", {"name": "b"})), "done"])
    agent = create_react_agent(model, [meet], checkpointer=InMemorySaver())
    assert results(call(agent, "invoke", ASK, thread())) == [("a", "success"), ("b", "success")]


def test_a_finished_call_is_not_made_again_when_its_neighbour_failed(call, tmp_path):
    paid, broken = [], [True]

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    @tool
    def mail() -> str:
        """Send a mail."""
        if broken:
            raise ConnectionError("down")
        return "sent"

    model = Scripted(answers=[calling(("pay", {"amount": 5}), ("mail", {})), "done"])
    agent = create_react_agent(model, [pay, mail], checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        call(agent, "invoke", ASK, thread())
    broken.clear()
    assert results(call(agent, "invoke", None, thread())) == [("paid", "success"), ("sent", "success")]
    assert paid == [5] and len(model.asked) == 2


@pytest.mark.parametrize(
    "answer, outcome",
    [
        (True, ("3", "success")),
        ({"type": "approve"}, ("3", "success")),
        ({"type": "edit", "args": {"a": 10, "b": 1}}, ("11", "success")),
        ({"type": "reject", "message": "too dear"}, ("too dear", "error")),
        (False, ("The user did not allow this call of add.", "error")),
    ],
)
def test_a_person_allows_changes_or_refuses_a_call(call, answer, outcome):
    model = Scripted(answers=[calling(("add", {"a": 1, "b": 2})), "done"])
    agent = create_react_agent(model, [add], checkpointer=InMemorySaver(), approve=["add"])
    asked = call(agent, "invoke", ASK, thread())["__interrupt__"]
    assert [one.value["tool_call"]["args"] for one in asked] == [{"a": 1, "b": 2}]
    assert results(call(agent, "invoke", Command(resume=answer), thread())) == [outcome]


def test_only_the_named_tools_wait_for_approval(call):
    @tool
    def look(at: str) -> str:
        """Look."""
        return at

    model = Scripted(answers=[calling(("look", {"at": "sky"}), ("add", {"a": 1, "b": 2})), "done"])
    saver = InMemorySaver()
    agent = create_react_agent(model, [look, add], checkpointer=saver, approve=lambda one: one["name"] == "add")
    asked = call(agent, "invoke", ASK, thread())["__interrupt__"]
    assert len(asked) == 1
    assert results(call(agent, "invoke", Command(resume=True), thread())) == [("sky", "success"), ("3", "success")]


def test_limits_stop_before_the_next_call(call):
    again = calling(("add", {"a": 1, "b": 1}))
    agent = create_react_agent(Scripted(answers=[again] * 9), [add], max_model_calls=2)
    with pytest.raises(BudgetExceededError, match="2 model calls"):
        call(agent, "invoke", ASK)
    agent = create_react_agent(Scripted(answers=[again] * 9), [add], max_tool_calls=1)
    with pytest.raises(BudgetExceededError, match="limit is 1"):
        call(agent, "invoke", ASK)


def test_hooks_before_and_after_the_model(call):
    model = Scripted(answers=["one"])
    seen = []
    agent = create_react_agent(
        model, [add], prompt="Be brief.",
        pre_model_hook=lambda state: {"llm_input_messages": [HumanMessage("short")]},
        post_model_hook=lambda state: seen.append(state["messages"][-1].content),
    )  # fmt: skip
    done = call(agent, "invoke", ASK)
    assert [one.content for one in model.asked[0]] == ["Be brief.", "short"]
    assert seen == ["one"] and [one.content for one in done["messages"]] == ["go", "one"]


def test_a_tool_may_end_the_agent(call):
    @tool(return_direct=True)
    def answer() -> str:
        """Answer."""
        return "42"

    model = Scripted(answers=[calling(("answer", {}))])
    assert call(create_react_agent(model, [answer]), "invoke", ASK)["messages"][-1].content == "42"


def test_a_model_chosen_per_call(call):
    models = {"a": Scripted(answers=["from a"]), "b": Scripted(answers=["from b"])}
    agent = create_react_agent(lambda state, runtime: models[runtime.context["which"]], [], context_schema=dict)
    assert call(agent, "invoke", ASK, context={"which": "b"})["messages"][-1].content == "from b"


def test_tools_get_state_store_and_runtime(call):
    store = InMemoryStore()
    store.put(("k",), "x", {"v": 1})

    @tool
    def peek(
        word: str,
        state: Annotated[dict, InjectedState],
        messages: Annotated[list, InjectedState("messages")],
        shelf: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime,
    ) -> str:
        """Peek."""
        item = shelf.get(("k",), "x")
        return f"{word} {len(state['messages'])} {len(messages)} {item.value['v']} {runtime.tool_call_id}"

    model = Scripted(answers=[calling(("peek", {"word": "w"})), "done"])
    agent = create_react_agent(model, [peek], store=store)
    assert results(call(agent, "invoke", ASK)) == [("w 2 2 1 c0", "success")]


def test_case_082_a_call_that_never_got_a_result_gets_one_that_says_so():
    asked = calling(("add", {}), ("add", {}))
    cut = [HumanMessage("q"), asked, ToolMessage("5", tool_call_id="c1"), HumanMessage("next")]
    whole = healed(cut)
    assert [one.type for one in whole] == ["human", "ai", "tool", "tool", "human"]
    assert [(one.tool_call_id, one.status) for one in whole[2:4]] == [("c0", "error"), ("c1", "success")]
    assert healed(whole) == whole


def test_case_082_the_next_turn_after_a_crash_is_a_valid_request(call):
    model = Scripted(answers=["fine"])
    agent = create_react_agent(model, [add])
    call(agent, "invoke", {"messages": [HumanMessage("q"), calling(("add", {"a": 1, "b": 2})), HumanMessage("well?")]})
    assert [one.type for one in model.asked[0]] == ["human", "ai", "tool", "human"]


@pytest.mark.parametrize(
    "rule, told",
    [
        (True, "boom"),
        ("try later", "try later"),
        (lambda e: f"<{e}>", "<boom>"),
        (KeyError, None),
        ((ToolError, OSError), "boom"),
    ],
)
def test_which_errors_the_model_is_told(rule, told):
    @tool
    def bad() -> str:
        """Fail."""
        raise OSError("boom")

    node = ToolNode([bad], handle_tool_errors=rule)
    if told is None:
        with pytest.raises(OSError, match="boom"):
            node.invoke([calling(("bad", {}))])
    else:
        answer = node.invoke([calling(("bad", {}))])[0]
        assert told in answer.content and answer.status == "error"


def test_a_tool_may_update_the_state_by_a_command(call):
    @tool
    def jump() -> Any:
        """Jump."""
        return Command(update={"messages": [ToolMessage("jumped", tool_call_id="c0")]})

    model = Scripted(answers=[calling(("jump", {})), "done"])
    assert results(call(create_react_agent(model, [jump]), "invoke", ASK)) == [("jumped", "success")]


def test_wrapping_each_call(call):
    log = []

    def wrap(request, handler):
        log.append(request.tool_call["name"])
        return handler(request.override(tool_call={**request.tool_call, "args": {"a": 9, "b": 9}}))

    node = ToolNode([add], wrap_tool_call=wrap)
    assert node.invoke([calling(("add", {"a": 1, "b": 1}))])[0].content == "18" and log == ["add"]


def test_a_conversation_over_processes_and_turns(tmp_path):
    for turn in range(2):
        with SqliteSaver.from_conn_string(str(tmp_path / "a.sqlite")) as saver:
            model = Scripted(answers=[calling(("add", {"a": turn, "b": 1})), f"turn {turn}"])
            agent = create_react_agent(model, [add], prompt=SystemMessage("s"), checkpointer=saver)
            done = agent.invoke({"messages": [("user", f"q{turn}")]}, thread())
    assert [one.content for one in done["messages"]] == ["q0", "", "1", "turn 0", "q1", "", "2", "turn 1"]
    assert [one.type for one in model.asked[-1]] == ["system", "human", "ai", "tool", "ai", "human", "ai", "tool"]
