"""What the rows of the table measure. `python bench/rows.py ours|peer [row …]` prints a JSON object a row.

The same code runs over clew and over its peers: names are looked up by module, and only the package
differs. Figures are process CPU, the median of several rounds, with the model's own work taken off where
the row says "over".
"""

import asyncio
import contextlib
import functools
import importlib
import itertools
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import warnings
from typing import Annotated, TypedDict

warnings.filterwarnings("ignore")
SIDE = sys.argv[1] if len(sys.argv) > 1 else "ours"
LANGGRAPH = {"func", "types", "checkpoint", "graph", "prebuilt"}
ROWS = {}


def get(spec):
    """`messages:AIMessage` from clew, or from where people know it."""
    module, _, name = spec.partition(":")
    if SIDE == "ours":
        home = f"clew.{module}"
    elif module.split(".")[0] in LANGGRAPH:
        home = f"langgraph.{module}"
    elif module.split(".")[0] == "memory":
        home = f"langchain_classic.{module}"
    elif module.split(".")[0] == "chat_message_histories":
        home = f"langchain_community.{module}"
    else:
        home = f"langchain_core.{module}"
    return getattr(importlib.import_module(home), name)


def row(function):
    ROWS[function.__name__] = function
    return function


def cpu(function, n=1, rounds=5):
    """Median CPU microseconds of one call."""
    function()
    took = []
    for _ in range(rounds):
        began = time.process_time_ns()
        for _ in range(n):
            function()
        took.append((time.process_time_ns() - began) / n / 1000)
    return statistics.median(took)


def once(function):
    """CPU microseconds of one call."""
    began = time.process_time_ns()
    function()
    return (time.process_time_ns() - began) / 1000


def growth(function, small, large):
    """How much longer per item the large size takes: 1 is linear."""
    one, many = (cpu(functools.partial(function, n), rounds=3) / n for n in (small, large))
    return many / one


@functools.cache
def model_class():
    base, ai, chunk = (
        get("language_models:BaseChatModel"),
        get("messages:AIMessage"),
        get("messages:AIMessageChunk"),
    )
    generation, result = get("outputs:ChatGeneration"), get("outputs:ChatResult")
    piece = get("outputs:ChatGenerationChunk")

    class Plain(base):
        """Answers at once, with nothing but the objects that an answer needs."""

        @property
        def _llm_type(self):
            return "plain"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            return result(generations=[generation(message=ai(content="yes"))])

    class Streaming(Plain):
        """Streams `chunks` words."""

        chunks: int = 1000

        def _stream(self, messages, stop=None, run_manager=None, **kwargs):
            for _ in range(self.chunks):
                yield piece(message=chunk(content="word "))

        async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
            for _ in range(self.chunks):
                yield piece(message=chunk(content="word "))

    return Plain, Streaming


@row
def invoke():
    model, human = model_class()[0](), get("messages:HumanMessage")
    question = [human(content="hi")]
    own = cpu(lambda: model._generate(question), 2000)
    return {"us": cpu(lambda: model.invoke(question), 500) - own}


@row
def stream():
    model, human = model_class()[1](), get("messages:HumanMessage")
    question = [human(content="hi")]

    def drain(items):
        for _ in items:
            pass

    async def adrain(items):
        async for _ in items:
            pass

    def awaited(make):
        """CPU of one pass on a loop that runs already."""

        async def go():
            took = []
            for _ in range(6):
                began = time.process_time_ns()
                await adrain(make())
                took.append((time.process_time_ns() - began) / 1000)
            return statistics.median(took[1:])

        return asyncio.run(go())

    blocking = cpu(lambda: drain(model.stream(question))) - cpu(lambda: drain(model._stream(question)))
    waiting = awaited(lambda: model.astream(question)) - awaited(lambda: model._astream(question))
    return {"us": blocking / 1000, "async_us": waiting / 1000}


@row
def chain():
    prompt = get("prompts:ChatPromptTemplate").from_messages(
        [("system", "You are {role}."), ("human", "{question}")]
    )
    made = prompt | model_class()[0]() | get("output_parsers:StrOutputParser")()
    given = {"role": "kind", "question": "who?"}
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    took = cpu(lambda: made.invoke(given), 300)
    sys.setprofile(count)
    made.invoke(given)
    sys.setprofile(None)
    return {"us": took, "calls": calls}


