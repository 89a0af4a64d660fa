"""Several runnables on one input at the same time: a dict of outputs."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from clew._pool import run_in_executor
from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables._lambda import RunnableLambda, needs_settling
from clew.runnables._stream import astream_observed, closing, stream_observed
from clew.runnables._together import arun_together, run_together
from clew.runnables.base import Runnable, coerce_to_runnable
from clew.runnables.utils import AddableDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from clew.config import RunnableConfig


class RunnableParallel(Runnable[Any, dict[str, Any]]):
    """Runs each step on the same input, all at the same time, and returns a dict of their outputs.

    Streamed, it yields dicts of one key, as the chunks of the steps come; they can be added up.
    """

    __slots__ = ("_hops", "_named", "name", "steps__")

    def __init__(
        self,
        steps__: Mapping[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """steps__, kwargs: key -> runnable, function or dict of them."""
        given = {**(steps__ or {}), **kwargs}
        self.steps__: dict[str, Runnable[Any, Any]] = {key: coerce_to_runnable(step) for key, step in given.items()}
        self.name = name
        self._named = tuple(self.steps__.items())
        hops = [step.hop() if isinstance(step, RunnableLambda) else None for step in self.steps__.values()]
        self._hops = hops if hops and all(hop is not None for hop in hops) else None

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}: {step!r}" for key, step in self._named) + "}"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of this runnable's runs: the keys, if it was given none."""
        return super().get_name(suffix, name=name or self.name or f"RunnableParallel<{','.join(self.steps__)}>")

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the outputs by key. An error in one step ends the others."""
        if config is None and plain():
            outputs = run_together([partial(step.invoke, input, **kwargs) for _, step in self._named])
            return dict(zip(self.steps__, outputs, strict=True))

        def body(value: Any, config: RunnableConfig, run: Any) -> dict[str, Any]:
            calls = [
                partial(step.invoke, value, child_config(config, run, f"map:key:{key}"), **kwargs)
                for key, step in self._named
            ]
            return dict(zip(self.steps__, run_together(calls, config.get("max_concurrency")), strict=True))

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the outputs by key. An error in one step ends the others."""
        if config is None and plain():
            if self._hops is not None and not kwargs:
                return await self._ahop(input)
            outputs = await arun_together([partial(step.ainvoke, input, **kwargs) for _, step in self._named])
            return dict(zip(self.steps__, outputs, strict=True))

        async def body(value: Any, config: RunnableConfig, run: Any) -> dict[str, Any]:
            calls = [
                partial(step.ainvoke, value, child_config(config, run, f"map:key:{key}"), **kwargs)
                for key, step in self._named
            ]
            return dict(zip(self.steps__, await arun_together(calls, config.get("max_concurrency")), strict=True))

        return await acall_observed(self, body, input, config)

    async def _ahop(self, input: Any) -> dict[str, Any]:
        """Run steps that are all blocking functions from one worker thread, and settle what they return."""
        outputs = await run_in_executor(
            None, run_together, [partial(cast("Any", hop), input) for hop in self._hops or ()]
        )
        open_ = [position for position, output in enumerate(outputs) if needs_settling(output)]
        if open_:
            steps = [cast("RunnableLambda[Any]", step) for _, step in self._named]
            settled = await arun_together([partial(steps[i].asettle, outputs[i], input) for i in open_])
            outputs = [*outputs]
            for position, output in zip(open_, settled, strict=True):
                outputs[position] = output
        return dict(zip(self.steps__, outputs, strict=True))

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield {key: chunk} as the chunks of the steps come."""

        def body(value: Any, config: RunnableConfig, run: Any) -> Iterator[Any]:
            return self._merge(
                [
                    partial(step.stream, value, child_config(config, run, f"map:key:{key}"), **kwargs)
                    for key, step in self._named
                ],
                config,
            )

        return stream_observed(self, body, input, config)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield {key: chunk} as the chunks of the steps come."""

        def body(value: Any, config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            return self._amerge(
                [
                    partial(step.astream, value, child_config(config, run, f"map:key:{key}"), **kwargs)
                    for key, step in self._named
                ],
                config,
            )

        return astream_observed(self, body, input, config)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield {key: chunk} for an input that comes in pieces; every step sees all pieces."""

        def body(pieces: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            shared = Shared(pieces)
            return self._merge(
                [
                    partial(step.transform, iter(shared), child_config(config, run, f"map:key:{key}"), **kwargs)
                    for key, step in self._named
                ],
                config,
            )

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield {key: chunk} for an input that comes in pieces; every step sees all pieces."""

        def body(pieces: AsyncIterator[Any], config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            shared = AsyncShared(pieces)
            return self._amerge(
                [
                    partial(step.atransform, aiter(shared), child_config(config, run, f"map:key:{key}"), **kwargs)
                    for key, step in self._named
                ],
                config,
            )

        return astream_observed(self, body, input, config, pieces=True)

    def _merge(self, openers: list[Callable[[], Iterator[Any]]], config: RunnableConfig) -> Iterator[Any]:
        from clew.runnables._merge import merged

        keys = list(self.steps__)
        with closing(merged(openers, config.get("max_concurrency"))) as chunks:
            for position, chunk in chunks:
                yield AddableDict({keys[position]: chunk})

    async def _amerge(
        self, openers: list[Callable[[], AsyncIterator[Any]]], config: RunnableConfig
    ) -> AsyncIterator[Any]:
        from clew.runnables._merge import amerged

        keys = list(self.steps__)
        async with closing(amerged(openers, config.get("max_concurrency"))) as chunks:
            async for position, chunk in chunks:
                yield AddableDict({keys[position]: chunk})

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the input: what the steps take, together."""
        from clew.runnables._schema import parallel_input

        return parallel_input(self, config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the output: one field per key."""
        from clew.runnables._schema import parallel_output

        return parallel_output(self, config)

    @property
    def config_specs(self) -> list[Any]:
        """What the steps take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        return get_unique_config_specs(spec for step in self.steps__.values() for spec in step.config_specs)


RunnableMap = RunnableParallel


class Shared:
    """A stream that several readers, in several threads, each see whole."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self._seen: list[Any] = []
        self._lock = threading.Lock()
        self._end: list[BaseException | None] = []

    def __iter__(self) -> Iterator[Any]:
        position = 0
        while True:
            if position == len(self._seen) and not self._pull(position):
                return
            yield self._seen[position]
            position += 1

    def _pull(self, position: int) -> bool:
        with self._lock:
            if position < len(self._seen):
                return True
            if not self._end:
                try:
                    self._seen.append(next(self._source))
                    return True
                except StopIteration:
                    self._end.append(None)
                except BaseException as error:
                    self._end.append(error)
            error = self._end[0]
        if error is not None:
            raise error
        return False


class AsyncShared:
    """A stream that several readers, in several tasks, each see whole."""

    def __init__(self, source: AsyncIterator[Any]) -> None:
        import asyncio

        self._source = source
        self._seen: list[Any] = []
        self._lock = asyncio.Lock()
        self._end: list[BaseException | None] = []

    def __aiter__(self) -> _AsyncReader:
        return _AsyncReader(self)

    async def read(self, position: int) -> Any:
        """Return the chunk of a position; raises StopAsyncIteration after the last."""
        if position == len(self._seen) and not await self._pull(position):
            raise StopAsyncIteration
        return self._seen[position]

    async def _pull(self, position: int) -> bool:
        async with self._lock:
            if position < len(self._seen):
                return True
            if not self._end:
                try:
                    self._seen.append(await anext(self._source))
                    return True
                except StopAsyncIteration:
                    self._end.append(None)
                except Exception as error:
                    self._end.append(error)
            error = self._end[0]
        if error is not None:
            raise error
        return False


class _AsyncReader:
    """One reader of a shared stream. No generator, so that one that is left half-way needs no closing."""

    __slots__ = ("_position", "_shared")

    def __init__(self, shared: AsyncShared) -> None:
        self._shared = shared
        self._position = -1

    def __aiter__(self) -> _AsyncReader:
        return self

    async def __anext__(self) -> Any:
        self._position += 1
        return await self._shared.read(self._position)


__all__ = ["AsyncShared", "RunnableMap", "RunnableParallel", "Shared"]
