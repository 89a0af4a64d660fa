"""Try again, with waits that grow."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from clew._drive import awaited, drive
from clew.errors import ModelError
from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables._stream import astream_observed, closing, stream_observed
from clew.runnables.base import Runnable, coerce_to_runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from clew.config import RunnableConfig

__all__ = ["RetryState", "RunnableRetry"]


class RetryState(NamedTuple):
    """What `on_retry` handlers are told: how many tries failed, the last error, the seconds until the next try."""

    attempt_number: int
    error: BaseException
    seconds: float


class RunnableRetry(Runnable[Any, Any]):
    """Runs `bound` again when it fails with an error that is worth it.

    A model error that says it is not retryable is not tried again under the default of "any exception". A wait is never
    shorter than the error's `retry_after`. In a batch each position is tried for itself. A stream is tried again only
    while nothing has come from it.
    """

    __slots__ = (
        "bound",
        "exponential_jitter_params",
        "max_attempt_number",
        "name",
        "retry_exception_types",
        "wait_exponential_jitter",
    )

    def __init__(
        self,
        *,
        bound: Any,
        retry_exception_types: tuple[type[BaseException], ...] | Callable[[BaseException], bool] = (Exception,),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: Mapping[str, float] | None = None,
        max_attempt_number: int = 3,
        name: str | None = None,
    ) -> None:
        """Raises: ValueError if max_attempt_number < 1."""
        if max_attempt_number < 1:
            raise ValueError(f"stop_after_attempt must be at least 1, got {max_attempt_number}")
        self.bound: Runnable[Any, Any] = coerce_to_runnable(bound)
        self.retry_exception_types = retry_exception_types
        self.wait_exponential_jitter = wait_exponential_jitter
        self.exponential_jitter_params = exponential_jitter_params
        self.max_attempt_number = max_attempt_number
        self.name = name

    def __repr__(self) -> str:
        return f"RunnableRetry({self.bound!r}, {self.max_attempt_number})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of what is tried, unless it was given another."""
        return self.bound.get_name(suffix, name=name or self.name)

    def _again(self, error: BaseException, attempt: int) -> bool:
        if attempt >= self.max_attempt_number:
            return False
        kinds = self.retry_exception_types
        if not isinstance(kinds, tuple):
            return kinds(error)
        if isinstance(error, ModelError) and kinds == (Exception,):
            return error.is_retryable
        return isinstance(error, kinds)

    def _seconds(self, error: BaseException, attempt: int) -> float:
        """Return the wait before the next try."""
        asked = getattr(error, "retry_after", None) or 0.0
        if not self.wait_exponential_jitter:
            return asked
        given = {"initial": 1.0, "max": 60.0, "exp_base": 2.0, "jitter": 1.0, **(self.exponential_jitter_params or {})}
        grown = given["initial"] * given["exp_base"] ** (attempt - 1) + random.uniform(0, given["jitter"])
        return max(asked, min(given["max"], grown))

    async def _attempts(
        self,
        attempt_once: Callable[[RunnableConfig | None], Awaitable[Any]],
        config: RunnableConfig | None,
        run: Any,
        tell: Callable[[Any], Awaitable[Any]],
        sleep: Callable[[float], Awaitable[Any]],
    ) -> Any:
        """Try until it works; the one body behind all faces."""
        attempt = 1
        while True:
            tag = f"retry:attempt:{attempt}" if attempt > 1 else None
            below = None if config is None else child_config(config, run, tag)
            try:
                return await attempt_once(below)
            except BaseException as error:
                if not self._again(error, attempt):
                    raise
                state = RetryState(attempt, error, self._seconds(error, attempt))
            if run is not None:
                await tell(state)
            if state.seconds:
                await sleep(state.seconds)
            attempt += 1

    def _drive(self, once: Callable[[Any], Any], config: Any, run: Any) -> Any:
        tell = awaited(run.on_retry) if run is not None else awaited(id)
        return drive(self._attempts(awaited(once), config, run, tell, awaited(time.sleep)))

    async def _await(self, once: Callable[[Any], Awaitable[Any]], config: Any, run: Any) -> Any:
        import asyncio

        return await self._attempts(once, config, run, run.on_retry if run is not None else awaited(id), asyncio.sleep)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output of the first try that works.

        Raises: the error of the last try.
        """

        def body(value: Any, config: Any, run: Any) -> Any:
            return self._drive(lambda below: self.bound.invoke(value, below, **kwargs), config, run)

        return body(input, None, None) if config is None and plain() else call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output of the first try that works; as `invoke`."""

        async def body(value: Any, config: Any, run: Any) -> Any:
            return await self._await(lambda below: self.bound.ainvoke(value, below, **kwargs), config, run)

        if config is None and plain():
            return await body(input, None, None)
        return await acall_observed(self, body, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the chunks of the first try that brings one or ends well."""

        def body(value: Any, config: Any, run: Any) -> Iterator[Any]:
            def begin(below: Any) -> tuple[Any, Any]:
                return first_of(self.bound.stream(value, below, **kwargs))

            first, rest = self._drive(begin, config, run)
            yield from after(first, rest)

        return stream_observed(self, body, input, config)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the chunks of the first try that brings one or ends well."""

        async def body(value: Any, config: Any, run: Any) -> AsyncIterator[Any]:
            async def begin(below: Any) -> tuple[Any, Any]:
                return await afirst_of(self.bound.astream(value, below, **kwargs))

            first, rest = await self._await(begin, config, run)
            async with closing(aafter(first, rest)) as chunks:
                async for chunk in chunks:
                    yield chunk

        return astream_observed(self, body, input, config)

    @property
    def InputType(self) -> Any:
        """The input type of what is tried."""
        return self.bound.InputType

    @property
    def OutputType(self) -> Any:
        """The output type of what is tried."""
        return self.bound.OutputType

    @property
    def config_specs(self) -> list[Any]:
        """What the bound runnable takes under `configurable`."""
        return self.bound.config_specs


NOTHING = object()
"""In place of the first chunk of a stream that had none."""


def first_of(stream: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """Return the first chunk of a stream (NOTHING if it is empty) and the stream; close it if it fails."""
    try:
        return next(stream, NOTHING), stream
    except BaseException:
        with closing(stream):
            raise


async def afirst_of(stream: AsyncIterator[Any]) -> tuple[Any, AsyncIterator[Any]]:
    """Return the first chunk of a stream (NOTHING if it is empty) and the stream; close it if it fails."""
    try:
        return await anext(stream, NOTHING), stream
    except BaseException:
        async with closing(stream):
            raise


def after(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    """Yield a first chunk and the rest of its stream."""
    with closing(rest):
        if first is not NOTHING:
            yield first
            yield from rest


async def aafter(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield a first chunk and the rest of its stream."""
    async with closing(rest):
        if first is not NOTHING:
            yield first
            async for chunk in rest:
                yield chunk
