"""The pool of threads, the limit over a tree, bodies without a loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew._drive import awaited, drive
from clew._pool import MAX_THREADS, Pool, cancel_requested, run_in_executor
from clew.globals import get_verbose, set_verbose
from clew.runnables._limit import Limit


def test_a_body_that_never_suspends_is_driven_without_a_loop():
    async def body(x: int) -> int:
        return await awaited(lambda y: y + 1)(x)

    assert drive(body(1)) == 2

    async def fails() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        drive(fails())


def test_a_body_that_suspends_is_closed_and_named():
    closed: list[bool] = []

    async def body() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match=r"body.* suspended in a blocking call"):
        drive(body())
    assert closed == [True]


def test_more_waiting_calls_than_threads_all_get_their_turn():
    done, all_done = [], threading.Event()
    own = Pool()

    def call() -> None:
        time.sleep(0.002)
        done.append(1)
        if len(done) == MAX_THREADS * 3:
            all_done.set()

    for _ in range(MAX_THREADS * 3):
        own.offer(call)
    assert all_done.wait(30)


def test_a_call_that_nobody_began_is_never_begun_when_its_caller_goes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("clew._pool.MAX_THREADS", 1)
    own, gate, ran = Pool(), threading.Event(), []
    own.offer(gate.wait)

    async def run() -> None:
        from contextvars import copy_context

        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(own.start(loop, copy_context(), lambda: ran.append(1)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        assert await own.start(loop, copy_context(), lambda: "next") == "next"

    asyncio.run(run())
    assert ran == []


def test_an_executor_of_the_callers_own():
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as executor:
        name = asyncio.run(run_in_executor(executor, lambda: threading.current_thread().name))
    assert name.startswith("mine")
    assert asyncio.run(run_in_executor({"tags": []}, lambda: threading.current_thread().name)) == "clew-worker"


def test_results_for_several_loops_reach_their_own():
    def loop(n: int) -> list[int]:
        async def run() -> list[int]:
            return await asyncio.gather(*[run_in_executor(None, int, i + n) for i in range(50)])

        return asyncio.run(run())

    with ThreadPoolExecutor(4) as executor:
        assert list(executor.map(loop, [0, 100, 200, 300])) == [list(range(n, n + 50)) for n in (0, 100, 200, 300)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, which this system has not")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    asyncio.run(run_in_executor(None, int))
    child = os.fork()
    if child == 0:
        os._exit(0 if asyncio.run(run_in_executor(None, lambda: 7)) == 7 else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child never got a thread")


def test_outside_of_a_worker_nobody_asks_to_stop():
    assert cancel_requested() is False
    assert asyncio.run(run_in_executor(None, cancel_requested)) is False


def test_permits_are_kept_above_and_below():
    outer = Limit(2)
    inner = Limit(2, outer)
    assert inner.try_take() and not inner.try_take() and not outer.try_take()
    inner.give()
    assert outer.try_take() and not inner.try_take()  # free here, but not above
    woken: list[int] = []
    inner.when_free(lambda: woken.append(1))
    assert woken == []
    outer.give()
    assert woken == [1] and inner.try_take()
    with pytest.raises(ValueError, match="0"):
        Limit(0)


def test_waiting_for_a_permit_blocking_and_awaited():
    limit = Limit(1)
    order: list[str] = []
    thread = threading.Thread(target=lambda: (limit.take(), order.append("taken"), limit.give()))
    thread.start()
    time.sleep(0.01)
    order.append("given")
    limit.give()
    thread.join(10)

    async def run() -> None:
        await limit.atake()
        waiting = asyncio.ensure_future(limit.atake())
        await asyncio.sleep(0)
        assert not waiting.done()
        limit.give()
        await asyncio.wait_for(waiting, 10)

    asyncio.run(run())
    assert order == ["given", "taken"]


def test_verbose_is_a_setting_of_the_process():
    before = get_verbose()
    set_verbose(True)
    try:
        assert get_verbose() is True
    finally:
        set_verbose(before)
