"""One of several runnables, by conditions on the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables._stream import astream_observed, closing, stream_observed
from clew.runnables.base import Runnable, coerce_to_runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.config import RunnableConfig

__all__ = ["RunnableBranch"]


class RunnableBranch(Runnable[Any, Any]):
    """Runs the first branch whose condition is true of the input, else the default.

    Conditions are asked in order and no further than needed.
    """

    __slots__ = ("branches", "default", "name")

    def __init__(self, *branches: Any, name: str | None = None) -> None:
        """branches: pairs of (condition, runnable), then the default; functions and dicts are made runnables.

        Raises: ValueError for fewer than two; TypeError for a branch that is no pair.
        """
        if len(branches) < 2:
            raise ValueError("a branch needs at least one (condition, runnable) pair and a default")
        pairs: list[tuple[Runnable[Any, Any], Runnable[Any, Any]]] = []
        for branch in branches[:-1]:
            if not isinstance(branch, (tuple, list)):
                raise TypeError(f"a branch must be a (condition, runnable) pair, got {type(branch).__name__}")
            pair = cast("Sequence[Any]", branch)
            if len(pair) != 2:
                raise ValueError(f"a branch must be a (condition, runnable) pair, got {len(pair)} items")
            pairs.append((coerce_to_runnable(pair[0]), coerce_to_runnable(pair[1])))
        if isinstance(branches[-1], (tuple, list)):
            raise TypeError("the last branch must be the default, a runnable and no pair")
        self.branches = pairs
        self.default: Runnable[Any, Any] = coerce_to_runnable(branches[-1])
        self.name = name

    def __repr__(self) -> str:
        return f"RunnableBranch({', '.join(map(repr, self.branches))}, {self.default!r})"

    def _choose(self, value: Any, config: Any, run: Any) -> tuple[Runnable[Any, Any], Any]:
        for number, (condition, runnable) in enumerate(self.branches, 1):
            if condition.invoke(value, self._child(config, run, f"condition:{number}")):
                return runnable, self._child(config, run, f"branch:{number}")
        return self.default, self._child(config, run, "branch:default")

    async def _achoose(self, value: Any, config: Any, run: Any) -> tuple[Runnable[Any, Any], Any]:
        for number, (condition, runnable) in enumerate(self.branches, 1):
            if await condition.ainvoke(value, self._child(config, run, f"condition:{number}")):
                return runnable, self._child(config, run, f"branch:{number}")
        return self.default, self._child(config, run, "branch:default")

    def _child(self, config: Any, run: Any, tag: str) -> Any:
        return None if config is None else child_config(config, run, tag)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the chosen branch returns."""

        def body(value: Any, config: Any, run: Any) -> Any:
            runnable, below = self._choose(value, config, run)
            return runnable.invoke(value, below, **kwargs)

        return body(input, None, None) if config is None and plain() else call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the chosen branch returns."""

        async def body(value: Any, config: Any, run: Any) -> Any:
            runnable, below = await self._achoose(value, config, run)
            return await runnable.ainvoke(value, below, **kwargs)

        if config is None and plain():
            return await body(input, None, None)
        return await acall_observed(self, body, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what the chosen branch yields."""

        def body(value: Any, config: Any, run: Any) -> Iterator[Any]:
            runnable, below = self._choose(value, config, run)
            yield from runnable.stream(value, below, **kwargs)

        return stream_observed(self, body, input, config)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what the chosen branch yields."""

        async def body(value: Any, config: Any, run: Any) -> AsyncIterator[Any]:
            runnable, below = await self._achoose(value, config, run)
            async with closing(runnable.astream(value, below, **kwargs)) as chunks:
                async for chunk in chunks:
                    yield chunk

        return astream_observed(self, body, input, config)

    @property
    def config_specs(self) -> list[Any]:
        """What conditions and branches take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        parts = [part for pair in self.branches for part in pair] + [self.default]
        return get_unique_config_specs(spec for part in parts for spec in part.config_specs)
