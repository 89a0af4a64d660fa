"""A limiter for one process: threads and coroutines wait in one line.

Only the first in line looks at the clock; it sleeps for as long as the buckets say, takes its slot and wakes the next.
Everybody else sleeps until it is first. So the order is that of arrival, whatever mixture of threads and event loops
waits, and nobody polls.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from clew._drive import drive
from clew.rate_limiters._base import BaseRateLimiter
from clew.rate_limiters._bucket import Buckets

if TYPE_CHECKING:
    import asyncio


class _Waiter(Protocol):
    async def sleep(self, seconds: float | None) -> None: ...
    def wake(self) -> None: ...


class _Thread:
    """A waiting thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    async def sleep(self, seconds: float | None) -> None:
        self._event.wait(seconds)
        self._event.clear()

    def wake(self) -> None:
        self._event.set()


class _Coroutine:
    """A waiting coroutine; woken from any thread."""

    def __init__(self) -> None:
        import asyncio

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()

    async def sleep(self, seconds: float | None) -> None:
        await self._asyncio.wait({self._woken}, timeout=seconds)
        if self._woken.done():
            self._woken = self._loop.create_future()

    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._set)
        except RuntimeError:  # its loop was closed while it waited: nobody is there any more
            raise LookupError from None

    def _set(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)


class InMemoryRateLimiter(BaseRateLimiter):
    """Limit the requests (and tokens) per second of one process.

    requests_per_second: the rate that is reached and kept. max_bucket_size: requests that may go at once after a quiet
    time; the bucket starts full, so the first call does not wait. tokens_per_second, max_tokens_bucket_size: the same
    for tokens; the bucket holds one second's worth unless said otherwise. check_every_n_seconds: accepted for those
    who move over, without effect: waits are computed.
    Raises: ValueError for a rate or size that is not positive.
    Source: models document, rate limiter (InMemoryRateLimiter); differs: starts full, no polling, tokens too.
    """

    def __init__(
        self,
        *,
        requests_per_second: float = 1,
        check_every_n_seconds: float = 0.1,
        max_bucket_size: float = 1,
        tokens_per_second: float | None = None,
        max_tokens_bucket_size: float | None = None,
    ) -> None:
        self.requests_per_second = requests_per_second
        self.check_every_n_seconds = check_every_n_seconds
        self.max_bucket_size = max_bucket_size
        self.tokens_per_second = tokens_per_second
        self.limits_tokens = tokens_per_second is not None
        self._buckets = Buckets(requests_per_second, max_bucket_size, tokens_per_second, max_tokens_bucket_size)
        self._lock = threading.Lock()
        self._line: deque[_Waiter] = deque()

    def acquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
        """Take a slot for one request of that many tokens, waiting in turn if need be.

        Returns: True, or False when not blocking and no slot is free right now.
        Raises: ValueError when tokens is more than the bucket ever holds.
        """
        taken = self._try(tokens)
        return taken if taken or not blocking else drive(self._wait(_Thread(), tokens))

    async def aacquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
        """Take a slot without blocking the event loop; a cancelled caller leaves the line."""
        taken = self._try(tokens)
        return taken if taken or not blocking else await self._wait(_Coroutine(), tokens)

    def pause(self, seconds: float) -> None:
        """Let nothing through for that many seconds, those in line included."""
        with self._lock:
            self._buckets.paused_until = max(self._buckets.paused_until, time.monotonic() + seconds)

    def charge(self, tokens: int) -> None:
        """Count tokens beyond those asked for in `acquire`; a negative number gives back."""
        with self._lock:
            if self._buckets.tokens is not None:
                self._buckets.tokens.charge(tokens, time.monotonic())

    def _try(self, tokens: float) -> bool:
        buckets = self._buckets
        buckets.check(tokens)
        with self._lock:
            now = time.monotonic()
            if self._line or buckets.due(tokens) > now:
                return False
            buckets.take(tokens, now)
            return True

    async def _wait(self, waiter: Any, tokens: float) -> bool:
        line, buckets = self._line, self._buckets
        with self._lock:
            line.append(waiter)
            arrived = time.monotonic()
        try:
            while True:
                with self._lock:
                    first, due, now = line[0] is waiter, buckets.due(tokens), time.monotonic()
                    if first and due <= now:
                        # As of `due`, not `now`: a late wake-up must not lower the rate.
                        buckets.take(tokens, max(due, arrived))
                        return True
                await waiter.sleep(due - now if first else None)
        finally:
            with self._lock:
                if line and line[0] is waiter:
                    line.popleft()
                    self._wake_first()
                elif waiter in line:
                    line.remove(waiter)

    def _wake_first(self) -> None:
        while self._line:
            try:
                self._line[0].wake()
            except LookupError:
                self._line.popleft()
            else:
                return
