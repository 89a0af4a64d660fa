"""`config={"timeout": seconds}`: the caller waits so long and no longer.

Awaited calls are cancelled. A blocking one can't be stopped from outside: it goes on in its thread, its result is
dropped, and it may ask `cancel_requested()`.
"""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from clew._pool import Gone, cancellation, pool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator


def expired(seconds: float) -> TimeoutError:
    """Return the error of a call that took too long."""
    return TimeoutError(f"no result within the timeout of {seconds} s given in the config")


def attempt(seconds: float, call: Callable[[], Any]) -> tuple[Any, BaseException | None] | None:
    """Run a blocking call in a worker; return (result, error), or None when the time is up first."""
    context, gone, finished = copy_context(), Gone(), threading.Event()
    outcome: list[Any] = []

    def run() -> None:
        try:
            context.run(cancellation.set, gone)
            outcome.append((context.run(call), None))
        except BaseException as error:
            outcome.append((None, error))
        finished.set()

    pool.offer(run)
    try:
        if finished.wait(seconds):
            return outcome[0]
    except BaseException:
        gone.set()
        raise
    gone.set()
    return None


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Run a blocking call in a worker and wait for it that long.

    Raises: TimeoutError; what the call raises.
    """
    outcome = attempt(seconds, call)
    if outcome is None:
        raise expired(seconds)
    result, error = outcome
    if error is not None:
        raise error
    return result


async def awithin(seconds: float, body: Coroutine[Any, Any, Any]) -> Any:
    """Await a coroutine that long, then cancel it.

    Raises: TimeoutError; what the body raises.
    """
    import asyncio

    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            return await body
    except TimeoutError:
        if clock.expired():
            raise expired(seconds) from None
        raise


def stream_within(seconds: float, open_stream: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield from a blocking stream until the time is up; each chunk is awaited in a worker.

    Raises: TimeoutError; the stream is then closed by its worker as soon as it comes back.
    """
    context, gone = copy_context(), Gone()
    context.run(cancellation.set, gone)
    end = time.monotonic() + seconds
    stream = open_stream()
    busy = False

    def advance() -> Any:
        try:
            chunk = context.run(next, stream, _END)
        finally:
            if gone.is_set():
                context.run(_close, stream)
        return chunk

    try:
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise expired(seconds)
            busy = True
            outcome = attempt(left, advance)
            if outcome is None:
                gone.set()
                raise expired(seconds)
            busy = False
            chunk, error = outcome
            if error is not None:
                raise error
            if chunk is _END:
                return
            yield chunk
    finally:
        if not busy:
            context.run(_close, stream)


_END = object()


def _close(stream: Any) -> None:
    close = getattr(stream, "close", None)
    if close is not None:
        close()


async def astream_within(seconds: float, stream: Any) -> AsyncIterator[Any]:
    """Yield from an awaited stream until the time is up; it is closed before the error is raised.

    Raises: TimeoutError.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    try:
        while True:
            clock = asyncio.timeout_at(end)
            try:
                async with clock:
                    chunk = await anext(stream, _END)
            except TimeoutError:
                if clock.expired():
                    raise expired(seconds) from None
                raise
            if chunk is _END:
                return
            yield chunk
    finally:
        await stream.aclose()
