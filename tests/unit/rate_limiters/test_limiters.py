"""Limiters in one process, over one file and over one server: the same promises."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew.errors import StorageError
from clew.rate_limiters import BaseRateLimiter, InMemoryRateLimiter, RedisRateLimiter, SQLiteRateLimiter

Make = Callable[..., Any]


@pytest.fixture(params=["memory", "sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Make]:
    """make(**options) is a limiter; two of them with one name share the limit, except in memory."""
    opened: list[Any] = []

    def build(**options: Any) -> Any:
        if request.param == "memory":
            return InMemoryRateLimiter(**options)
        if request.param == "sqlite":
            limiter: Any = SQLiteRateLimiter(tmp_path / "limit.db", **options)
        else:
            limiter = RedisRateLimiter(request.getfixturevalue("redis_url"), **options)
        opened.append(limiter)
        return limiter

    yield build
    for limiter in opened:
        limiter.close()


def timed(work: Callable[[], Any]) -> float:
    """Seconds that a function took."""
    start = time.monotonic()
    work()
    return time.monotonic() - start


def test_case_031_the_rate_is_exact_and_the_first_call_does_not_wait(make: Make) -> None:
    limiter = make(requests_per_second=50)
    assert limiter.acquire(blocking=False) is True
    took = timed(lambda: [limiter.acquire() for _ in range(20)])
    assert took >= 0.4 * 0.95, "never faster than the limit; that it is not slower is shown on the arithmetic"


class Noted(deque[Any]):
    """A line that notes who came and who went, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[Any] = []
        self.went: list[Any] = []

    def append(self, waiter: Any) -> None:
        self.came.append(waiter)
        super().append(waiter)

    def popleft(self) -> Any:
        waiter = super().popleft()
        self.went.append(waiter)
        return waiter


