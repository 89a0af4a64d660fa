"""`max_concurrency` with many tasks: nothing hangs, nothing is called too deep, no more run than may."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.func import entrypoint, task
from clew.pregel._limit import Slots


@task
def leaf(n: int) -> int:
    return n


@task
def middle(n: int) -> int:
    return sum(future.result() for future in [leaf(i) for i in range(30)]) + n


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_hundreds_of_nested_tasks(call: Callable[..., Any], limit: int) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        return sum(future.result() for future in [middle(i) for i in range(n)])

    config = {"configurable": {"thread_id": "t"}, "max_concurrency": limit}
    assert call(flow, "invoke", 40, config) == 40 * 435 + 780


def test_no_more_run_than_may() -> None:
    lock, now, peak = threading.Lock(), [0], [0]

    @task
    def work(n: int) -> int:
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        time.sleep(0.005)
        with lock:
            now[0] -= 1
        return n

    @entrypoint()
    def flow(n: int) -> int:
        return sum(future.result() for future in [work(i) for i in range(n)])

    assert flow.invoke(20, {"max_concurrency": 3}) == 190
    assert 1 <= peak[0] <= 3


def test_a_slot_that_is_not_needed_goes_on_to_the_next_without_depth() -> None:
    slots, used = Slots(1), list[int]()
    slots.wait()
    for n in range(5000):
        slots.enter(lambda n=n: used.append(n) if n == 4999 else False)
    slots.leave()
    assert used == [4999]
    with pytest.raises(ValueError, match="positive"):
        Slots(0)
