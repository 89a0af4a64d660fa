"""Generator functions as runnables: they take chunks and yield chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._pool import cancel_requested, run_in_executor
from clew.runnables._entry import child_config
from clew.runnables._lambda import apaced, injected, is_async_generator, name_of_function, paced
from clew.runnables._stream import astream_observed, joined, once, stream_observed
from clew.runnables.base import Runnable
from clew.runnables.config import ensure_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from clew.config import RunnableConfig


class RunnableGenerator(Runnable[Any, Any]):
    """A function from an iterator of chunks to an iterator of chunks, as a runnable.

    With only a blocking function, the awaited face collects the input and steps the generator in worker threads.
    """

    __slots__ = ("__dict__", "_atransform", "_atransform_wants", "_transform", "_transform_wants", "name")

    def __init__(
        self,
        transform: Callable[..., Any],
        atransform: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """Raises: TypeError if `transform` can't be called."""
        if not callable(transform):
            raise TypeError(f"a generator function is needed, got {type(transform).__name__}")
        blocking: Any = transform
        if is_async_generator(transform):
            blocking, atransform = None, transform
        self._transform = blocking
        self._atransform = atransform
        self.name = name or name_of_function(transform)
        self._transform_wants = injected(blocking) if blocking is not None else frozenset[str]()
        self._atransform_wants = injected(atransform) if atransform is not None else frozenset[str]()

    def __repr__(self) -> str:
        return f"RunnableGenerator({name_of_function(self._transform or self._atransform) or '...'})"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the joined chunks; None if nothing was yielded."""
        chunks = list(self.stream(input, config, **kwargs))
        return joined(chunks) if chunks else None

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the joined chunks; None if nothing was yielded."""
        chunks = [chunk async for chunk in self.astream(input, config, **kwargs)]
        return joined(chunks) if chunks else None

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the chunks for one whole input."""
        return self.transform(iter([input]), config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the chunks for one whole input."""
        return self.atransform(once(input), config, **kwargs)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what the function yields.

        Raises: TypeError if there is only an async function.
        """
        if self._transform is None:
            raise TypeError(f"{self!r} has only an async function: use astream, atransform or ainvoke")

        def body(pieces: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            below = child_config(config, run)
            more = {"config": ensure_config(below)} if "config" in self._transform_wants else {}
            return paced(below, self._transform(pieces, **more, **kwargs))

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield what the function yields."""

        def body(pieces: AsyncIterator[Any], config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            below = child_config(config, run)
            if self._atransform is None:
                return self._stepped(pieces, below, kwargs)
            more = {"config": ensure_config(below)} if "config" in self._atransform_wants else {}
            return apaced(below, self._atransform(pieces, **more, **kwargs))

        return astream_observed(self, body, input, config, pieces=True)

    async def _stepped(
        self, pieces: AsyncIterator[Any], config: RunnableConfig, kwargs: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Step the blocking generator in worker threads."""
        more = {"config": ensure_config(config)} if "config" in self._transform_wants else {}
        given = [piece async for piece in pieces]
        source: Any = paced(config, self._transform(iter(given), **more, **kwargs))
        end, busy = object(), False

        def step() -> Any:
            try:
                return next(source, end)
            finally:
                if cancel_requested():  # nobody else can close it: it was running when its consumer went
                    source.close()

        try:
            while True:
                busy = True
                chunk = await run_in_executor(None, step)
                busy = False
                if chunk is end:
                    return
                yield chunk
        finally:
            if not busy:
                source.close()
