"""`max_concurrency`: one limit on what runs at the same time, over the whole call tree.

Who runs holds a permit; who waits for others gives it back meanwhile. So at most n leaves run, and since nobody waits
with a permit in hand, it never deadlocks. A stricter limit further down holds as well as the one above it.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

current_limit: ContextVar[Limit | None] = ContextVar("clew_limit", default=None)


class Limit:
    """n permits, one of them held by whoever made it."""

    __slots__ = ("_free", "_lock", "_outer", "_sleepers", "permits")

    def __init__(self, permits: int, outer: Limit | None = None) -> None:
        if permits < 1:
            raise ValueError(f"max_concurrency must be at least 1, got {permits}")
        self.permits = permits
        self._free = permits - 1
        self._outer = outer
        self._lock = threading.Lock()
        self._sleepers: list[Callable[[], Any]] = []

    def try_take(self) -> bool:
        """Take a permit if one is free here and above."""
        with self._lock:
            if self._free <= 0:
                return False
            self._free -= 1
        if self._outer is not None and not self._outer.try_take():
            self.give(above=False)
            return False
        return True

    def give(self, above: bool = True) -> None:
        """Give a permit back and wake all who wait for one."""
        if above and self._outer is not None:
            self._outer.give()
        with self._lock:
            self._free += 1
            sleepers, self._sleepers = self._sleepers, []
        for wake in sleepers:
            wake()

    def retake(self) -> None:
        """Take a permit even if none is free: for who goes on to leave the tree by an error."""
        with self._lock:
            self._free -= 1
        if self._outer is not None:
            self._outer.retake()

    def when_free(self, wake: Callable[[], Any]) -> None:
        """Call `wake` once, from any thread, when a permit may be free; it may be called for nothing."""
        with self._lock:
            if self._free <= 0:
                self._sleepers.append(wake)
                return
        if self._outer is None:
            wake()
        else:
            self._outer.when_free(wake)

    def take(self) -> None:
        """Take a permit, blocking until one is free."""
        while not self.try_take():
            free = threading.Event()
            self.when_free(free.set)
            free.wait()

    async def atake(self) -> None:
        """Take a permit, awaiting one if none is free."""
        import asyncio

        loop = asyncio.get_running_loop()
        while not self.try_take():
            free = asyncio.Event()
            self.when_free(lambda free=free: loop.call_soon_threadsafe(free.set))
            await free.wait()


def limit_for(max_concurrency: int | None) -> Limit | None:
    """Return the limit that holds here: the ambient one, or a new one if the config asks for another number."""
    ambient = current_limit.get()
    if max_concurrency is None or (ambient is not None and ambient.permits == max_concurrency):
        return ambient
    return Limit(max_concurrency, ambient)
