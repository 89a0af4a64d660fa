"""Runnables that hand their input on: as it is, with keys added, or with some picked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._pool import run_in_executor
from clew.runnables._entry import acall_observed, ain_context, call_observed, child_config, in_context, plain
from clew.runnables._lambda import injected, is_async
from clew.runnables._merge import amerged, merged
from clew.runnables._parallel import AsyncShared, RunnableParallel, Shared
from clew.runnables._stream import astream_observed, closing, collect, once, stream_observed
from clew.runnables.base import Runnable
from clew.runnables.config import ensure_config
from clew.runnables.utils import AddableDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from clew.config import RunnableConfig

__all__ = ["RunnableAssign", "RunnablePassthrough", "RunnablePick"]


class RunnablePassthrough(Runnable[Any, Any]):
    """Returns its input; a function may look at it on the way."""

    __slots__ = ("_afunc", "_func", "_wants", "input_type", "name")

    def __init__(
        self,
        func: Callable[..., Any] | None = None,
        afunc: Callable[..., Any] | None = None,
        *,
        input_type: Any = None,
        name: str | None = None,
    ) -> None:
        """func, afunc: called with the input (and `config`, if they take it); what they return is dropped."""
        if func is not None and is_async(func):
            func, afunc = None, func
        self._func = func
        self._afunc = afunc
        self._wants = injected(func or afunc) if func or afunc else frozenset[str]()
        self.input_type = input_type
        self.name = name

    @classmethod
    def assign(cls, **kwargs: Any) -> RunnableAssign:  # pyright: ignore[reportIncompatibleMethodOverride] - a class method here, as users know it
        """Return a runnable that adds keys to its input dict, each computed from it."""
        return RunnableAssign(RunnableParallel(kwargs))

    def __repr__(self) -> str:
        return "RunnablePassthrough()"

    @property
    def InputType(self) -> Any:
        """The type that it was told, else anything."""
        return Any if self.input_type is None else self.input_type

    @property
    def OutputType(self) -> Any:
        """The type of its input."""
        return self.InputType

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the input."""
        if config is None and self._func is None and plain():
            return input

        def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            if self._func is not None:
                below = child_config(config, run)
                in_context(below, self._func, value, **self._more(below), **kwargs)
            return value

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the input."""
        if config is None and self._func is None and self._afunc is None and plain():
            return input

        async def body(value: Any, config: RunnableConfig, run: Any) -> Any:
            below = child_config(config, run)
            if self._afunc is not None:
                await ain_context(below, self._afunc, value, **self._more(below), **kwargs)
            elif self._func is not None:
                await ain_context(below, run_in_executor, below, self._func, value, **self._more(below), **kwargs)
            return value

        return await acall_observed(self, body, input, config)

    def _more(self, config: RunnableConfig) -> dict[str, Any]:
        return {"config": ensure_config(config)} if "config" in self._wants else {}

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the input."""
        return self.transform(iter([input]), config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the input."""
        return self.atransform(once(input), config, **kwargs)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the pieces of the input; the function sees them joined, at the end."""
        if config is None and self._func is None and plain():
            return input

        def body(pieces: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            seen: list[Any] = []
            for piece in pieces:
                seen.append(piece)
                yield piece
            if self._func is not None and seen:
                below = child_config(config, run)
                in_context(below, self._func, collect(seen)[0], **self._more(below), **kwargs)

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield the pieces of the input; the function sees them joined, at the end."""
        if config is None and self._func is None and self._afunc is None and plain():
            return input

        async def body(pieces: AsyncIterator[Any], config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            seen: list[Any] = []
            async for piece in pieces:
                seen.append(piece)
                yield piece
            if seen and (self._func or self._afunc):
                below = child_config(config, run)
                whole = collect(seen)[0]
                if self._afunc is not None:
                    await ain_context(below, self._afunc, whole, **self._more(below), **kwargs)
                else:
                    await ain_context(below, run_in_executor, below, self._func, whole, **self._more(below), **kwargs)

        return astream_observed(self, body, input, config, pieces=True)


class RunnableAssign(Runnable[dict[str, Any], dict[str, Any]]):
    """Adds keys to a dict, each computed from it by a step of `mapper`; the input is not changed."""

    __slots__ = ("mapper", "name")

    def __init__(self, mapper: RunnableParallel | Mapping[str, Any], *, name: str | None = None) -> None:
        self.mapper = mapper if isinstance(mapper, RunnableParallel) else RunnableParallel(mapper)
        self.name = name

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of this runnable's runs: the keys, if it was given none."""
        return super().get_name(suffix, name=name or self.name or f"RunnableAssign<{','.join(self.mapper.steps__)}>")

    def __repr__(self) -> str:
        return f"RunnableAssign({self.mapper!r})"

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the input with the new keys.

        Raises: ValueError if the input is not a dict.
        """
        if config is None and plain():
            return {**_dict(input), **self.mapper.invoke(input, **kwargs)}

        def body(value: Any, config: RunnableConfig, run: Any) -> dict[str, Any]:
            return {**_dict(value), **self.mapper.invoke(value, child_config(config, run), **kwargs)}

        return call_observed(self, body, input, config)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the input with the new keys; as `invoke`."""
        if config is None and plain():
            return {**_dict(input), **await self.mapper.ainvoke(input, **kwargs)}

        async def body(value: Any, config: RunnableConfig, run: Any) -> dict[str, Any]:
            return {**_dict(value), **await self.mapper.ainvoke(value, child_config(config, run), **kwargs)}

        return await acall_observed(self, body, input, config)

    def stream(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the input, then the new keys as they come."""
        return self.transform(iter([input]), config, **kwargs)

    def astream(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the input, then the new keys as they come."""
        return self.atransform(once(input), config, **kwargs)

    def transform(
        self, input: Iterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the pieces of the input without the keys that are replaced, and the new keys as they come."""

        def body(pieces: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            shared, below = Shared(pieces), child_config(config, run)
            openers: list[Any] = [
                lambda: self._kept(iter(shared)),
                lambda: self.mapper.transform(iter(shared), below, **kwargs),
            ]
            with closing(merged(openers, config.get("max_concurrency"))) as chunks:
                for _, chunk in chunks:
                    yield chunk

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield the pieces of the input without the keys that are replaced, and the new keys as they come."""

        async def body(pieces: AsyncIterator[Any], config: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            shared, below = AsyncShared(pieces), child_config(config, run)
            openers: list[Any] = [
                lambda: self._akept(aiter(shared)),
                lambda: self.mapper.atransform(aiter(shared), below, **kwargs),
            ]
            async with closing(amerged(openers, config.get("max_concurrency"))) as chunks:
                async for _, chunk in chunks:
                    yield chunk

        return astream_observed(self, body, input, config, pieces=True)

    def _kept(self, pieces: Iterator[dict[str, Any]]) -> Iterator[Any]:
        for piece in pieces:
            if kept := AddableDict({k: v for k, v in _dict(piece).items() if k not in self.mapper.steps__}):
                yield kept

    async def _akept(self, pieces: AsyncIterator[dict[str, Any]]) -> AsyncIterator[Any]:
        async for piece in pieces:
            if kept := AddableDict({k: v for k, v in _dict(piece).items() if k not in self.mapper.steps__}):
                yield kept

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of what the new keys are computed from."""
        return self.mapper.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the input's and the new keys."""
        from clew.runnables._schema import assign_output

        return assign_output(self, config)

    @property
    def config_specs(self) -> list[Any]:
        """What the steps take under `configurable`."""
        return self.mapper.config_specs


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"assign() needs a dict as its input, got {type(value).__name__}")
    return cast("dict[str, Any]", value)


class RunnablePick(Runnable[dict[str, Any], Any]):
    """Picks from a dict: one value (a key), or a smaller dict (a list of keys)."""

    __slots__ = ("keys", "name")

    def __init__(self, keys: str | list[str], *, name: str | None = None) -> None:
        self.keys = keys
        self.name = name

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of this runnable's runs: the keys, if it was given none."""
        keys = [self.keys] if isinstance(self.keys, str) else self.keys
        return super().get_name(suffix, name=name or self.name or f"RunnablePick<{','.join(keys)}>")

    def __repr__(self) -> str:
        return f"RunnablePick({self.keys!r})"

    @property
    def InputType(self) -> Any:
        """A dict."""
        return dict[str, Any]

    @property
    def OutputType(self) -> Any:
        """Whatever is in the dict."""
        return Any

    def _pick(self, value: Any, _config: Any = None, _run: Any = None) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"pick() needs a dict as its input, got {type(value).__name__}")
        given = cast("dict[str, Any]", value)
        if isinstance(self.keys, str):
            return given.get(self.keys)
        picked = {key: given[key] for key in self.keys if key in given}
        return AddableDict(picked) if picked else None

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what was picked; None if nothing is there."""
        return self._pick(input) if config is None and plain() else call_observed(self, self._pick, input, config)

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what was picked; None if nothing is there."""
        if config is None and plain():
            return self._pick(input)

        async def body(value: Any, _config: Any, _run: Any) -> Any:
            return self._pick(value)

        return await acall_observed(self, body, input, config)

    def transform(
        self, input: Iterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield what was picked from each piece that has it."""

        def body(pieces: Iterator[Any], _config: Any, _run: Any) -> Iterator[Any]:
            for piece in pieces:
                if (picked := self._pick(piece)) is not None:
                    yield picked

        return stream_observed(self, body, input, config, pieces=True)

    def atransform(
        self, input: AsyncIterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield what was picked from each piece that has it."""

        async def body(pieces: AsyncIterator[Any], _config: Any, _run: Any) -> AsyncIterator[Any]:
            async for piece in pieces:
                if (picked := self._pick(piece)) is not None:
                    yield picked

        return astream_observed(self, body, input, config, pieces=True)
