"""`Runnable`: one verb, `invoke`, and everything that follows from it.

A subclass says how to invoke; the other faces (awaited, streamed, batched) follow and may be overridden where the
component knows better. The combining verbs (`|`, `bind`, `map`, `with_retry` …) are doors to the files that hold
the idea.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from clew._pool import run_in_executor
from clew.runnables._entry import acall_observed, call_observed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from clew.config import RunnableConfig
    from clew.runnables._binding import RunnableBinding, RunnableBindingBase
    from clew.runnables._each import RunnableEach, RunnableEachBase
    from clew.runnables._generator import RunnableGenerator
    from clew.runnables._lambda import RunnableLambda, chain
    from clew.runnables._parallel import RunnableMap, RunnableParallel
    from clew.runnables._sequence import RunnableSequence
    from clew.runnables._serializable import RunnableSerializable

__all__ = [
    "Runnable",
    "RunnableBinding",
    "RunnableBindingBase",
    "RunnableEach",
    "RunnableEachBase",
    "RunnableGenerator",
    "RunnableLambda",
    "RunnableMap",
    "RunnableParallel",
    "RunnableSequence",
    "RunnableSerializable",
    "chain",
    "coerce_to_runnable",
]

Input = TypeVar("Input", contravariant=True)
Output = TypeVar("Output", covariant=True)
Other = TypeVar("Other")


class Runnable(ABC, Generic[Input, Output]):
    """Something that turns an input into an output: whole, streamed or in batches, blocking or awaited."""

    __slots__ = ()
    _is_runnable = True
    _batches_itself: Any = None  # whether one call serves many inputs; None: where `batch` is overridden
    if TYPE_CHECKING:  # no annotation at run time: pydantic would take it for a field of models that mix this in
        name: str | None

    # -- the one verb and its faces -----------------------------------------------------------------

    @abstractmethod
    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return the output for one input."""

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return the output for one input. By default `invoke` runs in a worker thread."""
        return await run_in_executor(config, self.invoke, input, config, **kwargs)  # pyright: ignore[reportArgumentType] - ParamSpec can't see the default

    def stream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Output]:
        """Yield the output piece by piece. By default there is one piece."""
        yield self.invoke(input, config, **kwargs)

    async def astream(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Output]:
        """Yield the output piece by piece. By default there is one piece."""
        yield await self.ainvoke(input, config, **kwargs)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield the output for an input that comes in pieces. By default it is collected first."""
        from clew.runnables._stream import collect

        pieces = collect(input)
        if pieces:
            yield from self.stream(pieces[0], config, **kwargs)

    async def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield the output for an input that comes in pieces. By default it is collected first."""
        from clew.runnables._stream import acollect, closing

        pieces = await acollect(input)
        if pieces:
            async with closing(self.astream(pieces[0], config, **kwargs)) as chunks:
                async for chunk in chunks:
                    yield chunk

    def batch(
        self,
        inputs: list[Input],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Return the outputs for many inputs, in their order; they run at the same time.

        config: one for all or one each; `max_concurrency` limits how many leaves run at once in the whole call tree.
        return_exceptions: a failure is returned in its position and the others go on; else the first one is raised
            when nothing runs any more.
        """
        from clew.runnables._batch import batch

        return batch(self, inputs, config, return_exceptions, kwargs)

    async def abatch(
        self,
        inputs: list[Input],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Return the outputs for many inputs; as `batch`. On a failure the others are cancelled and awaited."""
        from clew.runnables._batch import abatch

        return await abatch(self, inputs, config, return_exceptions, kwargs)

    def batch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Output | Exception]]:
        """Yield (position, output) for many inputs as they finish."""
        from clew.runnables._batch import batch_as_completed

        return batch_as_completed(self, inputs, config, return_exceptions, kwargs)

    def abatch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> AsyncIterator[tuple[int, Output | Exception]]:
        """Yield (position, output) for many inputs as they finish."""
        from clew.runnables._batch import abatch_as_completed

        return abatch_as_completed(self, inputs, config, return_exceptions, kwargs)

    # -- combining ----------------------------------------------------------------------------------

    @overload
    def __or__(self, other: Runnable[Any, Other]) -> RunnableSequence[Input, Other]: ...
    @overload
    def __or__(self, other: Mapping[str, Any]) -> RunnableSequence[Input, dict[str, Any]]: ...
    @overload
    def __or__(self, other: Callable[[Any], Coroutine[Any, Any, Other]]) -> RunnableSequence[Input, Other]: ...
    @overload
    def __or__(self, other: Callable[[Any], Iterator[Other]]) -> RunnableSequence[Input, Other]: ...
    @overload
    def __or__(self, other: Callable[[Any], AsyncIterator[Other]]) -> RunnableSequence[Input, Other]: ...
    @overload
    def __or__(self, other: Callable[[Any], Other]) -> RunnableSequence[Input, Other]: ...
    def __or__(self, other: Any) -> RunnableSequence[Input, Any]:
        """Return a sequence: this, then the other (a runnable, a function, or a dict of them)."""
        from clew.runnables._sequence import join

        return join(self, other)

    def __ror__(self, other: Any) -> RunnableSequence[Any, Output]:
        """Return a sequence: the other, then this."""
        from clew.runnables._sequence import join

        return join(other, self)

    def pipe(self, *others: Any, name: str | None = None) -> RunnableSequence[Input, Any]:
        """Return a sequence: this, then the others."""
        from clew.runnables._sequence import RunnableSequence

        return RunnableSequence(self, *others, name=name)

    def pick(self, keys: str | list[str]) -> Runnable[Input, Any]:
        """Return a runnable that picks one value (str) or a smaller dict (list) from this one's dict."""
        from clew.runnables.passthrough import RunnablePick

        return self | RunnablePick(keys)

    def assign(self, **kwargs: Any) -> Runnable[Input, dict[str, Any]]:
        """Return a runnable that adds keys to this one's dict, each computed from it by a runnable or function."""
        from clew.runnables._parallel import RunnableParallel
        from clew.runnables.passthrough import RunnableAssign

        return self | RunnableAssign(RunnableParallel(kwargs))

    def map(self) -> Runnable[Any, list[Output]]:
        """Return a runnable that runs this one on each item of a list."""
        from clew.runnables._each import RunnableEach

        return RunnableEach(bound=self)

    def bind(self, **kwargs: Any) -> Runnable[Input, Output]:
        """Return a runnable that passes these keywords to every call of this one."""
        from clew.runnables._binding import RunnableBinding

        return RunnableBinding(bound=self, kwargs=kwargs)

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Runnable[Input, Output]:
        """Return a runnable whose calls have this config under the one they are given."""
        from clew.runnables._binding import RunnableBinding

        return RunnableBinding(bound=self, config={**(config or {}), **kwargs})

    def with_types(self, *, input_type: Any = None, output_type: Any = None) -> Runnable[Input, Output]:
        """Return a runnable with its input and output types stated."""
        from clew.runnables._binding import RunnableBinding

        return RunnableBinding(bound=self, custom_input_type=input_type, custom_output_type=output_type)

    def with_listeners(
        self, *, on_start: Any = None, on_end: Any = None, on_error: Any = None
    ) -> Runnable[Input, Output]:
        """Return a runnable that calls functions of (run) or (run, config) when a call starts, ends or fails."""
        from clew.runnables._listeners import listening

        return listening(self, on_start, on_end, on_error)

    def with_alisteners(
        self, *, on_start: Any = None, on_end: Any = None, on_error: Any = None
    ) -> Runnable[Input, Output]:
        """Return a runnable that awaits functions of (run) or (run, config) when a call starts, ends or fails."""
        from clew.runnables._listeners import alistening

        return alistening(self, on_start, on_end, on_error)

    def with_retry(
        self,
        *,
        retry_if_exception_type: tuple[type[BaseException], ...] | Callable[[BaseException], bool] = (Exception,),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: Mapping[str, float] | None = None,
        stop_after_attempt: int = 3,
    ) -> Runnable[Input, Output]:
        """Return a runnable that tries again.

        retry_if_exception_type: classes worth another try, or a function that says so.
        wait_exponential_jitter: wait between tries, longer each time (initial 1 s, max 60 s, base 2, jitter up to 1 s:
            `exponential_jitter_params` changes these); False: don't wait.
        stop_after_attempt: tries in all. A stream is only tried again before its first chunk.
        """
        from clew.runnables.retry import RunnableRetry

        return RunnableRetry(
            bound=self,
            retry_exception_types=retry_if_exception_type,
            wait_exponential_jitter=wait_exponential_jitter,
            exponential_jitter_params=exponential_jitter_params,
            max_attempt_number=stop_after_attempt,
        )

    def with_fallbacks(
        self,
        fallbacks: Sequence[Runnable[Any, Any]],
        *,
        exceptions_to_handle: tuple[type[BaseException], ...] = (Exception,),
        exception_key: str | None = None,
    ) -> Runnable[Input, Output]:
        """Return a runnable that tries others when this one fails.

        exception_key: the fallbacks' input (a dict) gets the error under this key.
        """
        from clew.runnables.fallbacks import RunnableWithFallbacks

        return RunnableWithFallbacks(
            runnable=self, fallbacks=fallbacks, exceptions_to_handle=exceptions_to_handle, exception_key=exception_key
        )

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> Any:
        """Return a tool that runs this."""
        from clew._lazy import resolve

        return resolve("clew.tools:convert_runnable_to_tool")(
            self, args_schema, name=name, description=description, arg_types=arg_types
        )

    # -- what it is -----------------------------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of this runnable's runs."""
        own = name or getattr(self, "name", None) or type(self).__name__.partition("[")[0]
        if not suffix:
            return own
        return own + "_" + suffix.lower() if own[0].islower() else own + suffix.title()

    @property
    def InputType(self) -> Any:
        """The type of the input, as the class states it."""
        from clew.runnables._schema import stated_type

        return stated_type(self, 0)

    @property
    def OutputType(self) -> Any:
        """The type of the output, as the class states it."""
        from clew.runnables._schema import stated_type

        return stated_type(self, 1)

    @property
    def input_schema(self) -> type[BaseModel]:
        """A pydantic model of the input."""
        return self.get_input_schema()

    @property
    def output_schema(self) -> type[BaseModel]:
        """A pydantic model of the output."""
        return self.get_output_schema()

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return a pydantic model of the input."""
        from clew.runnables._schema import model_of

        return model_of(self.get_name("Input"), self.InputType)

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return a pydantic model of the output."""
        from clew.runnables._schema import model_of

        return model_of(self.get_name("Output"), self.OutputType)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the input."""
        return self.get_input_schema(config).model_json_schema()

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the output."""
        return self.get_output_schema(config).model_json_schema()

    @property
    def config_specs(self) -> list[Any]:
        """What may be given under `configurable`: a list of ConfigurableFieldSpec."""
        return []

    def config_schema(self, *, include: Sequence[str] | None = None) -> type[BaseModel]:
        """Return a pydantic model of the config; include: further keys of RunnableConfig."""
        from clew.runnables._schema import config_model

        return config_model(self, include or ())

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the config."""
        return self.config_schema(include=include).model_json_schema()

    def get_graph(self, config: RunnableConfig | None = None) -> Any:
        """Return the graph of this runnable's parts, for drawing."""
        from clew.runnables._draw import graph_of

        return graph_of(self, config)

    def get_prompts(self, config: RunnableConfig | None = None) -> list[Any]:
        """Return the prompt templates in this runnable."""
        from clew.runnables._draw import prompts_of

        return prompts_of(self, config)

    def astream_events(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        version: str = "v2",
        include_names: Sequence[str] | None = None,
        include_types: Sequence[str] | None = None,
        include_tags: Sequence[str] | None = None,
        exclude_names: Sequence[str] | None = None,
        exclude_types: Sequence[str] | None = None,
        exclude_tags: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield what happens in the call tree, as dicts of event, name, run_id, parent_ids, tags, metadata, data."""
        from clew.runnables._events import Filter, stream_events

        chosen = Filter(include_names, include_types, include_tags, exclude_names, exclude_types, exclude_tags)
        return stream_events(self, input, config, version, chosen, kwargs)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let runnables be fields of users' pydantic models."""
        if hasattr(cls, "__pydantic_fields__"):  # a model too
            return handler(source)
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    # -- for those who write runnables ------------------------------------------------------------------

    def _call_with_config(
        self,
        func: Callable[..., Any],
        input: Any,
        config: RunnableConfig | None,
        run_type: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run `func(input, **kwargs)` as the body of this runnable, with its run reported."""
        return call_observed(self, lambda value, _child, _run: func(value, **kwargs), input, config, run_type=run_type)

    async def _acall_with_config(
        self,
        func: Callable[..., Awaitable[Any]],
        input: Any,
        config: RunnableConfig | None,
        run_type: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Await `func(input, **kwargs)` as the body of this runnable, with its run reported."""

        async def body(value: Any, _child: Any, _run: Any) -> Any:
            return await func(value, **kwargs)

        return await acall_observed(self, body, input, config, run_type=run_type)


def coerce_to_runnable(thing: Any) -> Runnable[Any, Any]:
    """Return a runnable as it is, a function as a lambda or generator, a mapping as a parallel.

    Raises: TypeError for anything else.
    """
    if isinstance(thing, Runnable):
        return thing  # pyright: ignore[reportUnknownVariableType] - its type arguments don't matter here
    from clew.runnables._lambda import coerce_function

    return coerce_function(thing)


_HOMES = {
    "RunnableBinding": "_binding",
    "RunnableBindingBase": "_binding",
    "RunnableEach": "_each",
    "RunnableEachBase": "_each",
    "RunnableGenerator": "_generator",
    "RunnableLambda": "_lambda",
    "RunnableMap": "_parallel",
    "RunnableParallel": "_parallel",
    "RunnableSequence": "_sequence",
    "RunnableSerializable": "_serializable",
    "chain": "_lambda",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clew._lazy import resolve

    return resolve(f"clew.runnables.{home}:{name}")
