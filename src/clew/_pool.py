"""The threads of the process that run users' blocking code at the same time.

One pool, grown on demand, its idle threads ended after a while. Work that a blocked caller waits for is offered, not
handed over: the caller does what nobody has taken yet (`clew.runnables._together`), so a full pool never deadlocks.
`run_in_executor` gives an awaiting caller a user's blocking function.
"""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor
    from contextvars import Context

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 128
IDLE_SECONDS = 10.0

cancellation: ContextVar[threading.Event | None] = ContextVar("clew_cancellation", default=None)
"""Set in worker threads: tells the running function that its caller has gone."""


def cancel_requested() -> bool:
    """Tell a blocking function in a worker thread whether its caller has gone (cancelled, or past its timeout).

    Long-running code asks this now and then and stops by itself, since a thread can't be stopped from outside.
    """
    event = cancellation.get()
    return event is not None and event.is_set()


class Pool:
    """Threads that take calls from one queue."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._size = 0

    def offer(self, call: Callable[[], None]) -> None:
        """Queue a call that must not raise; it starts at once as long as the pool may grow."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                spawn = False
            else:
                spawn = self._size < MAX_THREADS
                self._size += spawn
        self._queue.put(call)
        if spawn:
            threading.Thread(target=self._work, name="clew-worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                call = self._queue.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._idle:
                        self._idle -= 1
                        self._size -= 1
                        return
                continue
            call()
            del call
            with self._lock:
                self._idle += 1

    async def start(self, loop: AbstractEventLoop, context: Context, call: Callable[[], Any]) -> Any:
        """Run a call in a worker and await its result.

        A call that nobody has begun when the wait is cancelled is never begun; one that runs is told by `cancellation`.
        """
        future = loop.create_future()
        gone = threading.Event()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def run() -> None:
            if gone.is_set():
                return
            result, error = None, None
            try:
                context.run(cancellation.set, gone)
                result = context.run(call)
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits
                return

        self.offer(run)
        try:
            return await future
        except BaseException:
            gone.set()
            raise


pool = Pool()
os.register_at_fork(after_in_child=pool._reset)


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


