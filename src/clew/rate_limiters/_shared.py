"""What limiters for several processes share: a slot is reserved first and slept for afterwards.

The shared place keeps one row per limit: when each bucket is full again (see `_bucket`) and until when nothing may
leave. A reservation is one atomic step there, so the order of reservations is the order of the line, and nobody polls.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from clew._drive import awaited, drive
from clew._pool import run_in_executor
from clew.rate_limiters._base import BaseRateLimiter
from clew.rate_limiters._bucket import Buckets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Reservation(NamedTuple):
    """A place in the line: when it starts by the shared clock, and in how many seconds from now that is."""

    start: float
    wait: float
    full_at: float  # of the request bucket, right after this reservation


class SharedRateLimiter(BaseRateLimiter):
    """Base of the limiters that several processes share; subclasses write the four atomic steps."""

    def __init__(
        self,
        *,
        requests_per_second: float,
        max_bucket_size: float,
        tokens_per_second: float | None,
        max_tokens_bucket_size: float | None,
        name: str,
    ) -> None:
        self.requests_per_second = requests_per_second
        self.max_bucket_size = max_bucket_size
        self.tokens_per_second = tokens_per_second
        self.limits_tokens = tokens_per_second is not None
        self.name = name
        self._limits = Buckets(requests_per_second, max_bucket_size, tokens_per_second, max_tokens_bucket_size)

    def acquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
        """Take a slot for one request of that many tokens, waiting in turn if need be.

        Returns: True, or False when not blocking and no slot is free right now.
        Raises: ValueError when tokens is more than the bucket ever holds; StorageError when the shared place fails.
        """
        return drive(self._acquire(blocking, tokens, awaited))

    async def aacquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
        """Take a slot without blocking the event loop; a cancelled caller gives its place back if it was the last."""
        import asyncio

        def threaded(step: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
            if step is time.sleep:
                return asyncio.sleep
            return lambda *arguments: run_in_executor(None, step, *arguments)

        return await self._acquire(blocking, tokens, threaded)

    async def _acquire(
        self, blocking: bool, tokens: float, face: Callable[[Callable[..., Any]], Callable[..., Awaitable[Any]]]
    ) -> bool:
        self._limits.check(tokens)
        while True:
            place: Reservation | None = await face(self._reserve)(tokens, blocking)
            if place is None:
                return False
            if place.wait <= 0:
                return True
            try:
                await face(time.sleep)(place.wait)
            except BaseException:
                self._withdraw(place, tokens)
                raise
            if await face(self._paused_until)() <= place.start:
                return True

    @abstractmethod
    def _reserve(self, tokens: float, blocking: bool) -> Reservation | None:
        """Take the next place in the line; None when not blocking and it is not free now."""

    @abstractmethod
    def _withdraw(self, place: Reservation, tokens: float) -> None:
        """Give a place back when nobody has reserved after it."""

    @abstractmethod
    def _paused_until(self) -> float:
        """Return the time, by the shared clock, until which nothing may leave."""
