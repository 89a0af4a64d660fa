"""A runnable with keywords or a config given in advance."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from clew.runnables.base import Runnable, coerce_to_runnable
from clew.runnables.config import merge_configs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from clew.config import RunnableConfig


class RunnableBindingBase(Runnable[Any, Any]):
    """Passes calls on to `bound`, with its own keywords and config under those of the call.

    config_factories: functions from the merged config to a further one, asked at every call.
    Subclasses may override `_merge_configs`.
    """

    __slots__ = (
        "__dict__",
        "bound",
        "config",
        "config_factories",
        "custom_input_type",
        "custom_output_type",
        "kwargs",
        "name",
    )

    def __init__(
        self,
        *,
        bound: Any,
        kwargs: Mapping[str, Any] | None = None,
        config: Any = None,
        config_factories: list[Callable[[Any], Any]] | None = None,
        custom_input_type: Any = None,
        custom_output_type: Any = None,
        name: str | None = None,
    ) -> None:
        self.bound: Runnable[Any, Any] = coerce_to_runnable(bound)
        self.kwargs: dict[str, Any] = dict(kwargs or {})
        self.config: RunnableConfig = cast("RunnableConfig", dict(config or {}))
        self.config_factories = list(config_factories or [])
        self.custom_input_type = custom_input_type
        self.custom_output_type = custom_output_type
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bound={self.bound!r}, kwargs={self.kwargs!r}, config={self.config!r})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of what is bound, unless it was given another."""
        return self.bound.get_name(suffix, name=name or self.name or self.config.get("run_name"))

    def _merge_configs(self, *configs: RunnableConfig | None) -> RunnableConfig | None:
        if not self.config and not self.config_factories:
            return configs[0] if len(configs) == 1 else merge_configs(*configs)
        config = merge_configs(self.config, *configs)
        own, merged = self.config.get("max_concurrency"), config.get("max_concurrency")
        if own is not None and merged is not None and own < merged:
            config["max_concurrency"] = own  # a limit set here holds under a wider one that the call inherits
        return merge_configs(config, *(factory(config) for factory in self.config_factories))

    def _with(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**self.kwargs, **kwargs} if kwargs else self.kwargs

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what `bound` returns."""
        return self.bound.invoke(input, self._merge_configs(config), **self._with(kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what `bound` returns."""
        return await self.bound.ainvoke(input, self._merge_configs(config), **self._with(kwargs))

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what `bound` yields."""
        return self.bound.stream(input, self._merge_configs(config), **self._with(kwargs))

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what `bound` yields."""
        return self.bound.astream(input, self._merge_configs(config), **self._with(kwargs))

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what `bound` yields, for an input that comes in pieces."""
        return self.bound.transform(input, self._merge_configs(config), **self._with(kwargs))

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield what `bound` yields, for an input that comes in pieces."""
        return self.bound.atransform(input, self._merge_configs(config), **self._with(kwargs))

    def batch(
        self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Any]:
        """Return what `bound` returns for many inputs."""
        merged = self._merge_many(config, len(inputs))
        return self.bound.batch(inputs, merged, return_exceptions=return_exceptions, **self._with(kwargs))

    async def abatch(
        self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Any]:
        """Return what `bound` returns for many inputs."""
        merged = self._merge_many(config, len(inputs))
        return await self.bound.abatch(inputs, merged, return_exceptions=return_exceptions, **self._with(kwargs))

    def batch_as_completed(
        self, inputs: Sequence[Any], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield (position, output) of `bound` as calls finish."""
        merged = self._merge_many(config, len(inputs))
        return self.bound.batch_as_completed(inputs, merged, return_exceptions=return_exceptions, **self._with(kwargs))

    def abatch_as_completed(
        self, inputs: Sequence[Any], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> AsyncIterator[tuple[int, Any]]:
        """Yield (position, output) of `bound` as calls finish."""
        merged = self._merge_many(config, len(inputs))
        return self.bound.abatch_as_completed(inputs, merged, return_exceptions=return_exceptions, **self._with(kwargs))

    def _merge_many(self, config: Any, count: int) -> Any:
        if isinstance(config, list):
            return [self._merge_configs(each) for each in cast("list[Any]", config)]
        if self.config_factories:
            return [self._merge_configs(config) for _ in range(count)]
        return self._merge_configs(config)

    @property
    def _batches_itself(self) -> bool:
        from clew.runnables._sequence import batches

        return batches(self.bound)

    @property
    def InputType(self) -> Any:
        """The input type of what is bound, unless it was given another."""
        return self.custom_input_type if self.custom_input_type is not None else self.bound.InputType

    @property
    def OutputType(self) -> Any:
        """The output type of what is bound, unless it was given another."""
        return self.custom_output_type if self.custom_output_type is not None else self.bound.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the input."""
        if self.custom_input_type is not None:
            return super().get_input_schema(config)
        return self.bound.get_input_schema(self._merge_configs(config))

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the output."""
        if self.custom_output_type is not None:
            return super().get_output_schema(config)
        return self.bound.get_output_schema(self._merge_configs(config))

    @property
    def config_specs(self) -> list[Any]:
        """What the bound runnable takes under `configurable`."""
        return self.bound.config_specs


_REBOUND = ("bind_tools", "with_structured_output")
"""Methods of models that return another runnable: it keeps the keywords and the config of the binding."""


class RunnableBinding(RunnableBindingBase):
    """A runnable with keywords (`bind`) or a config (`with_config`) given in advance."""

    __slots__ = ()

    def _but(self, **changes: Any) -> Any:
        same: dict[str, Any] = {
            "bound": self.bound,
            "kwargs": self.kwargs,
            "config": self.config,
            "config_factories": self.config_factories,
            "custom_input_type": self.custom_input_type,
            "custom_output_type": self.custom_output_type,
            "name": self.name,
        }
        return type(self)(**{**same, **changes})

    def bind(self, **kwargs: Any) -> Any:
        """Return a binding with these keywords as well."""
        return self._but(kwargs={**self.kwargs, **kwargs})

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return a binding with this config over its own."""
        return self._but(config=merge_configs(self.config, config, cast("Any", kwargs)))

    def with_types(self, *, input_type: Any = None, output_type: Any = None) -> Any:
        """Return a binding with its input and output types stated."""
        return self._but(
            custom_input_type=input_type if input_type is not None else self.custom_input_type,
            custom_output_type=output_type if output_type is not None else self.custom_output_type,
        )

    def with_listeners(self, *, on_start: Any = None, on_end: Any = None, on_error: Any = None) -> Any:
        """Return a binding that calls functions when a call starts, ends or fails."""
        from clew.runnables._listeners import factory

        return self._but(config_factories=[*self.config_factories, factory(on_start, on_end, on_error)])

    def with_retry(self, **kwargs: Any) -> Any:
        """Return a binding whose runnable tries again."""
        return self._but(bound=self.bound.with_retry(**kwargs))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of what is bound; its methods that take a config get the binding's."""
        if name.startswith("_") or name == "bound":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.bound, name)
        if name in _REBOUND:

            @wraps(found)
            def rebound(*args: Any, **kwargs: Any) -> Any:
                return self._but(bound=found(*args, **kwargs))

            return rebound
        if not inspect.ismethod(found) or "config" not in inspect.signature(found).parameters:
            return found

        @wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            kwargs["config"] = self._merge_configs(kwargs.get("config"))
            return found(*args, **kwargs)

        return method
