"""One lock per session, for threads and coroutines alike.

A `threading.Lock` held across an `await` would stop the event loop, an `asyncio.Lock` knows no threads. This one hands
itself to the waiters in the order in which they came, whatever they are: a thread waits on a primitive lock, a
coroutine on a future of its own loop.

Invariant: while `_held` is true exactly one holder exists; `release` passes the lock on before it is ever free.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class SessionLock:
    """A first-come-first-served lock: `with lock:` in a thread, `async with lock:` in a coroutine."""

    __slots__ = ("__weakref__", "_held", "_mutex", "_waiters")

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held = False
        self._waiters: deque[Callable[[], bool]] = deque()

    def _take_or_queue(self, waker: Callable[[], bool] | None) -> bool:
        """Take the lock if it is free, else join the queue (with a waker).

        Nothing is allocated under the mutex: a collection there could close a stream that wants this very lock.
        """
        with self._mutex:
            if not self._held:
                self._held = True
                return True
            if waker is not None:
                self._waiters.append(waker)
            return False

    def __enter__(self) -> None:
        if self._take_or_queue(None):
            return
        gate = threading.Lock()
        gate.acquire()

        def open_gate() -> bool:
            gate.release()
            return True

        if self._take_or_queue(open_gate):
            return
        try:
            gate.acquire()
        except BaseException:  # KeyboardInterrupt while waiting
            self._leave(open_gate)
            raise

    def __exit__(self, *exc: object) -> None:
        self._release()

    async def __aenter__(self) -> None:
        if self._take_or_queue(None):
            return
        import asyncio

        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()

        def wake() -> bool:
            try:
                loop.call_soon_threadsafe(_set, turn)
            except RuntimeError:  # that loop was closed with a waiter left in it
                return False
            return True

        if self._take_or_queue(wake):
            return
        try:
            await turn
        except BaseException:  # cancelled while waiting, or just after the lock came
            self._leave(wake)
            raise

    async def __aexit__(self, *exc: object) -> None:
        self._release()

    def _leave(self, waker: Callable[[], bool]) -> None:
        """Give up waiting; pass the lock on if it had come already."""
        with self._mutex:
            if waker in self._waiters:
                self._waiters.remove(waker)
                return
        self._release()

    def _release(self) -> None:
        with self._mutex:
            while self._waiters:
                if self._waiters.popleft()():
                    return
            self._held = False


def _set(turn: Any) -> None:
    if not turn.done():
        turn.set_result(None)


_locks: WeakValueDictionary[Hashable, SessionLock] = WeakValueDictionary()
_registry = threading.RLock()  # a collection inside may close a stream, which asks for its lock here


def session_lock(key: Hashable) -> SessionLock:
    """Return the lock of a session; it lives as long as somebody holds or waits for it."""
    with _registry:
        lock = _locks.get(key)
        if lock is None:
            lock = _locks[key] = SessionLock()
        return lock
