"""One of several runnables, by a key in the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from clew.runnables.base import Runnable, coerce_to_runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clew.config import RunnableConfig

__all__ = ["RouterInput", "RouterRunnable"]


class RouterInput(TypedDict):
    """key: which runnable. input: what it gets."""

    key: str
    input: Any


class RouterRunnable(Runnable[RouterInput, Any]):
    """Runs the runnable that the input's `key` names on the input's `input`."""

    __slots__ = ("name", "runnables")

    def __init__(self, runnables: Mapping[str, Any], *, name: str | None = None) -> None:
        self.runnables: dict[str, Runnable[Any, Any]] = {
            key: coerce_to_runnable(each) for key, each in runnables.items()
        }
        self.name = name

    def __repr__(self) -> str:
        return f"RouterRunnable({self.runnables!r})"

    def _route(self, input: RouterInput) -> tuple[Runnable[Any, Any], Any]:
        if input["key"] not in self.runnables:
            raise ValueError(f"no runnable for the key {input['key']!r}; there are {sorted(self.runnables)}")
        return self.runnables[input["key"]], input["input"]

    def invoke(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the named runnable returns.

        Raises: ValueError if there is none of that name.
        """
        runnable, value = self._route(input)
        return runnable.invoke(value, config, **kwargs)

    async def ainvoke(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the named runnable returns; as `invoke`."""
        runnable, value = self._route(input)
        return await runnable.ainvoke(value, config, **kwargs)

    def stream(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what the named runnable yields."""
        runnable, value = self._route(input)
        return runnable.stream(value, config, **kwargs)

    def astream(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what the named runnable yields."""
        runnable, value = self._route(input)
        return runnable.astream(value, config, **kwargs)

    @property
    def config_specs(self) -> list[Any]:
        """What the runnables take under `configurable`."""
        from clew.runnables.utils import get_unique_config_specs

        return get_unique_config_specs(spec for each in self.runnables.values() for spec in each.config_specs)
