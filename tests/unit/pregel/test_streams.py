"""Streams: every mode and shape, in order, while the run goes on; readers that go away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.config import get_stream_writer
from clew.func import entrypoint, task
from clew.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@task
def inc(n: int) -> int:
    get_stream_writer()({"saw": n})
    return n + 1


@entrypoint()
def twice(n: int) -> int:
    return inc(inc(n).result()).result()


def listed(call: Callable[..., Any], flow: Any, value: Any, *args: Any, **options: Any) -> list[Any]:
    return list(call(flow, "stream", value, *args, **options))


def test_modes_and_shapes(call: Callable[..., Any]) -> None:
    assert listed(call, twice, 1) == [{"inc": 2}, {"inc": 3}, {"twice": 3}]
    assert listed(call, twice, 1, stream_mode="values") == [3]
    assert listed(call, twice, 1, stream_mode="custom") == [{"saw": 1}, {"saw": 2}]
    assert listed(call, twice, 1, stream_mode=["custom", "values"]) == [
        ("custom", {"saw": 1}), ("custom", {"saw": 2}), ("values", 3),
    ]  # fmt: skip
    parts = listed(call, twice, 1, stream_mode=["updates"], version="v2")
    assert parts[-1] == {"type": "updates", "ns": (), "data": {"twice": 3}}
    assert call(twice, "invoke", 1, stream_mode="updates") == [{"inc": 2}, {"inc": 3}, {"twice": 3}]
    with pytest.raises(ValueError, match="stream mode"):
        listed(call, twice, 1, stream_mode="everything")


def test_tasks_and_debug(call: Callable[..., Any]) -> None:
    events = listed(call, twice, 1, stream_mode="tasks")
    assert [(one["name"], "result" in one) for one in events] == [
        ("twice", False), ("inc", False), ("inc", True), ("inc", False), ("inc", True), ("twice", True),
    ]  # fmt: skip
    kinds = [one["type"] for one in listed(call, twice, 1, stream_mode="debug")]
    assert kinds.count("task") == kinds.count("task_result") == 3


def test_a_nested_workflow_shows_with_its_namespace(call: Callable[..., Any]) -> None:
    @entrypoint()
    def outer(n: int) -> int:
        return twice.invoke(n)

    assert listed(call, outer, 1) == [{"outer": 3}]
    deep = listed(call, outer, 1, subgraphs=True)
    assert [(len(ns), data) for ns, data in deep] == [
        (1, {"inc": 2}),
        (1, {"inc": 3}),
        (1, {"twice": 3}),
        (0, {"outer": 3}),
    ]
    assert deep[0][0][0].startswith("outer:")


def test_checkpoints_of_a_workflow(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> Any:
        return [n, interrupt("?")]

    (waiting,) = listed(call, flow, 1, CONFIG, stream_mode="checkpoints")
    assert waiting["next"] == ["flow"] and waiting["metadata"]["source"] == "input"
    (done,) = listed(call, flow, Command(resume=2), CONFIG, stream_mode="checkpoints")
    assert done["values"] == [1, 2] and done["next"] == []
    assert done["config"] == flow.get_state(CONFIG).config


def test_a_reader_that_goes_away_stops_the_run_at_its_next_task() -> None:
    ran: list[int] = []
    saver = InMemorySaver()

    @task
    def step(n: int) -> int:
        ran.append(n)
        return n

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> int:
        return sum(step(i).result() for i in range(n))

    items = flow.stream(1000, CONFIG)
    assert next(items) == {"step": 0}
    items.close()
    assert len(ran) < 1000
    done = len(ran)
    assert flow.invoke(None, CONFIG) == sum(range(1000))
    assert len(ran) == 1000 and done < 1000


def test_an_async_reader_that_goes_away() -> None:
    ran: list[int] = []

    @task
    async def step(n: int) -> int:
        await asyncio.sleep(0)
        ran.append(n)
        return n

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(n: int) -> int:
        return sum([await step(i) for i in range(n)])

    async def main() -> int:
        items = flow.astream(500, CONFIG)
        assert await anext(items) == {"step": 0}
        await items.aclose()  # type: ignore[attr-defined] - it is a generator
        assert len(ran) < 500
        return await flow.ainvoke(None, CONFIG)

    assert asyncio.run(main()) == sum(range(500))
    assert len(ran) == len(set(ran)) == 500


def test_events_come_while_the_run_goes_on() -> None:
    go_on = threading.Event()

    @task
    def early() -> str:
        return "early"

    @task
    def late() -> str:
        assert go_on.wait(10)
        return "late"

    @entrypoint()
    def flow(_: int) -> list[str]:
        return [early().result(), late().result()]

    items = flow.stream(0)
    assert next(items) == {"early": "early"}
    go_on.set()
    assert list(items) == [{"late": "late"}, {"flow": ["early", "late"]}]


def test_an_error_comes_after_what_went_before(call: Callable[..., Any]) -> None:
    @task
    def bad() -> None:
        raise RuntimeError("bad")

    @entrypoint()
    def flow(_: int) -> None:
        inc(1).result()
        bad().result()

    seen: list[Any] = []
    with pytest.raises(RuntimeError, match="bad"):
        seen.extend(flow.stream(0))
    assert seen == [{"inc": 2}]


def test_cancelling_an_async_run_gives_the_thread_back() -> None:
    @task
    async def step(n: int) -> int:
        await asyncio.sleep(30 if n else 0)
        return n

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(n: int) -> int:
        await step(0)
        return await step(n)

    async def main() -> int:
        running = asyncio.ensure_future(flow.ainvoke(1, CONFIG))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return await flow.ainvoke(0, CONFIG)

    assert asyncio.run(main()) == 0
