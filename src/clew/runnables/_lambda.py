"""Functions as runnables."""

from __future__ import annotations

import inspect
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, cast, overload

from clew._pool import run_in_executor
from clew.errors import GraphRecursionError
from clew.runnables._entry import acall_observed, ain_context, call_observed, child_config, in_context, plain
from clew.runnables._stream import astream_observed, closing, joined, stream_observed
from clew.runnables.base import Output, Runnable
from clew.runnables.config import DEFAULT_RECURSION_LIMIT, ensure_config, patch_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from clew.config import RunnableConfig

_INJECTED = ("config", "run_manager")


def is_async(function: Any) -> bool:
    """Tell whether a function, or the `__call__` of an object, is a coroutine function."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - not asked whether it is callable


def is_async_generator(function: Any) -> bool:
    """Tell whether a function, or the `__call__` of an object, is an async generator function."""
    return inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(getattr(function, "__call__", None))  # noqa: B004 - not asked whether it is callable


def is_generator(function: Any) -> bool:
    """Tell whether a function, or the `__call__` of an object, is a generator function."""
    return inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(getattr(function, "__call__", None))  # noqa: B004 - not asked whether it is callable


def injected(function: Any) -> frozenset[str]:
    """Return which of `config` and `run_manager` a function takes by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(name for name in _INJECTED if name in parameters)


def name_of_function(function: Any) -> str | None:
    """Return a function's name, None for lambdas and nameless callables."""
    name = getattr(function, "__name__", None)
    return None if name == "<lambda>" else name


