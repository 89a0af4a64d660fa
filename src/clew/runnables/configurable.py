"""Fields and whole components that a call may choose, under `configurable` in its config."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, cast

from clew.runnables.base import Runnable, coerce_to_runnable
from clew.runnables.config import inherit
from clew.runnables.utils import (
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
    get_unique_config_specs,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clew.config import RunnableConfig

__all__ = ["DynamicRunnable", "RunnableConfigurableAlternatives", "RunnableConfigurableFields"]


class DynamicRunnable(Runnable[Any, Any]):
    """A runnable that is made, or chosen, anew for each call, as the config says; `default` if it says nothing."""

    __slots__ = ("__dict__", "default", "name")

    default: Any
    name: str | None

    def prepare(self, config: RunnableConfig | None = None) -> tuple[Runnable[Any, Any], RunnableConfig | None]:
        """Return the runnable that a call with this config runs, and its config."""
        wanted = inherit(config).get("configurable") or {}
        runnable: Any = self.default
        if wanted:
            runnable = self._prepare(wanted)
        while isinstance(runnable, DynamicRunnable):
            runnable = cast("Any", runnable)._prepare(wanted) if wanted else runnable.default
        return runnable, config

    def _prepare(self, wanted: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of the default."""
        return self.default.get_name(suffix, name=name or self.name)

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return a runnable whose calls have this config under the one they are given."""
        from clew.runnables._binding import RunnableBinding

        return RunnableBinding(bound=self, config={**(config or {}), **kwargs})

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the chosen runnable returns."""
        runnable, config = self.prepare(config)
        return runnable.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return what the chosen runnable returns."""
        runnable, config = self.prepare(config)
        return await runnable.ainvoke(input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what the chosen runnable yields."""
        runnable, config = self.prepare(config)
        return runnable.stream(input, config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what the chosen runnable yields."""
        runnable, config = self.prepare(config)
        return runnable.astream(input, config, **kwargs)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield what the chosen runnable yields, for an input that comes in pieces."""
        runnable, config = self.prepare(config)
        return runnable.transform(input, config, **kwargs)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield what the chosen runnable yields, for an input that comes in pieces."""
        runnable, config = self.prepare(config)
        return runnable.atransform(input, config, **kwargs)

    @property
    def InputType(self) -> Any:
        """The input type of the default."""
        return self.default.InputType

    @property
    def OutputType(self) -> Any:
        """The output type of the default."""
        return self.default.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the chosen runnable's input."""
        return self.prepare(config)[0].get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the model of the chosen runnable's output."""
        return self.prepare(config)[0].get_output_schema(config)

    def configurable_fields(self, **kwargs: Any) -> Any:
        """Return a runnable whose named fields, of the default, can be set per call."""
        return RunnableConfigurableFields(default=self, fields=kwargs)

    def configurable_alternatives(
        self, which: ConfigurableField, *, default_key: str = "default", prefix_keys: bool = False, **kwargs: Any
    ) -> Any:
        """Return a runnable that is replaced by an alternative when the config says so."""
        return RunnableConfigurableAlternatives(
            which=which, default=self, alternatives=kwargs, default_key=default_key, prefix_keys=prefix_keys
        )

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the default; a method that takes a config is called on what that config chooses."""
        if name.startswith("_") or name == "default":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.default, name)
        if not inspect.ismethod(found):
            return found
        takes_config = "config" in inspect.signature(found).parameters

        @wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            chosen = self.prepare(kwargs.get("config"))[0] if takes_config else self.default
            return getattr(chosen, name)(*args, **kwargs)

        return method


class RunnableConfigurableFields(DynamicRunnable):
    """A component some fields of which a call may set."""

    __slots__ = ("fields",)

    def __init__(self, *, default: Any, fields: Mapping[str, Any], name: str | None = None) -> None:
        """fields: field of the component -> ConfigurableField or an option form.

        Raises: ValueError if the component has no such field.
        """
        known = _fields_of(default)
        for field in fields:
            if field not in known:
                raise ValueError(f"{type(default).__name__} has no field {field!r}; it has {sorted(known)}")
        self.default = default
        self.fields = dict(fields)
        self.name = name

    def __repr__(self) -> str:
        return f"RunnableConfigurableFields({self.default!r}, {sorted(self.fields)})"

    @property
    def config_specs(self) -> list[Any]:
        """What the default and the fields take under `configurable`."""
        own = [self._spec(field, spec) for field, spec in self.fields.items()]
        return get_unique_config_specs([*own, *self.default.config_specs])

    def _spec(self, field: str, given: Any) -> ConfigurableFieldSpec:
        info = _fields_of(self.default)[field]
        description = given.description or getattr(info, "description", None)
        if isinstance(given, ConfigurableField):
            annotation = given.annotation if given.annotation is not None else getattr(info, "annotation", Any)
            default = getattr(_innermost(self.default), field)
        elif isinstance(given, ConfigurableFieldSingleOption):
            annotation, default = Literal[tuple(given.options)], given.default  # pyright: ignore[reportUnknownVariableType] - made of the user's names
        else:
            annotation, default = list[Literal[tuple(given.options)]], list(given.default)  # type: ignore[misc] - made of the user's names
        return ConfigurableFieldSpec(given.id, annotation, given.name, description, default, given.is_shared)

    def _prepare(self, wanted: Mapping[str, Any]) -> Any:
        changes: dict[str, Any] = {}
        for field, spec in self.fields.items():
            if isinstance(spec, ConfigurableField):
                if spec.id in wanted:
                    changes[field] = wanted[spec.id]
            elif isinstance(spec, ConfigurableFieldSingleOption):
                changes[field] = _option(spec, wanted.get(spec.id, spec.default))
            elif isinstance(spec, ConfigurableFieldMultiOption):
                changes[field] = [_option(spec, key) for key in wanted.get(spec.id, spec.default)]
        base = self.default
        while isinstance(base, DynamicRunnable):
            base = cast("Any", base)._prepare(wanted)
        return _remade(base, changes) if changes else base


def _option(spec: Any, key: str) -> Any:
    if key not in spec.options:
        raise ValueError(f"{spec.id!r} must be one of {sorted(spec.options)}, got {key!r}")
    return spec.options[key]


def _innermost(component: Any) -> Any:
    while isinstance(component, DynamicRunnable):
        component = component.default
    return component


def _fields_of(component: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", getattr(cast("Any", type(_innermost(component))), "model_fields", {}))


def _remade(component: Any, changes: dict[str, Any]) -> Any:
    """Return a component with some fields changed, made and validated anew from the arguments it was given."""
    fields = cast("dict[str, Any]", type(component).model_fields)
    given: dict[str, Any] = {}
    for field, info in fields.items():
        if field in component.model_fields_set and field not in changes and info.init is not False:
            given[_argument(component, field, info)] = getattr(component, field)
    given.update({_argument(component, field, fields[field]): value for field, value in changes.items()})
    return type(component)(**given)


def _argument(component: Any, field: str, info: Any) -> str:
    """Return the name by which a field is given to the constructor."""
    config = cast("dict[str, Any]", type(component).model_config)
    if config.get("validate_by_name") or config.get("populate_by_name"):
        return field
    alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
    return field if alias is None else alias


class RunnableConfigurableAlternatives(DynamicRunnable):
    """A component that a call may replace by an alternative."""

    __slots__ = ("alternatives", "default_key", "prefix_keys", "which")

    def __init__(
        self,
        *,
        which: ConfigurableField,
        default: Any,
        alternatives: Mapping[str, Any],
        default_key: str = "default",
        prefix_keys: bool = False,
        name: str | None = None,
    ) -> None:
        """alternatives: key -> runnable, or a function without arguments that makes it."""
        self.which = which
        self.default = default
        self.alternatives: dict[str, Any] = dict(alternatives)
        self.default_key = default_key
        self.prefix_keys = prefix_keys
        self.name = name

    def __repr__(self) -> str:
        return f"RunnableConfigurableAlternatives({self.which.id!r}, {[self.default_key, *self.alternatives]})"

    @property
    def config_specs(self) -> list[Any]:
        """The choice, and what the default and the alternatives take under `configurable`."""
        keys = (self.default_key, *self.alternatives)
        choice = ConfigurableFieldSpec(
            self.which.id,
            Literal[keys],  # pyright: ignore[reportArgumentType] - made of the user's names
            self.which.name,
            self.which.description,
            self.default_key,
            self.which.is_shared,
        )
        specs = [choice]
        for key, runnable in [(self.default_key, self.default), *self.alternatives.items()]:
            if isinstance(runnable, Runnable):
                made = cast("Runnable[Any, Any]", runnable)
                specs.extend(self._prefixed(spec, key) for spec in made.config_specs)
        return get_unique_config_specs(specs)

    def _prefixed(self, spec: ConfigurableFieldSpec, key: str) -> ConfigurableFieldSpec:
        if not self.prefix_keys or spec.is_shared:
            return spec
        return spec._replace(id=f"{self.which.id}=={key}/{spec.id}")

    def _prepare(self, wanted: Mapping[str, Any]) -> Any:
        key = wanted.get(self.which.id, self.default_key)
        if self.prefix_keys:
            prefix = f"{self.which.id}=={key}/"
            wanted = {**wanted, **{k.removeprefix(prefix): v for k, v in wanted.items() if k.startswith(prefix)}}
        chosen: Any
        if key == self.default_key:
            chosen = self.default
        elif key in self.alternatives:
            chosen = self.alternatives[key]
            if not getattr(chosen, "_is_runnable", False):
                chosen = coerce_to_runnable(chosen())
        else:
            raise ValueError(f"{self.which.id!r} must be one of {[self.default_key, *self.alternatives]}, got {key!r}")
        while isinstance(chosen, DynamicRunnable):
            chosen = cast("Any", chosen)._prepare(wanted)
        return chosen
