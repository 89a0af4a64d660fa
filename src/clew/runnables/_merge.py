"""Several streams as one, their chunks in the order in which they come."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.runnables._stream import closing
from clew.runnables._together import arun_together, crowd

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

AHEAD = 2
"""Chunks that a stream may make before the consumer has taken its earlier ones."""


def merged(openers: list[Callable[[], Iterator[Any]]], max_concurrency: int | None) -> Iterator[tuple[int, Any]]:
    """Yield (position, chunk) of several blocking streams, which run in worker threads.

    Closed early, every stream is closed before close returns.
    """
    if len(openers) == 1:
        with closing(openers[0]()) as chunks:
            for chunk in chunks:
                yield 0, chunk
        return
    pumps = _Pumps(openers)
    with crowd(pumps.calls(), max_concurrency, pumps.report):
        try:
            yield from pumps.chunks()
        finally:
            pumps.stop()


class _Pumps:
    """One call per stream that puts its chunks in a common queue, not far ahead of the consumer."""

    def __init__(self, openers: list[Callable[[], Iterator[Any]]]) -> None:
        from queue import SimpleQueue

        self._openers = openers
        self._ready: SimpleQueue[tuple[int, Any, bool, BaseException | None]] = SimpleQueue()
        self._room: list[threading.Semaphore] = [threading.Semaphore(AHEAD) for _ in openers]
        self._stopped = False

    def calls(self) -> list[Callable[[], None]]:
        """Return the calls, for worker threads."""
        return [partial(self._pump, position) for position in range(len(self._openers))]

    def _pump(self, position: int) -> None:
        with closing(self._openers[position]()) as chunks:
            for chunk in chunks:
                self._room[position].acquire()
                if self._stopped:
                    return
                self._ready.put((position, chunk, False, None))

    def report(self, outcome: tuple[int, Any, BaseException | None]) -> None:
        """Hear that a stream ended."""
        self._ready.put((outcome[0], None, True, outcome[2]))

    def chunks(self) -> Iterator[tuple[int, Any]]:
        """Yield (position, chunk) until all streams have ended; raise the first error."""
        running = len(self._openers)
        while running:
            position, chunk, ended, error = self._ready.get()
            if error is not None:
                raise error
            if ended:
                running -= 1
            else:
                yield position, chunk
                self._room[position].release()

    def stop(self) -> None:
        """Let the streams end at their next chunk."""
        self._stopped = True
        for room in self._room:
            room.release(AHEAD + 1)


async def amerged(
    openers: list[Callable[[], AsyncIterator[Any]]], max_concurrency: int | None
) -> AsyncIterator[tuple[int, Any]]:
    """Yield (position, chunk) of several awaited streams, each in a task of its own; closes them as `merged`."""
    if len(openers) == 1:
        async with closing(openers[0]()) as chunks:
            async for chunk in chunks:
                yield 0, chunk
        return
    import asyncio

    ready: asyncio.Queue[Any] = asyncio.Queue()
    room: list[asyncio.Semaphore] = [asyncio.Semaphore(AHEAD) for _ in openers]

    async def pump(position: int) -> None:
        async with closing(openers[position]()) as chunks:
            async for chunk in chunks:
                await room[position].acquire()
                ready.put_nowait((position, chunk))

    async def everyone() -> None:
        try:
            await arun_together([partial(pump, i) for i in range(len(openers))], max_concurrency)
        finally:
            ready.put_nowait(None)

    work = asyncio.ensure_future(everyone())
    try:
        while (item := await ready.get()) is not None:
            yield item
            room[int(item[0])].release()
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