class RunnableLambda(Runnable[Any, Output]):
    """A function of one argument as a runnable.

    The function may also take `config` or `run_manager` by name. A runnable that it returns is run on the same input.
    With a blocking and a coroutine function each face picks its own; a blocking one alone runs in a worker thread
    under `ainvoke`.
    """

    __slots__ = ("__dict__", "_afunc_wants", "_bare", "_func_wants", "_generates", "afunc", "func", "name")

    @overload
    def __init__(
        self, func: Callable[..., Coroutine[Any, Any, Output]], afunc: None = None, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, func: Callable[..., Output], afunc: Callable[..., Any] | None = None, name: str | None = None
    ) -> None: ...
    def __init__(
        self, func: Callable[..., Any], afunc: Callable[..., Any] | None = None, name: str | None = None
    ) -> None:
        """Raises: TypeError if `func` can't be called."""
        if not callable(func):
            raise TypeError(f"a function is needed, got {type(func).__name__}")
        blocking: Any = func
        if is_async(func) or is_async_generator(func):
            if afunc is not None:
                raise TypeError("func is a coroutine function: give the blocking one as func, the other as afunc")
            blocking, afunc = None, func
        self.func = blocking
        self.afunc = afunc
        self.name = name or name_of_function(func)
        self._func_wants = injected(blocking) if blocking is not None else frozenset[str]()
        self._afunc_wants = injected(afunc) if afunc is not None else frozenset[str]()
        self._generates = blocking is not None and is_generator(blocking)
        self._bare = blocking is not None and not self._func_wants and not self._generates

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunnableLambda) and (self.func, self.afunc) == (other.func, other.afunc)

    def __hash__(self) -> int:
        return hash((self.func, self.afunc))

    def __repr__(self) -> str:
        return f"RunnableLambda({name_of_function(self.func or self.afunc) or '...'})"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return what the function returns.

        Raises: TypeError if there is only a coroutine function; GraphRecursionError (a RecursionError) when runnables
            return runnables more than `recursion_limit` times.
        """
        if config is None and self._bare and plain():
            output = self.func(input, **kwargs)
            if not needs_settling(output):
                return output
            return self._settle(output, input, ensure_config(), kwargs)
        function = self._blocking()

        def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            below = child_config(config, run)
            output = in_context(below, function, value, **_arguments(self._func_wants, below, run), **kwargs)
            return in_context(below, self._settle, output, value, below, kwargs) if needs_settling(output) else output

        return call_observed(self, body, input, config)

    def _blocking(self) -> Callable[..., Any]:
        if self.func is None:
            raise TypeError(f"{self!r} has only a coroutine function: use ainvoke, astream or abatch")
        return self.func

    def _settle(self, output: Any, input: Any, config: RunnableConfig, kwargs: dict[str, Any]) -> Any:
        """Return what a runnable, generator or misplaced coroutine returned by the function stands for."""
        if _is_runnable(output):
            return output.invoke(input, deeper(config), **kwargs)
        if inspect.isgenerator(output):
            return joined(list(output)) if self._generates else output
        output.close()
        raise TypeError(f"{self!r} returned a coroutine in a blocking call: use ainvoke, or give it as afunc")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Return what the coroutine function returns; a blocking function runs in a worker thread."""
        if config is None and self.afunc is not None and not self._afunc_wants and plain():
            output = self.afunc(input, **kwargs)
            if not hasattr(output, "__aiter__"):
                output = await output
            if not needs_settling(output):
                return output
            return await self._asettle(output, input, ensure_config(), kwargs)

        async def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            below = child_config(config, run)
            return await ain_context(below, self._acall, value, below, run, kwargs)

        return await acall_observed(self, body, input, config)

    async def _acall(self, input: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]) -> Any:
        if self.afunc is not None:
            output = self.afunc(input, **_arguments(self._afunc_wants, config, run), **kwargs)
            if not hasattr(output, "__aiter__"):
                output = await output
        else:
            blocking_run = run.get_sync() if run is not None and "run_manager" in self._func_wants else run
            more = _arguments(self._func_wants, config, blocking_run)
            output = await run_in_executor(config, self._run_blocking, input, more, kwargs)
        return await self._asettle(output, input, config, kwargs) if needs_settling(output) else output

    def _run_blocking(self, input: Any, more: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        output = self.func(input, **more, **kwargs)
        return joined(list(output)) if self._generates else output

    async def _asettle(self, output: Any, input: Any, config: RunnableConfig, kwargs: dict[str, Any]) -> Any:
        if inspect.isawaitable(output):
            output = await output
        if _is_runnable(output):
            return await output.ainvoke(input, deeper(config), **kwargs)
        if hasattr(output, "__aiter__") and self.afunc is not None and is_async_generator(self.afunc):
            return joined([chunk async for chunk in output])
        return output

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Output]:
        """Yield what the function yields, or its output in one piece; a runnable that it returns is streamed."""
        function = self._blocking()

        def body(value: Any, config: RunnableConfig, run: Any) -> Iterator[Any]:
            below = child_config(config, run)
            output = in_context(below, function, value, **_arguments(self._func_wants, below, run), **kwargs)
            if _is_runnable(output):
                yield from output.stream(value, deeper(below), **kwargs)
            elif self._generates:
                yield from paced(below, output)
            else:
                yield (
                    in_context(below, self._settle, output, value, below, kwargs) if needs_settling(output) else output
                )

        if config is None and plain():
            return body(input, ensure_config(), None) if not self._bare else self._stream_plain(input, kwargs)
        return stream_observed(self, body, input, config)

    def _stream_plain(self, input: Any, kwargs: dict[str, Any]) -> Iterator[Any]:
        output = self.func(input, **kwargs)
        if _is_runnable(output):
            yield from output.stream(input, deeper(ensure_config()), **kwargs)
        else:
            yield self._settle(output, input, ensure_config(), kwargs) if needs_settling(output) else output

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Output]:
        """Yield what the function yields, or its output in one piece; a runnable that it returns is streamed."""

        async def body(value: Any, config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            below = child_config(config, run)
            if self.afunc is not None and is_async_generator(self.afunc):
                source = self.afunc(value, **_arguments(self._afunc_wants, below, run), **kwargs)
                async with closing(apaced(below, source)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            output = await ain_context(below, self._afirst, value, below, run, kwargs)
            if _is_runnable(output):
                async with closing(output.astream(value, deeper(below), **kwargs)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            else:
                yield output

        if config is None and plain():
            return body(input, ensure_config(), None)
        return astream_observed(self, body, input, config)

    async def _afirst(self, input: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]) -> Any:
        """Return the function's output, a runnable as it is."""
        if self.afunc is None:
            blocking_run = run.get_sync() if run is not None and "run_manager" in self._func_wants else run
            more = _arguments(self._func_wants, config, blocking_run)
            output = await run_in_executor(config, self._run_blocking, input, more, kwargs)
        else:
            output = self.afunc(input, **_arguments(self._afunc_wants, config, run), **kwargs)
        return await output if inspect.isawaitable(output) else output

    def hop(self) -> Callable[[Any], Any] | None:
        """Return the function if `ainvoke` does no more than run it in a worker thread."""
        kind, base = cast("Any", type(self)), cast("Any", RunnableLambda)
        own = kind.invoke is base.invoke and kind.ainvoke is base.ainvoke
        return self.func if own and self._bare and self.afunc is None else None

    async def asettle(self, output: Any, input: Any) -> Any:
        """Return what the function's output stands for, where it was run by itself in a worker thread."""
        return await self._asettle(output, input, ensure_config(), {})

    @property
    def deps(self) -> list[Runnable[Any, Any]]:
        """The runnables that the function refers to by name."""
        function = self.func or self.afunc
        try:
            found = inspect.getclosurevars(cast("Any", function))
        except TypeError:
            return []
        values = [*found.nonlocals.values(), *found.globals.values()]
        return [value for value in values if isinstance(value, Runnable)]

    @property
    def config_specs(self) -> list[Any]:
        """What the runnables that the function refers to take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        return get_unique_config_specs(spec for step in self.deps for spec in step.config_specs)

    @property
    def InputType(self) -> Any:
        """The annotation of the function's first parameter."""
        from clew.runnables._schema import parameter_type

        return parameter_type(self.func or self.afunc)

    @property
    def OutputType(self) -> Any:
        """The annotation of what the function returns."""
        from clew.runnables._schema import return_type

        return return_type(self.func or self.afunc)


_SETTLED_LATER = frozenset({GeneratorType, CoroutineType, AsyncGeneratorType})


def _is_runnable(output: Any) -> bool:
    return getattr(output.__class__, "_is_runnable", False)


def needs_settling(output: Any) -> bool:
    """Tell whether what a function returned stands for something else: a runnable, a generator, a coroutine."""
    kind = output.__class__
    return kind in _SETTLED_LATER or getattr(kind, "_is_runnable", False)


def _arguments(wants: frozenset[str], config: RunnableConfig, run: Any) -> dict[str, Any]:
    if not wants:
        return {}
    more: dict[str, Any] = {}
    if "config" in wants:
        more["config"] = ensure_config(config)
    if "run_manager" in wants:
        more["run_manager"] = run
    return more


def deeper(config: RunnableConfig) -> RunnableConfig:
    """Return the config for a runnable that a function returned.

    Raises: GraphRecursionError when the limit is used up.
    """
    limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT) - 1
    if limit <= 0:
        raise GraphRecursionError(
            "functions returned runnables too often; raise `recursion_limit` in the config if that is meant"
        )
    return patch_config(config, recursion_limit=limit)


def paced(config: RunnableConfig, source: Iterator[Any]) -> Iterator[Any]:
    """Yield from a user's generator, with a config ambient while it runs and not while its consumer does."""
    if not config:
        with closing(source):
            yield from source
        return
    try:
        while True:
            try:
                chunk = in_context(config, next, source)
            except StopIteration:
                return
            yield chunk
    finally:
        with closing(source):
            pass


async def apaced(config: RunnableConfig, source: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield from a user's async generator, with a config ambient while it runs and not while its consumer does."""
    if not config:
        async with closing(source):
            async for chunk in source:
                yield chunk
        return
    step = source.__anext__
    try:
        while True:
            try:
                chunk = await ain_context(config, step)
            except StopAsyncIteration:
                return
            yield chunk
    finally:
        async with closing(source):
            pass


def chain(func: Callable[..., Any]) -> RunnableLambda[Any]:
    """Make a function a runnable (decorator); its runs have the function's name."""
    return RunnableLambda(func)


def coerce_function(thing: Any) -> Runnable[Any, Any]:
    """Return a function as a lambda or generator, a mapping as a parallel.

    Raises: TypeError for anything else.
    """
    if isinstance(thing, dict):
        from clew.runnables._parallel import RunnableParallel

        return RunnableParallel(cast("dict[str, Any]", thing))
    if is_generator(thing) or is_async_generator(thing):
        from clew.runnables._generator import RunnableGenerator

        return RunnableGenerator(thing)
    if callable(thing):
        return RunnableLambda(thing)
    raise TypeError(f"a runnable, a function or a dict of them is needed, got {type(thing).__name__}: {thing!r}")