def test_case_031_threads_and_coroutines_go_in_the_order_they_came() -> None:
    limiter = InMemoryRateLimiter(requests_per_second=200)
    limiter._line = line = Noted()

    def block() -> None:
        for _ in range(4):
            limiter.acquire()

    async def many() -> None:
        await asyncio.gather(*[limiter.aacquire() for _ in range(10)])

    threads = [threading.Thread(target=block) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(many())
    for thread in threads:
        thread.join()
    assert line.went == line.came and len(line.came) >= 10
    assert {type(waiter).__name__ for waiter in line.came} == {"_Thread", "_Coroutine"}


def test_threads_and_coroutines_share_one_line() -> None:
    limiter = InMemoryRateLimiter(requests_per_second=100)
    limiter.acquire()
    done: list[str] = []

    async def many() -> None:
        await asyncio.gather(*[limiter.aacquire() for _ in range(10)])
        done.append("coroutines")

    def block() -> None:
        for _ in range(10):
            limiter.acquire()
        done.append("thread")

    thread = threading.Thread(target=block)
    start = time.monotonic()
    thread.start()
    asyncio.run(many())
    thread.join()
    assert sorted(done) == ["coroutines", "thread"]
    assert time.monotonic() - start >= 0.2 * 0.95


def test_not_blocking_tells_whether_there_was_a_slot(make: Make, call: Callable[..., Any]) -> None:
    limiter = make(requests_per_second=5)
    assert call(limiter, "acquire", blocking=False) is True
    assert call(limiter, "acquire", blocking=False) is False


def test_a_bucket_lets_several_through_after_a_quiet_time(make: Make) -> None:
    limiter = make(requests_per_second=2, max_bucket_size=3)
    assert [limiter.acquire(blocking=False) for _ in range(4)] == [True, True, True, False]


def test_tokens_are_limited_and_charged_afterwards(make: Make) -> None:
    limiter = make(requests_per_second=1000, max_bucket_size=10, tokens_per_second=100, max_tokens_bucket_size=100)
    assert limiter.limits_tokens
    assert limiter.acquire(blocking=False, tokens=10) is True
    limiter.charge(90)
    assert limiter.acquire(blocking=False, tokens=50) is False
    with pytest.raises(ValueError, match="never fit"):
        limiter.acquire(tokens=101)


def test_pause_holds_everybody_back(make: Make, call: Callable[..., Any]) -> None:
    limiter = make(requests_per_second=1000, max_bucket_size=100)
    limiter.pause(30)
    assert limiter.acquire(blocking=False) is False
    other = make(requests_per_second=1000, max_bucket_size=100, **({} if _is_local(limiter) else {"name": "other"}))
    start = time.monotonic()
    other.pause(0.3)
    call(other, "acquire")
    assert time.monotonic() - start >= 0.3 * 0.95


def _is_local(limiter: Any) -> bool:
    return isinstance(limiter, InMemoryRateLimiter)


def test_pause_reaches_those_who_wait_already() -> None:
    limiter = InMemoryRateLimiter(requests_per_second=0.01)
    limiter.acquire()
    thread = threading.Thread(target=limiter.acquire)
    thread.start()
    while not limiter._line:
        time.sleep(0.001)
    start = time.monotonic()
    limiter.pause(0.3)
    with limiter._lock:
        limiter._buckets.requests.full_at = start  # its slot is there now, but for the pause
        limiter._line[0].wake()
    thread.join()
    assert time.monotonic() - start >= 0.3 * 0.95


def test_a_cancelled_waiter_leaves_the_line_moving_and_takes_no_slot() -> None:
    async def run() -> float:
        limiter = InMemoryRateLimiter(requests_per_second=10)
        await limiter.aacquire()
        before = limiter._buckets.requests.full_at
        first = asyncio.create_task(limiter.aacquire())
        second = asyncio.create_task(limiter.aacquire())
        await asyncio.sleep(0)
        first.cancel()
        assert await second is True and first.cancelled()
        return limiter._buckets.requests.full_at - before

    assert asyncio.run(run()) == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_two_limiters_of_one_name_are_one_limit(kind: str, request: pytest.FixtureRequest, tmp_path: Any) -> None:
    def build(name: str) -> Any:
        if kind == "sqlite":
            return SQLiteRateLimiter(tmp_path / "one.db", requests_per_second=2, name=name)
        return RedisRateLimiter(request.getfixturevalue("redis_url"), requests_per_second=2, name=name)

    one, same, other = build("a"), build("a"), build("b")
    assert one.acquire(blocking=False) is True
    assert same.acquire(blocking=False) is False
    assert other.acquire(blocking=False) is True
    for limiter in (one, same, other):
        limiter.close()


def test_a_cancelled_reservation_is_given_back(tmp_path: Any) -> None:
    limiter = SQLiteRateLimiter(tmp_path / "limit.db", requests_per_second=1)

    async def run() -> float:
        await limiter.aacquire()
        waiting = asyncio.create_task(limiter.aacquire())
        await asyncio.sleep(0.1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        place = limiter._reserve(0, True)
        assert place is not None
        return place.wait

    assert asyncio.run(run()) < 1.0
    limiter.close()


def test_a_limiter_over_a_file_that_is_no_database_says_so(tmp_path: Any) -> None:
    path = tmp_path / "note.txt"
    path.write_text("this is no database, it is a note of some length")
    with pytest.raises(StorageError, match="not a sound SQLite database"):
        SQLiteRateLimiter(path, requests_per_second=1).acquire()
    assert path.read_text().startswith("this is no database")


def test_a_limiter_without_a_server_says_so() -> None:
    with pytest.raises(StorageError, match="Redis failed"):
        RedisRateLimiter("redis://127.0.0.1:1/0", requests_per_second=1).acquire()


def test_own_limiters_need_only_two_methods() -> None:
    class Never(BaseRateLimiter):
        def acquire(self, *, blocking: bool = True) -> bool:
            return False

        async def aacquire(self, *, blocking: bool = True) -> bool:
            return False

    limiter = Never()
    limiter.pause(1)
    limiter.charge(1)
    assert limiter.limits_tokens is False
    with pytest.raises(TypeError):
        BaseRateLimiter()  # type: ignore[abstract]
