"""Another runnable when the first one fails."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from clew._drive import awaited, drive
from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables._stream import astream_observed, closing, stream_observed
from clew.runnables.base import Runnable, coerce_to_runnable
from clew.runnables.retry import aafter, afirst_of, after, first_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from clew.config import RunnableConfig

__all__ = ["RunnableWithFallbacks"]


class RunnableWithFallbacks(Runnable[Any, Any]):
    """Tries `runnable`, then each fallback in turn, until one works.

    A stream falls back only while nothing has come from it; a stream that ends well with nothing in it has worked.
    In a batch each position falls back for itself.
    """

    __slots__ = ("exception_key", "exceptions_to_handle", "fallbacks", "name", "runnable")

    def __init__(
        self,
        *,
        runnable: Any,
        fallbacks: Sequence[Any],
        exceptions_to_handle: tuple[type[BaseException], ...] = (Exception,),
        exception_key: str | None = None,
        name: str | None = None,
    ) -> None:
        """exception_key: fallbacks get the last error in their input, which must be a dict, under this key."""
        self.runnable: Runnable[Any, Any] = coerce_to_runnable(runnable)
        self.fallbacks: list[Runnable[Any, Any]] = [coerce_to_runnable(each) for each in fallbacks]
        self.exceptions_to_handle = exceptions_to_handle
        self.exception_key = exception_key
        self.name = name

    @property
    def runnables(self) -> list[Runnable[Any, Any]]:
        """The runnable and its fallbacks, in the order in which they are tried."""
        return [self.runnable, *self.fallbacks]

    def __repr__(self) -> str:
        return f"RunnableWithFallbacks({self.runnable!r}, {self.fallbacks!r})"

    async def _try(
        self,
        attempt: Callable[[Runnable[Any, Any], Any, Any], Awaitable[Any]],
        input: Any,
        config: RunnableConfig | None,
        run: Any,
    ) -> Any:
        """Return the outcome of the first that works; the one body behind all faces."""
        if self.exception_key is not None and not isinstance(input, dict):
            raise ValueError(f"exception_key needs a dict as input, got {type(input).__name__}")
        first_error: BaseException | None = None
        for runnable in self.runnables:
            below = None if config is None else child_config(config, run)
            try:
                return await attempt(runnable, input, below)
            except self.exceptions_to_handle as error:
                first_error = first_error or error
                if self.exception_key is not None:
                    input = {**cast("dict[str, Any]", input), self.exception_key: error}
        assert first_error is not None
        raise first_error

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output of the first that works.

        Raises: the error of the first runnable when all fail.
        """

        def body(value: Any, config: Any, run: Any) -> Any:
            def attempt(runnable: Runnable[Any, Any], given: Any, below: Any) -> Any:
                return runnable.invoke(given, below, **kwargs)

            return drive(self._try(awaited(attempt), value, config, run))

        return body(input, None, None) if config is None and plain() else call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output of the first that works; as `invoke`."""

        async def body(value: Any, config: Any, run: Any) -> Any:
            return await self._try(
                lambda runnable, given, below: runnable.ainvoke(given, below, **kwargs), value, config, run
            )

        if config is None and plain():
            return await body(input, None, None)
        return await acall_observed(self, body, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the chunks of the first that brings one or ends well."""

        def body(value: Any, config: Any, run: Any) -> Iterator[Any]:
            def attempt(runnable: Runnable[Any, Any], given: Any, below: Any) -> Any:
                return first_of(runnable.stream(given, below, **kwargs))

            first, rest = drive(self._try(awaited(attempt), value, config, run))
            yield from after(first, rest)

        return stream_observed(self, body, input, config)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the chunks of the first that brings one or ends well."""

        async def body(value: Any, config: Any, run: Any) -> AsyncIterator[Any]:
            first, rest = await self._try(
                lambda runnable, given, below: afirst_of(runnable.astream(given, below, **kwargs)), value, config, run
            )
            async with closing(aafter(first, rest)) as chunks:
                async for chunk in chunks:
                    yield chunk

        return astream_observed(self, body, input, config)

    @property
    def InputType(self) -> Any:
        """The input type of the runnable."""
        return self.runnable.InputType

    @property
    def OutputType(self) -> Any:
        """The output type of the runnable."""
        return self.runnable.OutputType

    @property
    def config_specs(self) -> list[Any]:
        """What the runnables take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        return get_unique_config_specs(spec for each in self.runnables for spec in each.config_specs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the runnable; a method that makes a runnable (`bind_tools`) is called on all."""
        if name.startswith("_") or name == "runnable":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.runnable, name)
        if not inspect.ismethod(found):
            return found

        @wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            made = found(*args, **kwargs)
            if not isinstance(made, Runnable):
                return made
            others = [getattr(fallback, name)(*args, **kwargs) for fallback in self.fallbacks]
            return RunnableWithFallbacks(
                runnable=made,
                fallbacks=others,
                exceptions_to_handle=self.exceptions_to_handle,
                exception_key=self.exception_key,
                name=self.name,
            )

        return method
