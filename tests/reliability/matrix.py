"""Kill every kind of run on every store: `python matrix.py BACKEND FACE URL FOLDER KILLS` prints JSON.

Runs are forked from this warm process; each child opens its own connection. Items are the units that must not run
again once their result was used: tasks, nodes, model calls, tool calls. A line `thread/begin/item` is written before
an item's effect, `thread/used/item` by whoever got its result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from killing import Log, ended, fork

from clew.checkpoint.postgres import AsyncPostgresSaver, PostgresSaver
from clew.checkpoint.redis import AsyncRedisSaver, RedisSaver
from clew.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from clew.func import entrypoint, task
from clew.graph import START, StateGraph
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, ToolMessage
from clew.outputs import ChatGeneration, ChatResult
from clew.prebuilt import create_react_agent
from clew.tools import tool

ITEMS = 6
SAVERS = {
    ("sqlite", "sync"): SqliteSaver,
    ("sqlite", "async"): AsyncSqliteSaver,
    ("postgres", "sync"): PostgresSaver,
    ("postgres", "async"): AsyncPostgresSaver,
    ("redis", "sync"): RedisSaver,
    ("redis", "async"): AsyncRedisSaver,
}


def steps(log: Log, *, is_async: bool) -> Any:
    """Return the task `step`, in the colour of the face."""
    if is_async:

        async def astep(thread: str, n: int) -> int:
            log(f"{thread}/begin/{n}")
            await asyncio.sleep(0.0002 * (n % 3))
            return n

        return task(astep, name="step")

    def step(thread: str, n: int) -> int:
        log(f"{thread}/begin/{n}")
        return n

    return task(step, name="step")


def sequential(saver: Any, log: Log, *, is_async: bool) -> Any:
    step = steps(log, is_async=is_async)

    def done(thread: str, n: int) -> None:
        log(f"{thread}/used/{n}")

    def flow(thread: str) -> int:
        total = 0
        for n in range(ITEMS):
            total += step(thread, n).result()
            done(thread, n)
        return total

    async def aflow(thread: str) -> int:
        total = 0
        for n in range(ITEMS):
            total += await step(thread, n)
            done(thread, n)
        return total

    return entrypoint(checkpointer=saver, name="flow")(aflow if is_async else flow)


def parallel(saver: Any, log: Log, *, is_async: bool) -> Any:
    step = steps(log, is_async=is_async)

    def flow(thread: str) -> int:
        total = 0
        for n, future in enumerate([step(thread, n) for n in range(ITEMS)]):
            total += future.result()
            log(f"{thread}/used/{n}")
        return total

    async def aflow(thread: str) -> int:
        total = 0
        for n, future in enumerate([step(thread, n) for n in range(ITEMS)]):
            total += await future
            log(f"{thread}/used/{n}")
        return total

    return entrypoint(checkpointer=saver, name="flow")(aflow if is_async else flow)


def nested(saver: Any, log: Log, *, is_async: bool) -> Any:
    step = steps(log, is_async=is_async)

    def pair(thread: str, n: int) -> int:
        first = step(thread, n).result()
        log(f"{thread}/used/{n}")
        second = step(thread, n + 1).result()
        log(f"{thread}/used/{n + 1}")
        return first + second

    async def apair(thread: str, n: int) -> int:
        first = await step(thread, n)
        log(f"{thread}/used/{n}")
        second = await step(thread, n + 1)
        log(f"{thread}/used/{n + 1}")
        return first + second

    both = task(apair if is_async else pair, name="pair")

    def flow(thread: str) -> int:
        return sum(both(thread, n).result() for n in range(0, ITEMS, 2))

    async def aflow(thread: str) -> int:
        return sum([await both(thread, n) for n in range(0, ITEMS, 2)])

    return entrypoint(checkpointer=saver, name="flow")(aflow if is_async else flow)


def graph(saver: Any, log: Log, *, is_async: bool) -> Any:
    def node(n: int) -> Any:
        def run(state: dict[str, Any]) -> dict[str, Any]:
            if n:
                log(f"{state['thread']}/used/{n - 1}")
            log(f"{state['thread']}/begin/{n}")
            return {**state, "total": state["total"] + n}

        async def arun(state: dict[str, Any]) -> dict[str, Any]:
            return run(state)

        return arun if is_async else run

    builder = StateGraph(dict)
    builder.add_sequence([(f"n{n}", node(n)) for n in range(ITEMS)])
    builder.add_edge(START, "n0")
    return builder.compile(checkpointer=saver)


class Caller(BaseChatModel):
    """Asks for one tool call after another."""

    log: Any
    thread: str

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        done = sum(isinstance(one, ToolMessage) for one in messages)
        if done:
            self.log(f"{self.thread}/used/tool{done - 1}")
        self.log(f"{self.thread}/begin/model{done}")
        calls = [{"name": "count", "args": {"n": done}, "id": f"c{done}", "type": "tool_call"}] if done < ITEMS else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="", tool_calls=calls))])


def agent(saver: Any, log: Log, thread: str) -> Any:
    @tool
    def count(n: int) -> str:
        """Count."""
        log(f"{thread}/used/model{n}")
        log(f"{thread}/begin/tool{n}")
        return str(n)

    return create_react_agent(Caller(log=log, thread=thread), [count], checkpointer=saver)


def make(shape: str, saver: Any, log: Log, thread: str, *, is_async: bool) -> tuple[Any, Any]:
    """Return the workflow and its input."""
    if shape == "agent":
        return agent(saver, log, thread), {"messages": [("user", "count")]}
    if shape == "graph":
        return graph(saver, log, is_async=is_async), {"thread": thread, "total": 0}
    shapes = {"sequential": sequential, "parallel": parallel, "nested": nested}
    return shapes[shape](saver, log, is_async=is_async), thread


def outcome(shape: str, value: Any) -> bool:
    """Say whether a value is the right one."""
    if shape == "agent":
        told = [one.content for one in value["messages"] if isinstance(one, ToolMessage)]
        return told == [str(n) for n in range(ITEMS)] and len(value["messages"]) == 2 * ITEMS + 2
    return (value["total"] if shape == "graph" else value) == sum(range(ITEMS))


def go(kind: Any, url: str, shape: str, log: Log, thread: str) -> None:
    """Begin the run of a thread, or go on with it; nothing when it is over."""
    config: Any = {"configurable": {"thread_id": thread}}
    with kind.from_conn_string(url) as saver:
        flow, given = make(shape, saver, log, thread, is_async=False)
        state = flow.get_state(config)
        if state.created_at is None:
            value = flow.invoke(given, config)
        else:
            value = flow.invoke(None, config) if state.next else state.values
    assert outcome(shape, value), value


async def ago(kind: Any, url: str, shape: str, log: Log, thread: str) -> None:
    """Awaitable `go`."""
    config: Any = {"configurable": {"thread_id": thread}}
    async with kind.from_conn_string(url) as saver:
        flow, given = make(shape, saver, log, thread, is_async=True)
        state = await flow.aget_state(config)
        if state.created_at is None:
            value = await flow.ainvoke(given, config)
        else:
            value = await flow.ainvoke(None, config) if state.next else state.values
    assert outcome(shape, value), value


def prepare(kind: Any, url: str) -> None:
    """Make the tables, in a process of its own: a fork must not inherit a connection."""

    async def awaited() -> None:
        async with kind.from_conn_string(url) as saver:
            await saver.setup()

    if kind.__name__.startswith("Async"):
        asyncio.run(awaited())
    else:
        with kind.from_conn_string(url) as saver:
            saver.setup()


def run(backend: str, face: str, url: str, folder: Path, wanted: int, shape: str) -> dict[str, Any]:
    """Kill runs up to three times each at random instants, a new process going on each time, until it is enough."""
    kind, chance = SAVERS[backend, face], random.Random(f"{backend}{face}{shape}")
    log = Log(folder / f"log-{shape}")

    def child(thread: str) -> Any:
        if face == "async":
            return lambda: asyncio.run(ago(kind, url, shape, log, thread))
        return lambda: go(kind, url, shape, log, thread)

    assert ended(fork(lambda: prepare(kind, url))) == 0
    began = time.monotonic()
    assert ended(fork(child(f"{shape}-warm"))) == 0
    whole = time.monotonic() - began
    kills = runs = 0
    while kills < wanted:
        thread = f"{shape}-{runs}"
        runs += 1
        assert runs <= 20 * wanted, f"{shape}: the kills come too late to mean anything"
        for attempt in range(4):
            pid = fork(child(thread))
            if attempt < 3:
                time.sleep(chance.random() * whole)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            code = ended(pid)
            if code == 0:
                break
            assert code == -signal.SIGKILL, f"{shape} {thread}: a child ended with {code}"
            kills += 1
    used: set[str] = set()
    again: list[str] = []
    for line in log.lines():
        thread, what, item = line.split("/")
        if what == "used":
            used.add(f"{thread}/{item}")
        elif f"{thread}/{item}" in used:
            again.append(line)
    return {"again": again, "kills": kills, "runs": runs}


if __name__ == "__main__":
    backend, face, url, folder, kills = sys.argv[1:6]
    shapes = ("sequential", "parallel", "nested", "graph", "agent")
    print(json.dumps({shape: run(backend, face, url, Path(folder), int(kills), shape) for shape in shapes}))
