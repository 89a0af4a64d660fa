"""What `entrypoint` and `task` make of functions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clew.cache import InMemoryCache
from clew.checkpoint.memory import InMemorySaver
from clew.errors import NonDeterminismError, OutsideWorkflowError
from clew.func import Scheduler, asleep, entrypoint, sleep, task
from clew.func._cron import Cron
from clew.types import CachePolicy, Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@task
def double(n: int) -> int:
    return 2 * n


def test_a_task_outside_a_workflow_says_what_to_do() -> None:
    with pytest.raises(OutsideWorkflowError, match=r"double\.func"):
        double(1)
    assert double.func(4) == 8


def test_bad_functions_are_refused_when_they_are_decorated() -> None:
    with pytest.raises(ValueError, match="at least one parameter"):
        entrypoint()(lambda: 1)
    with pytest.raises(TypeError, match="one input"):
        entrypoint()(lambda a, b: 1)

    def numbers(n: int) -> Any:
        yield n

    with pytest.raises(NotImplementedError, match="generator"):
        entrypoint()(numbers)
    with pytest.raises(ValueError, match="timeout"):
        task(lambda n: n, timeout=1)
    with pytest.raises(ValueError, match="match"):
        task(lambda n: n, match="all")  # type: ignore[call-overload] - what is tested
    with pytest.raises(ValueError, match="multitask"):
        entrypoint(multitask_strategy="queue")(lambda n: n)  # type: ignore[arg-type] - what is tested
    with pytest.raises(TypeError, match="with"):
        from clew.checkpoint.sqlite import SqliteSaver

        entrypoint(checkpointer=SqliteSaver.from_conn_string(":memory:"))(lambda n: n)


def test_futures_work_with_the_standard_tools() -> None:
    @entrypoint()
    def flow(n: int) -> Any:
        futures = [double(i) for i in range(n)]
        done, _ = concurrent.futures.wait(futures, timeout=10)
        called: list[int] = []
        futures[0].add_done_callback(lambda future: called.append(future.result()))
        return [
            len(done), sorted(one.result() for one in concurrent.futures.as_completed(futures)), called,
            [one.done() for one in futures], futures[1].exception(), futures[1].cancel(),
        ]  # fmt: skip

    assert flow.invoke(3) == [3, [0, 2, 4], [0], [True] * 3, None, False]


def test_a_timeout_of_result_waits_for_a_worker() -> None:
    go_on = threading.Event()

    @task
    def held() -> str:
        assert go_on.wait(10)
        return "late"

    @entrypoint()
    def flow(_: int) -> Any:
        future = held()
        with pytest.raises(TimeoutError):
            future.result(timeout=0.02)
        go_on.set()
        return future.result(timeout=10)

    assert flow.invoke(1) == "late"


def test_sequential_tasks_stay_in_the_callers_thread() -> None:
    @task
    def where() -> int:
        return threading.get_ident()

    @entrypoint()
    def flow(_: int) -> list[int]:
        return [where().result() for _ in range(50)]

    here = flow.invoke(0).count(threading.get_ident())
    assert here >= 45  # a worker may pick one up now and then


def test_result_in_the_event_loop_would_stop_it() -> None:
    @task
    async def slow() -> int:
        await asyncio.sleep(0)
        return 1

    @entrypoint()
    async def flow(_: int) -> int:
        return slow().result()

    with pytest.raises(RuntimeError, match="await"):
        asyncio.run(flow.ainvoke(0))


def test_async_tasks_in_a_blocking_run_are_a_type_error() -> None:
    @task
    async def slow() -> int:
        return 1

    @entrypoint()
    def flow(_: int) -> int:
        return slow().result()

    with pytest.raises(TypeError, match="ainvoke"):
        flow.invoke(0)
    assert asyncio.run(flow.ainvoke(0)) == 1


@pytest.mark.parametrize("limit", [1, 2])
def test_case_104_nested_tasks_under_a_limit_end(call: Callable[..., Any], limit: int) -> None:
    @task
    def outer(n: int) -> int:
        return double(n).result() + 1

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> list[int]:
        return [future.result() for future in [outer(i) for i in range(n)]]

    config = {**CONFIG, "max_concurrency": limit}
    assert call(flow, "invoke", 4, config) == [1, 3, 5, 7]


def test_case_104_nested_async_tasks_under_a_limit_end() -> None:
    @task
    async def inner(n: int) -> int:
        await asyncio.sleep(0.001)
        return n

    @task
    async def outer(n: int) -> list[int]:
        return await asyncio.gather(inner(n), inner(n + 1))

    @entrypoint()
    async def flow(n: int) -> Any:
        return await asyncio.gather(*[outer(i) for i in range(n)])

    async def main() -> Any:
        return await asyncio.wait_for(flow.ainvoke(4, {"max_concurrency": 1}), 20)

    assert asyncio.run(main()) == [[0, 1], [1, 2], [2, 3], [3, 4]]


def test_sleeping_takes_no_slot(call: Callable[..., Any]) -> None:
    @task
    def nap(n: int) -> int:
        sleep(0.15)
        return n

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> list[int]:
        return [future.result() for future in [nap(i) for i in range(n)]]

    began = time.monotonic()
    assert call(flow, "invoke", 6, {**CONFIG, "max_concurrency": 2}) == list(range(6))
    assert time.monotonic() - began < 6 * 0.15


def test_an_async_sleep_is_not_repeated() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        await asleep(0.2)
        return interrupt("?")

    async def main() -> float:
        await flow.ainvoke(0, CONFIG)
        began = time.monotonic()
        assert await flow.ainvoke(Command(resume=1), CONFIG) == 1
        return time.monotonic() - began

    assert asyncio.run(main()) < 0.15


def test_the_whole_workflow_can_be_cached(call: Callable[..., Any]) -> None:
    ran: list[int] = []

    @entrypoint(cache=InMemoryCache(), cache_policy=CachePolicy())
    def flow(n: int) -> int:
        ran.append(n)
        return n + 1

    assert [call(flow, "invoke", n) for n in (1, 1, 2)] == [2, 2, 3]
    assert ran == [1, 2]


def test_case_109_case_110_caches_of_namesakes_are_apart_and_errors_are_not_kept(call: Callable[..., Any]) -> None:
    def make(letter: str) -> Any:
        @task(cache_policy=CachePolicy())
        def t() -> str:
            return letter

        return t

    tries: list[int] = []

    @task(cache_policy=CachePolicy())
    def shaky() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("first time")
        return len(tries)

    one, two = make("A"), make("B")

    @entrypoint(cache=InMemoryCache())
    def flow(_: int) -> Any:
        return [one().result(), two().result(), shaky().result()]

    with pytest.raises(ValueError, match="first time"):
        call(flow, "invoke", 0)
    assert [call(flow, "invoke", 0) for _ in range(2)] == [["A", "B", 2]] * 2


def test_another_version_of_the_code_does_not_go_on_in_silence(call: Callable[..., Any]) -> None:
    saver = InMemorySaver()

    def ask(n: int) -> Any:
        return [n, interrupt("?")]

    old = entrypoint(checkpointer=saver, version=1, name="ask")(ask)
    new = entrypoint(checkpointer=saver, version=2, name="ask")(ask)
    call(old, "invoke", 5, CONFIG)
    with pytest.raises(NonDeterminismError, match=r"'1'.*'2'"):
        call(new, "invoke", Command(resume=1), CONFIG)
    assert call(old, "invoke", Command(resume=1), CONFIG) == [5, 1]
    call(new, "invoke", 6, CONFIG)
    assert call(new, "invoke", Command(resume=2), CONFIG) == [6, 2]


def test_a_drawing_shows_what_may_be_called() -> None:
    def helper(n: int) -> int:
        return outer(n).result()

    @task
    def outer(n: int) -> int:
        return double(n).result()

    @entrypoint()
    def inner(n: int) -> Any:
        return interrupt("?")

    half = functools.partial(helper)

    @entrypoint()
    def flow(n: int) -> Any:
        return [half(n) if n else None, [inner.invoke(i) for i in range(n)]]

    graph = flow.get_graph()
    assert set(graph.nodes) == {"__start__", "flow", "outer", "double", "inner", "__end__"} - (
        set() if "outer" in graph.nodes else {"outer", "double"}
    )
    assert ("flow", "inner") in {(edge.source, edge.target) for edge in graph.edges}
    assert graph.nodes["inner"].metadata == {"asks": True}
    assert "flow" in graph.draw_mermaid()


@pytest.mark.parametrize(
    "text,after,due",
    [
        ("*/15 * * * *", "2026-01-01T00:01", "2026-01-01T00:15"),
        ("0 9 * * mon-fri", "2026-01-02T10:00", "2026-01-05T09:00"),
        ("30 2 29 2 *", "2026-01-01T00:00", "2028-02-29T02:30"),
        ("0 0 1,15 * mon", "2026-01-01T00:00", "2026-01-05T00:00"),
        ("@hourly", "2026-12-31T23:00", "2027-01-01T00:00"),
    ],
)
def test_cron_expressions(text: str, after: str, due: str) -> None:
    import datetime

    def seconds(one: str) -> float:
        return datetime.datetime.fromisoformat(one).replace(tzinfo=datetime.UTC).timestamp()

    assert Cron(text).after(seconds(after)) == seconds(due)


@pytest.mark.parametrize("text", ["* * * *", "61 * * * *", "a * * * *", "*/0 * * * *", "0 0 30 2 *"])
def test_bad_cron_expressions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cron"):
        Cron(text).after(0.0)


@pytest.mark.parametrize("catch_up,count", [("one", 1), ("all", 4), ("none", 0)])
def test_hours_that_passed_are_caught_up(call: Callable[..., Any], catch_up: Any, count: int) -> None:
    ran: list[int] = []

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        ran.append(n)
        return n

    schedules = Scheduler(flow)
    call(schedules, "add", "daily", "0 * * * *", 7, start=0.0, catch_up=catch_up)
    now = 4 * 3600 + 1800.0
    assert len(call(schedules, "run_due", now=now)) == count and ran == [7] * count
    assert call(schedules, "run_due", now=now) == []
    assert call(schedules, "run_due", now=now + 1800) == ["daily@1970-01-01T05:00Z"]
    call(schedules, "pause", "daily")
    assert call(schedules, "run_due", now=now + 7200) == []
    call(schedules, "resume", "daily")
    assert [one.name for one in schedules.list()] == ["daily"]
    with pytest.raises(KeyError):
        call(schedules, "pause", "weekly")
    call(schedules, "remove", "daily")
    assert schedules.list() == []


def test_two_processes_that_look_at_once_start_once() -> None:
    saver, ran = InMemorySaver(), list[int]()

    def tick(n: int) -> int:
        ran.append(n)
        return n

    workers = [Scheduler(entrypoint(checkpointer=saver)(tick)) for _ in range(2)]
    workers[0].add("x", "0 * * * *", 1, start=0.0, catch_up="all")
    started: list[str] = []
    threads = [threading.Thread(target=lambda one=one: started.extend(one.run_due(now=10 * 3600))) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == len(set(started)) == 10 and len(ran) == 10
