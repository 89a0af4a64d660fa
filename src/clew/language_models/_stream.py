"""The provider's stream: opened with the right arguments, closed before the caller's close returns."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew.callbacks._run import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from clew.language_models._errors import EmptyStreamError
from clew.language_models._turn import blocking
from clew.messages._convert import message_chunk_to_message
from clew.outputs import ChatGeneration, ChatResult, merge_chat_generation_chunks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.language_models._turn import Turn
    from clew.outputs import ChatGenerationChunk

_END: Any = object()


class closing:
    """Close a stream at the end of a block, whatever kind of iterator the provider returned."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> Any:
        return self._stream

    def __exit__(self, *_: object) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


class aclosing:
    """Close an async stream at the end of a block, whatever kind of iterator the provider returned."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aenter__(self) -> Any:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


class _Silent(CallbackManagerForLLMRun):
    """Given to `_stream`: every chunk is reported by its receiver, so a provider's own report is not a second one."""

    __slots__ = ()

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **kwargs: Any) -> None:
        return None


class _AsyncSilent(AsyncCallbackManagerForLLMRun):
    """The same for `_astream`."""

    __slots__ = ()

    def get_sync(self) -> CallbackManagerForLLMRun:
        return self._into(_Silent)

    async def on_llm_new_token(self, token: Any, *, chunk: Any = None, **kwargs: Any) -> None:
        return None


def stream_of(turn: Turn) -> Iterator[ChatGenerationChunk]:
    """Open the model's `_stream`."""
    model = turn.model
    if model.clew_hooks.stream_managed:
        run = blocking(turn.run)
        silent = None if run is None else run._into(_Silent)
        return model._stream(turn.messages, stop=turn.stop, run_manager=silent, **turn.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
    return model._stream(turn.messages, stop=turn.stop, **turn.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook


def astream_of(turn: Turn) -> AsyncIterator[ChatGenerationChunk]:
    """Open the model's `_astream`, or its `_stream` in a worker thread."""
    model = turn.model
    if not model.clew_hooks.astreams:
        return threaded(turn)
    if model.clew_hooks.astream_managed:
        silent = None if turn.run is None else turn.run._into(_AsyncSilent)
        return model._astream(turn.messages, stop=turn.stop, run_manager=silent, **turn.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
    return model._astream(turn.messages, stop=turn.stop, **turn.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook


async def threaded(turn: Turn) -> AsyncIterator[ChatGenerationChunk]:
    """Read a blocking stream from a coroutine, one chunk per trip to a worker thread.

    Cancelled while a chunk is awaited, the worker closes the stream as soon as it has that chunk.
    """
    from clew._pool import run_in_executor

    source = _Source(turn)
    try:
        while (chunk := await run_in_executor(None, source.step)) is not _END:
            yield chunk
    finally:
        if source.leave():
            await run_in_executor(None, source.close)


class _Source:
    """A blocking stream that is read by one thread at a time and closed by whoever is the last to hold it."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._stream: Any = None
        self._lock = threading.Lock()
        self._is_read = False
        self._is_left = False

    def step(self) -> Any:
        """Return the next chunk or _END."""
        with self._lock:
            if self._is_left:
                return _END
            self._is_read = True
        try:
            if self._stream is None:
                self._stream = iter(stream_of(self._turn))
            return next(self._stream, _END)
        finally:
            with self._lock:
                self._is_read = False
                close = self._is_left
            if close:
                self.close()

    def leave(self) -> bool:
        """Read no more; return whether the caller must close the stream (otherwise its reader does)."""
        with self._lock:
            self._is_left = True
            return not self._is_read and self._stream is not None

    def close(self) -> None:
        """Close the stream."""
        with closing(self._stream):
            pass


def generate_from_stream(stream: Iterator[ChatGenerationChunk]) -> ChatResult:
    """Return the whole answer that a stream of chunks amounts to.

    Raises: EmptyStreamError (a ValueError) when nothing came.
    """
    return _summed(list(stream))


async def agenerate_from_stream(stream: AsyncIterator[ChatGenerationChunk]) -> ChatResult:
    """Return the whole answer that a stream of chunks amounts to.

    Raises: EmptyStreamError (a ValueError) when nothing came.
    """
    return _summed([chunk async for chunk in stream])


def _summed(chunks: list[ChatGenerationChunk]) -> ChatResult:
    total = merge_chat_generation_chunks(chunks)
    if total is None:
        raise EmptyStreamError
    message = message_chunk_to_message(total.message)
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=total.generation_info)])