@row
def fragments():
    chunk = get("messages:AIMessageChunk")

    def piece(i):
        first = {"name": "f", "args": '{"a": "', "id": "1", "index": 0, "type": "tool_call_chunk"}
        rest = {"name": None, "args": "xy", "id": None, "index": 0, "type": "tool_call_chunk"}
        return chunk(content="", tool_call_chunks=[rest if i else first])

    pieces = [piece(i) for i in range(10_000)]
    merge = lambda: functools.reduce(lambda a, b: a + b, pieces)  # noqa: E731
    began = time.process_time()
    whole = merge()
    took = time.process_time() - began
    assert len(whole.tool_call_chunks[0]["args"]) == 20_005
    return {"ms": took * 1e3 if took > 1 else min(took * 1e3, cpu(merge) / 1e3)}


@row
def history():
    human, ai = get("messages:HumanMessage"), get("messages:AIMessage")
    wrap = get("runnables.history:RunnableWithMessageHistory")
    past = [(human, ai)[i % 2](content=f"message {i} " + "x" * 40) for i in range(10_000)]
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        kinds = {
            "memory": lambda: get("chat_history:InMemoryChatMessageHistory")(),
            "sqlite": lambda: get("chat_message_histories:SQLChatMessageHistory")(
                session_id="s", connection=f"sqlite:///{folder}/h.sqlite"
            ),
            "file": lambda: get("chat_message_histories:FileChatMessageHistory")(f"{folder}/h.json"),
        }
        for kind, make in kinds.items():
            kept = make()
            kept.add_messages(past)
            bot = wrap(model_class()[0](), lambda _, kept=kept: kept)
            config = {"configurable": {"session_id": "s"}}
            # two large figures that differ by a small one: the least of many rounds, taken in turns
            loads, turns = [], []
            began = time.monotonic()
            while len(loads) < 9 and (len(loads) < 3 or time.monotonic() - began < 5):
                loads.append(once(lambda kept=kept: kept.messages))
                turns.append(once(lambda bot=bot, config=config: bot.invoke([human(content="hi")], config)))
            loading, turn = min(loads), min(turns)
            out[kind] = {"turn_ms": turn / 1e3, "over_loading_ms": (turn - loading) / 1e3}
    return out


@row
def pruning():
    human, ai = get("messages:HumanMessage"), get("messages:AIMessage")
    counted = 0
    base = model_class()[0]

    class Counting(base):
        """Counts a message as one token, and how many messages it was asked about."""

        def get_num_tokens_from_messages(self, messages, tools=None):
            nonlocal counted
            counted += len(messages)
            return len(messages)

    def prune(n):
        memory = get("memory:ConversationTokenBufferMemory")(
            llm=Counting(), max_token_limit=10, return_messages=True
        )
        memory.chat_memory.add_messages([(human, ai)[i % 2](content=f"m{i}") for i in range(n - 2)])
        memory.save_context({"input": "q"}, {"output": "a"})

    prune(1000)
    return {"messages_counted_per_message": counted / 1000, "growth": growth(prune, 250, 1000)}


@contextlib.contextmanager
def saver(kind, folder=None):
    if kind == "none":
        yield None
    elif kind == "memory":
        yield get("checkpoint.memory:InMemorySaver")()
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory() as made:
            file = pathlib.Path(folder or made, "s.sqlite")
            with get("checkpoint.sqlite:SqliteSaver").from_conn_string(str(file)) as kept:
                yield kept
    else:
        with get("checkpoint.postgres:PostgresSaver").from_conn_string(
            os.environ["BENCH_POSTGRES_URL"]
        ) as kept:
            kept.setup()
            yield kept


ids = itertools.count()


def thread(name=None):
    return {"configurable": {"thread_id": name or f"t{next(ids)}"}, "recursion_limit": 100_000}


def sequence(checkpointer):
    task, entrypoint, interrupt = get("func:task"), get("func:entrypoint"), get("types:interrupt")

    @task
    def step(i: int) -> int:
        return i + 1

    @entrypoint(checkpointer=checkpointer)
    def work(n: int) -> int:
        x = 0
        for _ in range(abs(n)):
            x = step(x).result()
        return x if n > 0 else x + interrupt("go on?")

    return work


