"""What goes in and what comes out, as types and pydantic models."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, RootModel, create_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.config import RunnableConfig

_ANYTHING = ConfigDict(arbitrary_types_allowed=True)


def stated_type(runnable: Any, position: int) -> Any:
    """Return the input (0) or output (1) type that a class states as `Runnable[In, Out]`.

    Raises: TypeError if it states none.
    """
    from clew.runnables.base import Runnable

    for cls in type(runnable).__mro__:
        metadata: Any = getattr(cls, "__pydantic_generic_metadata__", None) or {}
        arguments: tuple[Any, ...] = metadata.get("args") or ()
        if len(arguments) == 2:
            return arguments[position]
        for base in cast("tuple[Any, ...]", cls.__dict__.get("__orig_bases__", ())):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Runnable):
                arguments = get_args(base)
                if len(arguments) == 2 and not _is_variable(arguments[position]):
                    return arguments[position]
    side = ("Input", "Output")[position]
    raise TypeError(f"{type(runnable).__name__} does not state its {side.lower()} type: override {side}Type")


def _is_variable(thing: Any) -> bool:
    from typing import TypeVar

    return isinstance(thing, TypeVar)


def parameter_type(function: Any) -> Any:
    """Return the annotation of a function's first parameter, Any without one."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Any
    if not parameters or parameters[0].annotation is inspect.Parameter.empty:
        return Any
    return _hints(function).get(parameters[0].name, Any)


def return_type(function: Any) -> Any:
    """Return the annotation of what a function returns, Any without one."""
    hint = _hints(function).get("return", Any)
    from clew.runnables.base import Runnable

    origin = get_origin(hint) or hint
    return Any if isinstance(origin, type) and issubclass(origin, Runnable) else hint


def _hints(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function if hasattr(function, "__code__") else type(function).__call__)
    except Exception:  # annotations that can't be resolved say nothing
        return {}


def model_of(name: str, kind: Any) -> type[BaseModel]:
    """Return a type as a pydantic model: itself if it is one, else a root model of that name."""
    if isinstance(kind, type) and not get_origin(kind) and issubclass(kind, BaseModel):
        return kind
    try:
        return _root_model(name, kind)
    except TypeError:  # unhashable
        return _root_model.__wrapped__(name, kind)


@lru_cache(maxsize=256)
def _root_model(name: str, kind: Any) -> type[BaseModel]:
    try:
        return cast("type[BaseModel]", type(name, (RootModel[kind],), {"__module__": __name__}))
    except Exception:  # a type that pydantic can't describe
        return cast("type[BaseModel]", type(name, (RootModel[Any],), {"__module__": __name__}))


def fields_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's fields as `create_model` takes them; a root model has one, "root"."""
    return {name: (field.annotation, field) for name, field in model.model_fields.items()}


def _made(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __config__=_ANYTHING, **fields)


def parallel_input(parallel: Any, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of what the steps of a parallel take together."""
    models = [step.get_input_schema(config) for step in parallel.steps__.values()]
    if models and all(not issubclass(model, RootModel) for model in models):
        return _made(parallel.get_name("Input"), {k: v for model in models for k, v in fields_of(model).items()})
    return model_of(parallel.get_name("Input"), Any)


def parallel_output(parallel: Any, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of the dict that a parallel returns."""
    return _made(parallel.get_name("Output"), {key: (step.OutputType, ...) for key, step in parallel.steps__.items()})


def assign_output(assign: Any, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of the dict that an assign returns."""
    given, made = assign.get_input_schema(config), assign.mapper.get_output_schema(config)
    if issubclass(given, RootModel):
        return made
    return _made(assign.get_name("Output"), {**fields_of(given), **fields_of(made)})


def sequence_input(sequence: Any, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a sequence's input: what its first step takes, and what an assign at its head leaves open."""
    from clew.runnables.passthrough import RunnableAssign

    first, second = sequence.steps[0], sequence.steps[1]
    if isinstance(first, RunnableAssign):
        needed = second.get_input_schema(config)
        if not issubclass(needed, RootModel):
            added = first.mapper.steps__
            given = first.get_input_schema(config)
            fields = {} if issubclass(given, RootModel) else fields_of(given)
            fields.update({k: v for k, v in fields_of(needed).items() if k not in added})
            return _made(sequence.get_name("Input"), fields)
    return first.get_input_schema(config)


def sequence_output(sequence: Any, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a sequence's output: that of its last step; an assign or pick works on the one before."""
    return _output_of(sequence, len(sequence.steps) - 1, config)


def _output_of(sequence: Any, position: int, config: RunnableConfig | None) -> type[BaseModel]:
    from clew.runnables.passthrough import RunnableAssign, RunnablePick

    step, name = sequence.steps[position], sequence.get_name("Output")
    if position == 0 or not isinstance(step, (RunnableAssign, RunnablePick)):
        return step.get_output_schema(config)
    before = _output_of(sequence, position - 1, config)
    if issubclass(before, RootModel):
        return step.get_output_schema(config)
    fields = fields_of(before)
    if isinstance(step, RunnableAssign):
        return _made(name, {**fields, **fields_of(step.mapper.get_output_schema(config))})
    if isinstance(step.keys, str):
        return model_of(name, fields.get(step.keys, (Any, None))[0])
    return _made(name, {key: field for key, field in fields.items() if key in step.keys})


def config_model(runnable: Any, include: Sequence[str]) -> type[BaseModel]:
    """Return the model of a runnable's config: `configurable`, and the keys to include."""
    fields: dict[str, Any] = {}
    specs = runnable.config_specs
    if specs:
        given: dict[str, Any] = {spec.id: (spec.annotation, _field(spec)) for spec in specs}
        fields["configurable"] = (_made("Configurable", given), None)
    from clew.config import RunnableConfig

    known = RunnableConfig.__annotations__
    for key in include:
        if key in known and key != "configurable":
            fields[key] = (Any, None)
    return _made(runnable.get_name("Config"), fields)


def _field(spec: Any) -> Any:
    from pydantic import Field

    return Field(default=spec.default, title=spec.name, description=spec.description)
