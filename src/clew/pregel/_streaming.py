"""The iterators behind `stream` and `astream`: the run goes on beside its reader, events come through a queue."""

from __future__ import annotations

import contextlib
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew._run import current
from clew.errors import Cancelled
from clew.pregel._config import merged
from clew.pregel._pool import Call, pool
from clew.pregel._stream import Shape, Sink

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from clew.pregel._pregel import Options, Pregel

_END = object()


def _prepare(
    workflow: Pregel, put: Any, stream_mode: Any, subgraphs: bool, version: str, more: dict[str, Any]
) -> tuple[Options, Shape]:
    from clew.pregel._pregel import Options

    mode = workflow.default_mode if stream_mode is None else stream_mode
    modes = [mode] if isinstance(mode, str) else list(mode)
    sink = Sink(modes, put, deep=subgraphs)
    return Options(sink=sink, messages="messages" in modes, **more), Shape(mode, subgraphs, version)


def _stop(options: Options) -> None:
    """Stop a run whose reader went away, at its next task."""
    root = getattr(options, "root", None)
    if root is not None and not isinstance(root.stop, BaseException):
        root.stop = Cancelled()


def stream(
    workflow: Pregel, input: Any, config: Any, stream_mode: Any, subgraphs: bool, version: str, more: dict[str, Any]
) -> Iterator[Any]:
    """Yield the events of a run that goes on in a thread of the pool."""
    from queue import SimpleQueue

    from clew.pregel._run import attempt

    events: SimpleQueue[Any] = SimpleQueue()
    options, shape = _prepare(workflow, events.put, stream_mode, subgraphs, version, more)
    frame: Any = current.get()
    whole = merged(config)
    failure: list[BaseException] = []

    def work() -> None:
        try:
            if frame is not None and workflow._nests(config):  # pyright: ignore[reportPrivateUsage] - one idea, two files
                from clew.pregel._nested import invoke

                invoke(workflow, frame, input, config, more.get("context"), options.__dict__, sink=options.sink)
            else:
                drive(attempt(workflow, input, whole, options, awaited=False))
        except BaseException as error:
            failure.append(error)
        events.put(_END)

    context = copy_context()
    pool.submit(Call(lambda: context.run(work)))
    ended = False
    try:
        while True:
            item = events.get()
            if item is _END:
                ended = True
                break
            yield shape(item)
    finally:
        if not ended:
            _stop(options)
            while events.get() is not _END:
                pass
    if failure:
        raise failure[0]


async def astream(
    workflow: Pregel, input: Any, config: Any, stream_mode: Any, subgraphs: bool, version: str, more: dict[str, Any]
) -> AsyncGenerator[Any, None]:
    """Yield the events of a run that goes on as a task of this loop."""
    import asyncio
    from collections import deque
    from threading import get_ident

    from clew.pregel._run import attempt

    loop, here = asyncio.get_running_loop(), get_ident()
    events: deque[Any] = deque()
    ready = asyncio.Event()

    def put(item: Any) -> None:
        events.append(item)
        if get_ident() == here:
            ready.set()
        else:
            loop.call_soon_threadsafe(ready.set)

    options, shape = _prepare(workflow, put, stream_mode, subgraphs, version, more)
    frame: Any = current.get()

    async def work() -> None:
        try:
            if frame is not None and workflow._nests(config):  # pyright: ignore[reportPrivateUsage] - one idea, two files
                from clew.pregel._nested import ainvoke

                await ainvoke(workflow, frame, input, config, more.get("context"), options.__dict__, sink=options.sink)
            else:
                await attempt(workflow, input, merged(config), options, awaited=True)
        finally:
            put(_END)

    task = loop.create_task(work())
    try:
        while True:
            while not events:
                ready.clear()
                await ready.wait()
            item = events.popleft()
            if item is _END:
                break
            yield shape(item)
    finally:
        if not task.done() and (not events or events[-1] is not _END):
            _stop(options)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception, Cancelled):
                await task
    await task
