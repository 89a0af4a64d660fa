"""The threads of the process that run users' blocking code at the same time.

One pool, grown on demand, its idle threads ended after a while. At most one thread is on its way at any time: it takes
a call and, if more wait, brings the next thread in. So a handful of short calls costs one wake-up, and many that wait
get a thread each.
Work that a blocked caller waits for is offered, not handed over: the caller does what nobody has taken yet
(`clew.runnables._together`), so a full pool never deadlocks. `run_in_executor` gives an awaiting caller a user's
blocking function.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor
    from contextvars import Context

__all__ = ["Gone", "Pool", "cancel_requested", "cancellation", "pool", "run_in_executor"]

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 128
IDLE_SECONDS = 10.0


class Gone:
    """A flag that is set once, when the caller of a running function has gone."""

    __slots__ = ("_is_set",)

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        """Tell whether the caller has gone."""
        return self._is_set

    def set(self) -> None:
        """Say that the caller has gone."""
        self._is_set = True


cancellation: ContextVar[Gone | None] = ContextVar("clew_cancellation", default=None)
"""Set in worker threads: tells the running function that its caller has gone."""


def cancel_requested() -> bool:
    """Tell a blocking function in a worker thread whether its caller has gone (cancelled, or past its timeout).

    Long-running code asks this now and then and stops by itself, since a thread can't be stopped from outside.
    """
    gone = cancellation.get()
    return gone is not None and gone.is_set()


class Pool:
    """Threads that take calls from one queue."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all threads and calls: in a forked child, where there are none."""
        self._lock = threading.Lock()
        self._calls: deque[Callable[[], None]] = deque()
        self._idle: list[threading.Lock] = []
        self._coming = False
        self._size = 0
        self._deliveries: WeakKeyDictionary[AbstractEventLoop, _Delivery] = WeakKeyDictionary()

    def offer(self, call: Callable[[], None]) -> None:
        """Queue a call that must not raise; it starts at once as long as the pool may grow."""
        with self._lock:
            self._calls.append(call)
            spawn = self._bring_one()
        if spawn:
            self._spawn()

    def _bring_one(self) -> bool:
        """Wake an idle thread, unless one is on its way; return whether to start a new one. Holds the lock."""
        if self._coming or not self._calls:
            return False
        if self._idle:
            self._coming = True
            self._idle.pop().release()
        elif self._size < MAX_THREADS:
            self._coming = True
            self._size += 1
            return True
        return False

    def _spawn(self) -> None:
        try:
            threading.Thread(target=self._work, name="clew-worker", daemon=True).start()
        except BaseException:
            with self._lock:
                self._coming = False
                self._size -= 1
            raise

    def _work(self) -> None:
        alarm = threading.Lock()
        alarm.acquire()
        while True:
            with self._lock:
                self._coming = False
                call = self._calls.popleft() if self._calls else None
                spawn = self._bring_one()
            if spawn:
                self._spawn()
            while call is not None:
                call()
                try:
                    call = self._calls.popleft()
                except IndexError:
                    call = None
            with self._lock:
                if self._calls:
                    continue
                self._idle.append(alarm)
            if alarm.acquire(timeout=IDLE_SECONDS):
                continue
            with self._lock:
                if alarm in self._idle:
                    self._idle.remove(alarm)
                    self._size -= 1
                    return
            alarm.acquire()

    async def start(self, loop: AbstractEventLoop, context: Context, call: Callable[[], Any]) -> Any:
        """Run a call in a worker and await its result.

        A call that nobody has begun when the wait is cancelled is never begun; one that runs is told by `cancellation`.
        """
        future: Future[Any] = loop.create_future()
        gone = Gone()
        delivery = self._deliveries.get(loop)
        if delivery is None:
            delivery = self._deliveries.setdefault(loop, _Delivery())

        def run() -> None:
            if gone.is_set():
                return
            result, error = None, None
            try:
                context.run(cancellation.set, gone)
                result = context.run(call)
            except BaseException as raised:
                error = raised
            delivery.put(loop, future, result, error)

        self.offer(run)
        try:
            return await future
        except BaseException:
            gone.set()
            raise


class _Delivery:
    """Hands results to one event loop; those that meet go together, with one wake-up."""

    __slots__ = ("__weakref__", "_results", "_waking")

    def __init__(self) -> None:
        self._results: deque[tuple[Future[Any], Any, BaseException | None]] = deque()
        self._waking = False

    def put(self, loop: AbstractEventLoop, future: Future[Any], result: Any, error: BaseException | None) -> None:
        self._results.append((future, result, error))
        if self._waking:
            return
        self._waking = True
        try:
            loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits
            self._results.clear()

    def _deliver(self) -> None:
        self._waking = False  # before looking, so that a result put from here on wakes again
        while self._results:
            future, result, error = self._results.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


pool = Pool()
os.register_at_fork(after_in_child=pool.reset)


async def run_in_executor(
    executor_or_config: Executor | Mapping[str, Any] | None, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a blocking function in a worker thread, with the caller's context variables.

    executor_or_config: an executor of the caller's; a config or None means the library's own pool.
    Cancelled while the function runs, the wait ends at once; the function goes on and may ask `cancel_requested()`.
    Raises: what the function raises; StopIteration, which can't cross an await, as RuntimeError.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    context = copy_context()
    if executor_or_config is not None and not isinstance(executor_or_config, dict):
        executor = cast("Executor", executor_or_config)
        return await loop.run_in_executor(executor, lambda: context.run(_guarded, func, args, kwargs))
    return await pool.start(loop, context, lambda: _guarded(func, args, kwargs))


def _guarded(func: Callable[..., T], args: Any, kwargs: Any) -> T:
    try:
        return func(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError(f"{func!r} raised StopIteration") from error