@row
def tasks():
    out = {}
    for kind in ("none", "memory", "sqlite", *(["postgres"] if os.environ.get("BENCH_POSTGRES_URL") else [])):
        with saver(kind) as kept:
            work = sequence(kept)
            took = cpu(lambda work=work: work.invoke(300, thread()), rounds=3)
            base = cpu(lambda work=work: work.invoke(1, thread()), rounds=3)
            out[kind] = (took - base) / 299
    return out


@row
def replay():
    command = get("types:Command")
    with saver("sqlite") as kept:
        work, took = sequence(kept), []
        for n in (1000, 1000, 1000):
            config = thread()
            work.invoke(-n, config)
            began = time.process_time_ns()
            assert work.invoke(command(resume=1), config) == n + 1
            took.append((time.process_time_ns() - began) / 1000 / n)
    return {"us": statistics.median(took)}


@row
def thread_on_disk():
    entrypoint = get("func:entrypoint")
    with tempfile.TemporaryDirectory() as folder:
        with saver("sqlite", folder) as kept:

            @entrypoint(checkpointer=kept)
            def chat(text: str, *, previous: list | None = None) -> list:
                turn = [{"role": "user", "content": text}, {"role": "ai", "content": text[::-1]}]
                past = (previous or []) + turn
                return entrypoint.final(value=len(past), save=past)

            for i in range(400):
                chat.invoke(f"{i:04d}" + os.urandom(30).hex(), thread("one"))
        size = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
    return {"mb": size / 1e6}


@row
def graph_step():
    graph, start, end = get("graph:StateGraph"), get("graph:START"), get("graph:END")
    add, ai = get("graph.message:add_messages"), get("messages:AIMessage")

    class State(TypedDict):
        messages: Annotated[list, add]
        n: int

    def built(kept):
        made = graph(State)
        made.add_node("step", lambda s: {"messages": [ai(content="x" * 40)], "n": s["n"] - 1})
        made.add_edge(start, "step")
        made.add_conditional_edges("step", lambda s: "step" if s["n"] > 0 else end, ["step", end])
        return made.compile(checkpointer=kept)

    with saver("sqlite") as kept:
        loop = built(kept)
        steps = {
            n: cpu(lambda n=n: loop.invoke({"messages": [], "n": n}, thread()), rounds=3) / n
            for n in (25, 400)
        }
    return {"us": steps[400], "growth": steps[400] / steps[25]}


@row
def agent_turn():
    agent, ai, tool = get("prebuilt:create_react_agent"), get("messages:AIMessage"), get("tools:tool")
    base, generation, result = model_class()[0], get("outputs:ChatGeneration"), get("outputs:ChatResult")

    class Calling(base):
        """Calls the tool until it has `turns` results."""

        turns: int = 10

        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            done = sum(m.type == "tool" for m in messages)
            call = [{"name": "add", "args": {"a": done, "b": 1}, "id": f"c{done}", "type": "tool_call"}]
            message = ai(content="", tool_calls=call) if done < self.turns else ai(content="done")
            return result(generations=[generation(message=message)])

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    made = agent(Calling(), [add])
    ask = {"messages": [("user", "add")]}
    return {"us": cpu(lambda: made.invoke(ask, {"recursion_limit": 1000}), rounds=5) / 10}


@row
def vector_search():
    embeddings, store = get("embeddings:DeterministicFakeEmbedding"), get("vectorstores:InMemoryVectorStore")
    kept = store(embeddings(size=256))
    kept.add_texts([f"text number {i}" for i in range(10_000)])
    memory = get("memory:VectorStoreRetrieverMemory")(retriever=kept.as_retriever(search_kwargs={"k": 4}))
    own = cpu(lambda: embeddings(size=256).embed_query("text number 7"))
    return {"ms": (cpu(lambda: memory.load_memory_variables({"prompt": "text number 7"})) - own) / 1e3}


def main(wanted):
    for name, measure in ROWS.items():
        if wanted and name not in wanted:
            continue
        try:
            found = measure()
        except Exception as error:  # a row that can't be measured says why
            found = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({"row": name, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[2:])
