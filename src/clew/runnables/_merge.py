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
    from queue import SimpleQueue

    ready: SimpleQueue[Any] = SimpleQueue()
    room = [threading.Semaphore(AHEAD) for _ in openers]
    stopped = threading.Event()

    def pump(position: int) -> None:
        with closing(openers[position]()) as chunks:
            for chunk in chunks:
                room[position].acquire()
                if stopped.is_set():
                    return
                ready.put((position, chunk, False, None))

    def report(outcome: tuple[int, Any, BaseException | None]) -> None:
        ready.put((outcome[0], None, True, outcome[2]))

    with crowd([partial(pump, i) for i in range(len(openers))], max_concurrency, report):
        running = len(openers)
        try:
            while running:
                position, chunk, ended, error = ready.get()
                if error is not None:
                    raise error
                if ended:
                    running -= 1
                    continue
                yield position, chunk
                room[position].release()
        finally:
            stopped.set()
            for semaphore in room:
                semaphore.release(AHEAD + 1)


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
    room = [asyncio.Semaphore(AHEAD) for _ in openers]

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
            room[item[0]].release()
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
