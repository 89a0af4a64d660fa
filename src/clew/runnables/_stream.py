"""Streams: join chunks, close what is below before close returns, report a streamed run."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

from clew.callbacks._manager import anyone_listening
from clew.runnables._entry import begin, plain, without_own
from clew.runnables.config import get_async_callback_manager_for_config, get_callback_manager_for_config, inherit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator

    from clew.config import RunnableConfig


def joined(chunks: list[Any]) -> Any:
    """Return chunks as one value: text is joined, other values added; of values that can't be added the last counts.

    chunks: at least one. Cost: linear, for text and for messages.
    """
    if len(chunks) == 1:
        return chunks[0]
    total: Any = chunks[0]
    if isinstance(total, str) and all(isinstance(chunk, str) for chunk in chunks):
        return "".join(chunks)
    for chunk in chunks[1:]:
        try:
            total = total + chunk
        except TypeError:
            total = chunk
    return total


def collect(pieces: Iterable[Any]) -> list[Any]:
    """Return the joined value of a stream in a list, or an empty list if nothing came."""
    chunks = list(pieces)
    return [joined(chunks)] if chunks else []


async def acollect(pieces: AsyncIterator[Any]) -> list[Any]:
    """Return the joined value of a stream in a list, or an empty list if nothing came."""
    chunks = [chunk async for chunk in pieces]
    return [joined(chunks)] if chunks else []


class closing:
    """Close a stream, blocking or awaited, at the end of a `with` block; iterators without a close are left alone."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> Any:
        return self._stream

    def __exit__(self, *_: object) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()

    async def __aenter__(self) -> Any:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


@contextmanager
def closing_all(streams: list[Any]) -> Generator[None, None, None]:
    """Close the streams that were put in a list, the last first, at the end of a `with` block; all, if one fails."""
    with ExitStack() as stack:
        for stream in streams:
            stack.enter_context(closing(stream))
        yield


async def aclose_all(streams: list[Any]) -> None:
    """Close awaited streams, the last first; all, if one fails."""
    failure: BaseException | None = None
    for stream in reversed(streams):
        try:
            async with closing(stream):
                pass
        except BaseException as error:
            failure = failure or error
    if failure is not None:
        raise failure


class once:
    """A stream of one value. No generator, so that one that is left half-way needs no closing."""

    __slots__ = ("_left",)

    def __init__(self, value: Any) -> None:
        self._left = [value]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


class recorded:
    """A stream, blocking or awaited, passed on, its chunks kept in a list. No generator, for the reason of `once`."""

    __slots__ = ("_into", "_stream")

    def __init__(self, stream: Any, into: list[Any]) -> None:
        self._stream = stream
        self._into = into

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        chunk = next(self._stream)
        self._into.append(chunk)
        return chunk

    async def __anext__(self) -> Any:
        chunk = await anext(self._stream)
        self._into.append(chunk)
        return chunk


def stream_observed(
    owner: Any,
    body: Callable[[Any, RunnableConfig, Any], Iterator[Any]],
    input: Any,
    config: RunnableConfig | None,
    *,
    run_type: str | None = None,
    pieces: bool = False,
) -> Iterator[Any]:
    """Yield what a body yields, with its run reported; nobody listening, the body's own generator is returned.

    body: (input, config for what it calls, run manager or None) -> chunks. pieces: the input is itself a stream; its
    joined value is reported at the end.
    Raises: TimeoutError when the config's `timeout` has passed before the last chunk.
    """
    if config is None and plain():
        return body(input, {}, None)
    return _observed(owner, body, input, config, run_type, pieces)


def _observed(
    owner: Any, body: Any, input: Any, config: RunnableConfig | None, run_type: str | None, pieces: bool
) -> Iterator[Any]:
    full = inherit(config)
    if full.get("timeout") is not None:
        from clew.runnables._timeout import stream_within

        seconds = cast("float", full.pop("timeout"))
        yield from stream_within(seconds, lambda: _observed(owner, body, input, full, run_type, pieces))
        return
    if not anyone_listening(full.get("callbacks")):
        with closing(body(input, without_own(full), None)) as chunks:
            yield from chunks
        return
    taken: list[Any] = []
    made: list[Any] = []
    run = begin(get_callback_manager_for_config(full), owner, {"input": ""} if pieces else input, full, run_type)
    source = recorded(iter(input), taken) if pieces else input
    try:
        with closing(body(source, without_own(full), run)) as chunks, closing(tapped(run, chunks)) as seen:
            for chunk in seen:
                made.append(chunk)
                yield chunk
    except GeneratorExit:
        _end(run, made, taken, pieces)
        raise
    except BaseException as error:
        run.on_chain_error(error, **_inputs(taken, pieces))
        raise
    _end(run, made, taken, pieces)


def _end(run: Any, made: list[Any], taken: list[Any], pieces: bool) -> Any:
    return run.on_chain_end(joined(made) if made else None, **_inputs(taken, pieces))


def _inputs(taken: list[Any], pieces: bool) -> dict[str, Any]:
    return {"inputs": joined(taken) if taken else None} if pieces else {}


def astream_observed(
    owner: Any,
    body: Callable[[Any, RunnableConfig, Any], AsyncIterator[Any]],
    input: Any,
    config: RunnableConfig | None,
    *,
    run_type: str | None = None,
    pieces: bool = False,
) -> AsyncIterator[Any]:
    """Yield what a body yields, with its run reported; as `stream_observed`."""
    if config is None and plain():
        return body(input, {}, None)
    return _aobserved(owner, body, input, config, run_type, pieces)


async def _aobserved(
    owner: Any, body: Any, input: Any, config: RunnableConfig | None, run_type: str | None, pieces: bool
) -> AsyncGenerator[Any, None]:
    full = inherit(config)
    if full.get("timeout") is not None:
        from clew.runnables._timeout import astream_within

        seconds = cast("float", full.pop("timeout"))
        inner = _aobserved(owner, body, input, full, run_type, pieces)
        async with closing(astream_within(seconds, inner)) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    if not anyone_listening(full.get("callbacks")):
        async with closing(body(input, without_own(full), None)) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    taken: list[Any] = []
    made: list[Any] = []
    run = await begin(
        get_async_callback_manager_for_config(full), owner, {"input": ""} if pieces else input, full, run_type
    )
    source = recorded(aiter(input), taken) if pieces else input
    try:
        async with closing(body(source, without_own(full), run)) as chunks, closing(atapped(run, chunks)) as seen:
            async for chunk in seen:
                made.append(chunk)
                yield chunk
    except GeneratorExit:
        await _end(run, made, taken, pieces)
        raise
    except BaseException as error:
        await run.on_chain_error(error, **_inputs(taken, pieces))
        raise
    await _end(run, made, taken, pieces)


def tapped(run: Any, chunks: Iterator[Any]) -> Iterator[Any]:
    """Let streaming handlers of a run see the chunks as they pass."""
    for handler in run.handlers:
        if getattr(handler, "_taps_streams", False):
            chunks = handler.tap_output_iter(run.run_id, chunks)
    return chunks


def atapped(run: Any, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Let streaming handlers of a run see the chunks as they pass."""
    for handler in run.handlers:
        if getattr(handler, "_taps_streams", False):
            chunks = handler.tap_output_aiter(run.run_id, chunks)
    return chunks
