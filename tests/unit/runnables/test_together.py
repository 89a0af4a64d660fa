"""Running at the same time: limits, errors, timeouts, cancelling, context."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest

from clew._pool import run_in_executor
from clew.config import get_config
from clew.runnables import RunnableLambda, RunnableParallel, cancel_requested
from clew.runnables._together import run_together


class Counter:
    """A leaf that remembers how many of it ran at once; blocking, or both faces."""

    def __init__(self, seconds: float = 0.01, both: bool = False) -> None:
        self.running = self.peak = self.calls = 0
        self.seconds = seconds
        self.lock = threading.Lock()
        self.step = RunnableLambda(self.blocking, self.awaited if both else None)

    def enter(self) -> None:
        with self.lock:
            self.calls += 1
            self.running += 1
            self.peak = max(self.peak, self.running)

    def leave(self) -> None:
        with self.lock:
            self.running -= 1

    def blocking(self, x: Any) -> Any:
        self.enter()
        time.sleep(self.seconds)
        self.leave()
        return x

    async def awaited(self, x: Any) -> Any:
        self.enter()
        await asyncio.sleep(self.seconds)
        self.leave()
        return x


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_case_029_one_limit_over_the_whole_tree(call, limit, both):
    leaf = Counter(both=both)
    tree = RunnableLambda(lambda x: [x]) | RunnableParallel(
        a=leaf.step, t=RunnableParallel(b=leaf.step, c=leaf.step.map())
    )
    results = call(tree, "batch", [1] * 5, {"max_concurrency": limit})
    assert results == [{"a": [1], "t": {"b": [1], "c": [1]}}] * 5
    assert leaf.calls == 15 and leaf.peak <= limit


def test_case_029_a_stricter_limit_further_down_holds_as_well(call):
    inner, outer = Counter(), Counter()
    tree = RunnableParallel(
        one=inner.step.map().with_config(max_concurrency=1) | len, two=outer.step, three=outer.step
    ) | (lambda d: d["one"])
    assert call(tree, "batch", [[1, 2, 3]] * 3, {"max_concurrency": 4}) == [3] * 3
    assert inner.peak <= 3 and inner.peak + outer.peak <= 8 and outer.peak <= 4


def test_case_029_deep_nesting_never_blocks(call):
    leaf = Counter(seconds=0)
    tree: Any = leaf.step
    for _ in range(5):
        tree = RunnableParallel(a=tree, b=tree)
    call(tree, "invoke", 1, {"max_concurrency": 2})
    assert leaf.calls == 32 and leaf.peak <= 2


def test_without_a_limit_nested_forks_beyond_the_pool_still_end(call):
    tree: Any = RunnableLambda(lambda x: x)
    for _ in range(4):
        tree = RunnableParallel({str(i): tree for i in range(4)})
    call(tree, "invoke", 1)


def test_a_limit_below_one_is_refused(call):
    with pytest.raises(ValueError, match="max_concurrency"):
        call(RunnableLambda(lambda x: x), "batch", [1, 2], {"max_concurrency": 0})


def test_branches_run_at_the_same_time(call):
    gate = threading.Barrier(3, timeout=5)
    step = RunnableLambda(lambda x: gate.wait() >= 0)
    assert call(RunnableParallel(a=step, b=step, c=step), "invoke", 1) == {"a": True, "b": True, "c": True}


def test_case_028_a_failed_batch_leaves_nothing_running():
    log: list[Any] = []

    async def work(x: int) -> int:
        if x == 0:
            raise ValueError("zero")
        try:
            await asyncio.sleep(5)
        finally:
            log.append(x)
        return x

    async def run(steps: Any, name: str, given: Any) -> None:
        with pytest.raises(ValueError, match="zero"):
            await getattr(steps, name)(given)
        assert len(asyncio.all_tasks()) == 1

    step = RunnableLambda(work)
    asyncio.run(run(step, "abatch", [0, 1, 2]))
    assert sorted(log) == [1, 2]
    log.clear()
    other = RunnableLambda(lambda x: 1) | step
    asyncio.run(run(RunnableParallel(a=step, b=other), "ainvoke", 0))
    assert log in ([], [1])  # the other branch had not begun, or was cancelled


def test_case_028_blocking_batches_begin_nothing_after_a_failure_and_wait_for_what_runs():
    begun: list[int] = []
    ended: list[int] = []

    def work(x: int) -> int:
        begun.append(x)
        if x == 0:
            raise ValueError("zero")
        time.sleep(0.02)
        ended.append(x)
        return x

    with pytest.raises(ValueError, match="zero"):
        RunnableLambda(work).batch(list(range(500)))
    assert len(begun) < 500
    assert set(begun) - {0} == set(ended)


def test_the_first_position_that_failed_is_raised():
    def fail(text: str, seconds: float) -> Any:
        def call() -> None:
            time.sleep(seconds)
            raise ValueError(text)

        return call

    with pytest.raises(ValueError, match="first"):
        run_together([fail("first", 0.02), fail("second", 0.01)], None, ())


def test_as_completed_gives_the_fast_ones_first(call):
    def work(x: float) -> float:
        time.sleep(x)
        return x

    got = list(call(RunnableLambda(work), "batch_as_completed", [0.2, 0.0]))
    assert got == [(1, 0.0), (0, 0.2)]


def test_as_completed_closed_early_leaves_nothing_running():
    log: list[int] = []

    async def work(x: int) -> int:
        await asyncio.sleep(0 if x == 0 else 5)
        log.append(x)
        return x

    async def run() -> None:
        results = RunnableLambda(work).abatch_as_completed([0, 1, 2])
        assert await anext(results) == (0, 0)
        await results.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert log == [0]


def test_timeout_ends_the_call(call):
    slow = RunnableLambda(lambda x: time.sleep(0.5))
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"0\.05"):
        call(slow | slow, "invoke", 1, {"timeout": 0.05})
    assert time.monotonic() - begin < 0.4
    assert call(RunnableLambda(lambda x: x), "invoke", 1, {"timeout": 5}) == 1
    assert call(RunnableLambda(lambda x: x), "batch", [1, 2], {"timeout": 5}) == [1, 2]


def test_a_timeout_of_the_callers_own_is_not_taken_for_the_configs(call):
    def fail(x: Any) -> Any:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        call(RunnableLambda(fail), "invoke", 1, {"timeout": 5})


def test_timeout_of_a_stream_counts_from_its_beginning(call):
    def slow(pieces):
        for i in range(100):
            time.sleep(0.02)
            yield i

    from clew.runnables import RunnableGenerator

    got: list[int] = []
    with pytest.raises(TimeoutError):
        got.extend(call(RunnableGenerator(slow), "stream", 1, {"timeout": 0.1}))
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        for chunk in RunnableGenerator(slow).stream(1, {"timeout": 0.1}):
            got.append(chunk)  # noqa: PERF402 - what came before the error must be kept
    assert 0 < len(got) < 10 and time.monotonic() - begin < 1


def test_case_034_a_cancelled_caller_is_gone_and_the_function_is_told():
    told = threading.Event()
    begun = threading.Event()

    def work(x: int) -> None:
        begun.set()
        for _ in range(500):
            if cancel_requested():
                told.set()
                return
            time.sleep(0.01)

    async def run() -> None:
        task = asyncio.ensure_future(RunnableLambda(work).ainvoke(1))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert cancel_requested() is False
    asyncio.run(run())
    assert told.wait(5)


def test_case_034_a_function_past_its_timeout_is_told_as_well():
    told = threading.Event()

    def work(x: int) -> None:
        for _ in range(500):
            if cancel_requested():
                told.set()
                return
            time.sleep(0.01)

    with pytest.raises(TimeoutError):
        RunnableLambda(work).invoke(1, {"timeout": 0.05})
    assert told.wait(5)


user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def test_context_variables_reach_branches_and_do_not_leak_out(call):
    def look(x: Any) -> str:
        seen = user.get()
        user.set("changed")
        return seen

    token = user.set("ann")
    try:
        assert call(RunnableParallel(a=look, b=look), "invoke", 1) == {"a": "ann", "b": "ann"}
        assert call(RunnableLambda(look), "batch", [1, 2, 3]) == ["ann"] * 3
        assert user.get() == "ann"
    finally:
        user.reset(token)


def test_helpers_have_the_callers_context_as_well(call):
    gate = threading.Barrier(3, timeout=10)

    def look(x: Any) -> tuple[str, bool]:
        gate.wait()  # so that three threads are at work, two of them helpers
        return user.get(), get_config()["tags"] == ["t"]

    token = user.set("ann")
    try:
        seen = call(RunnableLambda(look), "batch", [1, 2, 3], {"tags": ["t"]})
        assert seen == [("ann", True)] * 3
        nested = RunnableParallel(a=look, b=look, c=look)
        assert call(nested, "invoke", 1, {"tags": ["t"]}) == dict.fromkeys("abc", ("ann", True))
        assert sorted(call(RunnableLambda(look), "batch_as_completed", [1, 2, 3], {"tags": ["t"]})) == [
            (i, ("ann", True)) for i in range(3)
        ]
    finally:
        user.reset(token)


def test_a_worker_that_raises_stop_iteration_says_so():
    def stop() -> None:
        raise StopIteration

    async def run() -> None:
        await run_in_executor(None, stop)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(run())


def test_many_waiting_functions_run_side_by_side():
    gate = threading.Barrier(40, timeout=10)

    async def run() -> None:
        await asyncio.gather(*[run_in_executor(None, gate.wait) for _ in range(40)])

    asyncio.run(run())


def test_helpers_have_the_callers_context():
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    gate = threading.Barrier(3, timeout=10)

    def look(_: Any) -> str:
        gate.wait()  # only passes when three threads are here, so two of them are helpers
        return tenant.get()

    token = tenant.set("ann")
    try:
        assert RunnableLambda(look).batch([1, 2, 3]) == ["ann"] * 3
    finally:
        tenant.reset(token)
