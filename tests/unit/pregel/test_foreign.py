"""Savers of third parties: the documented methods are all they need, and they see every save."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from clew.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id
from clew.checkpoint.memory import InMemorySaver
from clew.errors import ThreadBusyError
from clew.func import entrypoint, task
from clew.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class DictSaver(BaseCheckpointSaver[str]):
    """The smallest saver: two dicts, blocking and awaitable."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, tuple[Any, Any, str | None]]] = {}
        self.writes: dict[tuple[str, str], dict[tuple[str, int], tuple[str, str, Any]]] = {}

    def _tuple(self, thread: str, one: str) -> CheckpointTuple:
        checkpoint, metadata, parent = self.rows[thread][one]

        def config(id: str | None) -> Any:
            return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id}}

        writes = list(self.writes.get((thread, one), {}).values())
        return CheckpointTuple(config(one), checkpoint, metadata, config(parent) if parent else None, writes)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        thread = config["configurable"]["thread_id"]
        rows = self.rows.get(thread, {})
        one = get_checkpoint_id(config) or max(rows, default=None)
        return self._tuple(thread, one) if one in rows else None

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[CheckpointTuple]:
        thread = config["configurable"]["thread_id"]
        for one in sorted(self.rows.get(thread, {}), reverse=True)[:limit]:
            yield self._tuple(thread, one)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread = config["configurable"]["thread_id"]
        self.rows.setdefault(thread, {})[checkpoint["id"]] = (checkpoint, metadata, get_checkpoint_id(config))
        return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}}

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        place = config["configurable"]["thread_id"], config["configurable"]["checkpoint_id"]
        for index, (channel, value) in enumerate(writes):
            self.writes.setdefault(place, {})[task_id, index] = (task_id, channel, value)

    def delete_thread(self, thread_id: str) -> None:
        self.rows.pop(thread_id, None)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:  # type: ignore[override] - brief
        for one in self.list(config, **options):
            yield one

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.put_writes(*args)


def test_tasks_questions_and_memory(call: Callable[..., Any]) -> None:
    saver, ran = DictSaver(), list[int]()

    @task
    def step(n: int) -> tuple[int, int]:
        ran.append(n)
        return (n, n)

    @entrypoint(checkpointer=saver)
    def flow(n: int, *, previous: Any = None) -> Any:
        try:
            failing().result()
        except LookupError as error:
            caught = str(error)
        return [previous and previous[0], step(n).result(), caught, interrupt("?"), interrupt("!")]

    @task
    def failing() -> None:
        ran.append(-1)
        raise LookupError("gone")

    assert call(flow, "invoke", 1, CONFIG)["__interrupt__"][0].value == "?"
    assert call(flow, "get_state", CONFIG).next == ("flow",)
    assert call(flow, "invoke", Command(resume="a"), CONFIG)["__interrupt__"][0].value == "!"
    assert call(flow, "invoke", Command(resume="b"), CONFIG) == [None, (1, 1), "gone", "a", "b"]
    assert ran == [-1, 1]
    returned = [w[2] for writes in saver.writes.values() for w in writes.values() if w[1] == "__return__"]
    assert returned == [(1, 1)]
    call(flow, "invoke", 2, CONFIG)
    assert len(list(call(flow, "get_state_history", CONFIG))) == 3


def test_failures_are_tried_again_by_none(call: Callable[..., Any]) -> None:
    ran: list[str] = []

    @task
    def good() -> int:
        ran.append("good")
        return 1

    @task
    def bad() -> int:
        ran.append("bad")
        if ran.count("bad") == 1:
            raise ConnectionError
        return 2

    @entrypoint(checkpointer=DictSaver())
    def flow(_: int) -> list[int]:
        return [good().result(), bad().result()]

    with pytest.raises(ConnectionError):
        call(flow, "invoke", 0, CONFIG)
    assert call(flow, "invoke", None, CONFIG) == [1, 2]
    assert ran == ["good", "bad", "bad"]


def test_runs_of_a_thread_are_serialised_within_the_process() -> None:
    began, go_on = threading.Event(), threading.Event()

    @task
    def hold() -> int:
        began.set()
        assert go_on.wait(10)
        return 1

    @entrypoint(checkpointer=DictSaver())
    def flow(n: int) -> int:
        return hold().result() if n else 0

    thread = threading.Thread(target=flow.invoke, args=(1, CONFIG))
    thread.start()
    assert began.wait(10)
    with pytest.raises(ThreadBusyError):
        flow.invoke(0, CONFIG)
    go_on.set()
    thread.join()
    assert flow.invoke(0, CONFIG) == 0


class Counting(InMemorySaver):
    """Ours, with one documented method overridden: it must be called."""

    puts = 0

    def put(self, *args: Any, **kwargs: Any) -> Any:
        type(self).puts += 1
        return super().put(*args, **kwargs)


def test_a_subclass_that_overrides_a_documented_method_sees_every_save() -> None:
    @entrypoint(checkpointer=Counting())
    def flow(n: int, *, previous: Any = None) -> int:
        return n + (previous or 0)

    assert [flow.invoke(1, CONFIG), flow.invoke(1, CONFIG)] == [1, 2]
    assert Counting.puts == 4
