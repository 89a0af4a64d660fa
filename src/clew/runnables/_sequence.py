"""One step after the other: what `|` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._pool import run_in_executor
from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables._lambda import RunnableLambda, needs_settling
from clew.runnables._stream import aclose_all, astream_observed, closing_all, stream_observed
from clew.runnables.base import Input, Output, Runnable, coerce_to_runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.config import RunnableConfig


def join(first: Any, second: Any) -> RunnableSequence[Any, Any]:
    """Return the sequence of two things, each a runnable or what can be made one."""
    return RunnableSequence(first, second)


class RunnableSequence(Runnable[Input, Output]):
    """A chain of steps; each gets what the one before returned.

    Streamed, the output of a step flows into the next as it comes, where the next can take it in pieces.
    """

    __slots__ = ("_batched", "_first_streaming", "_hops", "_invokes", "name", "steps")

    def __init__(
        self,
        *steps: Any,
        name: str | None = None,
        first: Any = None,
        middle: list[Any] | None = None,
        last: Any = None,
    ) -> None:
        """steps: at least two; sequences among them are taken apart. first, middle, last: another way to say it."""
        parts = [*steps] or [first, *(middle or []), last]
        flat: list[Runnable[Any, Any]] = []
        for part in parts:
            step = coerce_to_runnable(part)
            if isinstance(step, RunnableSequence):
                inner = step
                flat.extend(inner.steps)
                name = name or inner.name
            else:
                flat.append(step)
        if len(flat) < 2:
            raise ValueError(f"a sequence needs at least 2 steps, got {len(flat)}")
        self.steps = flat
        self.name = name
        self._invokes = tuple(step.invoke for step in flat[1:])
        self._first_streaming = next((i for i, step in enumerate(flat) if streams(step)), len(flat) - 1)
        self._batched = any(batches(step) for step in flat)
        hops = tuple(step.hop() if isinstance(step, RunnableLambda) else None for step in flat)
        self._hops = hops if any(hops) else None

    @property
    def first(self) -> Runnable[Any, Any]:
        """The first step."""
        return self.steps[0]

    @property
    def middle(self) -> list[Runnable[Any, Any]]:
        """The steps between the first and the last."""
        return self.steps[1:-1]

    @property
    def last(self) -> Runnable[Any, Any]:
        """The last step."""
        return self.steps[-1]

    def __repr__(self) -> str:
        return " | ".join(repr(step) for step in self.steps)

    def __reduce__(self) -> Any:
        return _rebuild, (self.steps, self.name)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return what the last step returns; kwargs go to the first."""
        if config is None and plain():
            value: Any = self.steps[0].invoke(input, **kwargs)
            for invoke in self._invokes:
                value = invoke(value)
            return value

        def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            more = kwargs
            for position, step in enumerate(self.steps, 1):
                value = step.invoke(value, child_config(config, run, f"seq:step:{position}"), **more)
                more = {}
            return value

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return what the last step returns; kwargs go to the first."""
        if config is None and plain():
            if self._hops is None:
                value: Any = await self.steps[0].ainvoke(input, **kwargs)
                for step in self.steps[1:]:
                    value = await step.ainvoke(value)
                return value
            return await self._ahop(input, kwargs)

        async def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            more = kwargs
            for position, step in enumerate(self.steps, 1):
                value = await step.ainvoke(value, child_config(config, run, f"seq:step:{position}"), **more)
                more = {}
            return value

        return await acall_observed(self, body, input, config)

    async def _ahop(self, value: Any, kwargs: dict[str, Any]) -> Any:
        """Run the steps, neighbouring blocking functions in one worker thread and not each in its own."""
        position, hops = 0, self._hops or ()
        while position < len(self.steps):
            if hops[position] is None or kwargs:
                value = await self.steps[position].ainvoke(value, **kwargs)
                position, kwargs = position + 1, {}
                continue
            position, given, value = await run_in_executor(None, run_hops, hops, position, value)
            if needs_settling(value):
                value = await cast("RunnableLambda[Any]", self.steps[position - 1]).asettle(value, given)
        return value

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Output]:
        """Yield what the last step yields, as it comes."""
        if config is None and plain():
            return self._flow_from(input, None, None, kwargs)

        def body(value: Any, config: RunnableConfig, run: Any) -> Iterator[Any]:
            return self._flow_from(value, config, run, kwargs)

        return stream_observed(self, body, input, config)

    def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Output]:
        """Yield what the last step yields, as it comes."""
        if config is None and plain():
            return self._aflow_from(input, None, None, kwargs)

        def body(value: Any, config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            return self._aflow_from(value, config, run, kwargs)

        return astream_observed(self, body, input, config)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield what the last step yields, for an input that comes in pieces."""

        def body(pieces: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            return self._flow(pieces, 0, config, run, kwargs)

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield what the last step yields, for an input that comes in pieces."""

        def body(pieces: AsyncIterator[Any], config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            return self._aflow(pieces, 0, config, run, kwargs)

        return astream_observed(self, body, input, config, pieces=True)

    def _flow_from(self, value: Any, config: Any, run: Any, kwargs: dict[str, Any]) -> Iterator[Any]:
        """Yield the stream for a whole input: steps before the first that streams are just called."""
        start = self._first_streaming
        for position in range(start):
            value = self.steps[position].invoke(value, self._child(config, run, position), **kwargs)
            kwargs = {}
        source = self.steps[start].stream(value, self._child(config, run, start), **kwargs)
        yield from self._flow(source, start + 1, config, run, {})

    def _flow(self, source: Iterator[Any], start: int, config: Any, run: Any, kwargs: dict[str, Any]) -> Iterator[Any]:
        streams = [source]
        for position in range(start, len(self.steps)):
            source = self.steps[position].transform(source, self._child(config, run, position), **kwargs)
            streams.append(source)
            kwargs = {}
        with closing_all(streams):
            yield from source

    async def _aflow_from(self, value: Any, config: Any, run: Any, kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        start = self._first_streaming
        for position in range(start):
            value = await self.steps[position].ainvoke(value, self._child(config, run, position), **kwargs)
            kwargs = {}
        source = self.steps[start].astream(value, self._child(config, run, start), **kwargs)
        streams = self._apipe(source, start + 1, config, run, {})
        try:
            async for chunk in streams[-1]:
                yield chunk
        finally:
            await aclose_all(streams)

    async def _aflow(
        self, source: AsyncIterator[Any], start: int, config: Any, run: Any, kwargs: dict[str, Any]
    ) -> AsyncIterator[Any]:
        streams = self._apipe(source, start, config, run, kwargs)
        try:
            async for chunk in streams[-1]:
                yield chunk
        finally:
            await aclose_all(streams)

    def _apipe(
        self, source: AsyncIterator[Any], start: int, config: Any, run: Any, kwargs: dict[str, Any]
    ) -> list[AsyncIterator[Any]]:
        """Return the streams of the steps from one on, each reading the one before; the source first."""
        streams = [source]
        for position in range(start, len(self.steps)):
            child = self._child(config, run, position)
            streams.append(self.steps[position].atransform(streams[-1], child, **kwargs))
            kwargs = {}
        return streams

    def _child(self, config: Any, run: Any, position: int) -> Any:
        return config if run is None else child_config(config, run, f"seq:step:{position + 1}")

    def batch(
        self, inputs: list[Input], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Output]:
        """Return the outputs for many inputs, in their order.

        Step by step where a step has a batch of its own, else input by input.
        """
        if not self._batched:
            return super().batch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        from clew.runnables._batch import batch_steps

        return batch_steps(self, inputs, config, return_exceptions, kwargs)

    async def abatch(
        self, inputs: list[Input], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Output]:
        """Return the outputs for many inputs, in their order; as `batch`."""
        if not self._batched:
            return await super().abatch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        from clew.runnables._batch import abatch_steps

        return await abatch_steps(self, inputs, config, return_exceptions, kwargs)

    @property
    def InputType(self) -> Any:
        """The input type of the first step."""
        return self.steps[0].InputType

    @property
    def OutputType(self) -> Any:
        """The output type of the last step."""
        return self.steps[-1].OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the first step's input."""
        from clew.runnables._schema import sequence_input

        return sequence_input(self, config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the last step's output."""
        from clew.runnables._schema import sequence_output

        return sequence_output(self, config)

    @property
    def config_specs(self) -> list[Any]:
        """What the steps take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        return get_unique_config_specs(spec for step in self.steps for spec in step.config_specs)


def run_hops(hops: tuple[Any, ...], position: int, value: Any) -> tuple[int, Any, Any]:
    """Run blocking functions from a position on, up to one that is none or whose output stands for something else.

    Returns: (position of the step after the last one run, that one's input, its output).
    """
    given = value
    while position < len(hops) and hops[position] is not None:
        given, value = value, hops[position](value)
        position += 1
        if needs_settling(value):
            break
    return position, given, value


def _rebuild(steps: list[Any], name: str | None) -> RunnableSequence[Any, Any]:
    return RunnableSequence(*steps, name=name)


_BASE: Any = Runnable


def streams(step: Runnable[Any, Any]) -> bool:
    """Tell whether a step's stream may differ from its output in one piece."""
    kind = cast("Any", type(step))
    return not (kind.stream is _BASE.stream and kind.astream is _BASE.astream and kind.transform is _BASE.transform)


def batches(step: Runnable[Any, Any]) -> bool:
    """Tell whether a step has a batch of its own: one call for many inputs."""
    kind = cast("Any", type(step))
    if step._batches_itself is not None:
        return bool(step._batches_itself)
    return not (kind.batch is _BASE.batch and kind.abatch is _BASE.abatch)


__all__ = ["RunnableSequence", "batches", "join", "streams"]
