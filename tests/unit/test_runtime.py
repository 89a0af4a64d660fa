"""What a running task can learn about its surroundings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.config import get_config
from clew.errors import NodeTimeoutError, OutsideWorkflowError
from clew.func import entrypoint, task
from clew.runtime import ExecutionInfo, RunControl, Runtime, get_runtime
from clew.store.memory import InMemoryStore
from clew.types import RetryPolicy, TimeoutPolicy

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def test_outside_there_is_none() -> None:
    with pytest.raises(OutsideWorkflowError):
        get_runtime()
    with pytest.raises(OutsideWorkflowError):
        Runtime().patch_execution_info(node_attempt=2)


def test_a_task_has_a_stable_id_over_attempts_and_runs(call: Callable[..., Any]) -> None:
    seen: list[ExecutionInfo] = []

    @task(retry_policy=RetryPolicy(initial_interval=0, jitter=False, max_attempts=2))
    def send(n: int) -> int:
        info = get_runtime().execution_info
        assert info is not None
        seen.append(info)
        if len(seen) < 4:
            raise ConnectionError
        return n

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        return send(n).result()

    with pytest.raises(ConnectionError):
        call(flow, "invoke", 1, CONFIG)
    assert call(flow, "invoke", None, CONFIG) == 1
    assert len({info.task_id for info in seen}) == 1
    assert [info.node_attempt for info in seen] == [1, 2, 1, 2]
    assert seen[0].thread_id == "t" and seen[0].run_id and seen[0].node_first_attempt_time


@dataclass
class Context:
    user: str


def test_context_store_and_config_reach_every_floor(call: Callable[..., Any]) -> None:
    store = InMemoryStore()

    @task
    def inner(*, config: Any, runtime: Runtime[Context]) -> Any:
        runtime.store.put(("n",), "k", {"user": runtime.context.user})
        return [config["configurable"]["who"], get_config()["configurable"]["who"]]

    @entrypoint()
    def nested(n: int, *, runtime: Runtime[Context]) -> Any:
        return [runtime.context.user, inner().result()]

    @entrypoint(checkpointer=InMemorySaver(), store=store, context_schema=Context)
    def flow(n: int) -> Any:
        return nested.invoke(n)

    config = {"configurable": {"thread_id": "t", "who": "ada"}}
    assert call(flow, "invoke", 1, config, context={"user": "bob"}) == ["bob", ["ada", "ada"]]
    item = store.get(("n",), "k")
    assert item is not None and item.value == {"user": "bob"}


@pytest.mark.parametrize("beats", [True, False])
def test_a_heartbeat_keeps_an_idle_timeout_away(beats: bool) -> None:
    @task(timeout=TimeoutPolicy(idle_timeout=0.2))
    async def work() -> str:
        for _ in range(5):
            await asyncio.sleep(0.07)
            if beats:
                get_runtime().heartbeat()
        return "done"

    @entrypoint()
    async def flow(_: int) -> str:
        return await work()

    if beats:
        assert asyncio.run(flow.ainvoke(0)) == "done"
    else:
        with pytest.raises(NodeTimeoutError) as caught:
            asyncio.run(flow.ainvoke(0))
        assert caught.value.kind == "idle"


def test_a_control_tells_that_somebody_wants_the_end() -> None:
    control = RunControl()
    assert not control.drain_requested and control.drain_reason is None
    control.request_drain("deploy")
    runtime = Runtime(control=control)
    assert runtime.drain_requested and runtime.drain_reason == "deploy"
    assert Runtime().drain_requested is False
    assert runtime.override(previous=1).previous == 1
    assert Runtime(previous=1).merge(Runtime(context="c", store="s")).context == "c"
