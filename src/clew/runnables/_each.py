"""One runnable on each item of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.runnables._entry import acall_observed, call_observed, child_config, plain
from clew.runnables.base import Runnable, coerce_to_runnable

if TYPE_CHECKING:
    from clew.config import RunnableConfig


class RunnableEachBase(Runnable[list[Any], list[Any]]):
    """Runs `bound` on each item of a list, at the same time; the outputs are in the order of the items."""

    __slots__ = ("bound", "name")

    def __init__(self, *, bound: Any, name: str | None = None) -> None:
        self.bound: Runnable[Any, Any] = coerce_to_runnable(bound)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bound!r})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of this runnable's runs: that of what is bound, if it was given none."""
        return super().get_name(suffix, name=name or self.name or f"RunnableEach<{self.bound.get_name()}>")

    def invoke(self, input: list[Any], config: RunnableConfig | None = None, **kwargs: Any) -> list[Any]:
        """Return one output per item."""
        if config is None and plain():
            return self.bound.batch(input, **kwargs)

        def body(items: list[Any], config: RunnableConfig, run: Any) -> list[Any]:
            return self.bound.batch(items, [child_config(config, run) for _ in items], **kwargs)

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: list[Any], config: RunnableConfig | None = None, **kwargs: Any) -> list[Any]:
        """Return one output per item."""
        if config is None and plain():
            return await self.bound.abatch(input, **kwargs)

        async def body(items: list[Any], config: RunnableConfig, run: Any) -> list[Any]:
            return await self.bound.abatch(items, [child_config(config, run) for _ in items], **kwargs)

        return await acall_observed(self, body, input, config)

    @property
    def InputType(self) -> Any:
        """A list of what the bound runnable takes."""
        return list[self.bound.InputType]

    @property
    def OutputType(self) -> Any:
        """A list of what the bound runnable returns."""
        return list[self.bound.OutputType]

    @property
    def config_specs(self) -> list[Any]:
        """What the bound runnable takes under `configurable`."""
        return self.bound.config_specs


class RunnableEach(RunnableEachBase):
    """Runs a runnable on each item of a list: what `map()` makes."""

    __slots__ = ()

    def bind(self, **kwargs: Any) -> RunnableEach:
        """Return the same with keywords for each call."""
        return RunnableEach(bound=self.bound.bind(**kwargs), name=self.name)
