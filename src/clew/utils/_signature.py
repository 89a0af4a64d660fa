"""A function's arguments as a pydantic model: names, types, defaults, descriptions.

Reading is cheap (`Signature(function)`), the model is built when first asked for. Arguments that the model of language
does not give (a config, callbacks, injected values) are known as such.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from clew.utils._docstring import parse_docstring

RUNTIME_NAMES = frozenset({"run_manager", "callbacks"})
"""Arguments that the library fills in by name."""


class InjectedToolArg:
    """Marks an argument (`Annotated[T, InjectedToolArg]`) that the program gives and the model never sees."""


class DirectlyInjectedToolArg:
    """Base of types that are injected wherever an argument is annotated with them."""


class ArgsModel(BaseModel):
    """Base of the models that are made from functions."""

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="ignore", validate_by_name=True, validate_by_alias=True
    )


class Signature:
    """What is known of a function: its docstring, its arguments and who gives them."""

    __slots__ = ("_hints", "_model", "_parameters", "arg_docs", "function", "name", "skipped", "summary")

    def __init__(self, function: Callable[..., Any], name: str, skipped: Iterable[str] = ()) -> None:
        self.function = function
        self.name = name
        self.skipped = frozenset(skipped) | RUNTIME_NAMES
        self.summary, self.arg_docs = parse_docstring(_docstring(function))
        self._parameters: dict[str, inspect.Parameter] | None = None
        self._hints: dict[str, Any] | None = None
        self._model: type[BaseModel] | None = None

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The arguments that can be given by name."""
        if self._parameters is None:
            self._parameters = {
                name: parameter
                for name, parameter in inspect.signature(self.function).parameters.items()
                if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
                and name not in self.skipped
            }
        return self._parameters

    @property
    def hints(self) -> dict[str, Any]:
        """Argument -> type, with Annotated."""
        if self._hints is None:
            self._hints = hints_of(self.function)
        return self._hints

    @property
    def config_name(self) -> str | None:
        """The argument that wants the RunnableConfig, or None."""
        return next((name for name in self.parameters if is_config(self.hints.get(name))), None)

    @property
    def injected(self) -> frozenset[str]:
        """The arguments that the program injects."""
        return frozenset(name for name in self.parameters if is_injected(self.hints.get(name)))

    @property
    def made(self) -> type[BaseModel] | None:
        """The model, if it was asked for."""
        return self._model

    @property
    def model(self) -> type[BaseModel]:
        """A pydantic model of the arguments (config left out, injected ones included)."""
        if self._model is None:
            self._model = build_model(self.name, self.fields(), self.summary)
        return self._model

    def fields(self) -> dict[str, tuple[Any, Any, str | None]]:
        """Argument -> (type, default or ..., description)."""
        out: dict[str, tuple[Any, Any, str | None]] = {}
        for name, parameter in self.parameters.items():
            hint = self.hints.get(name, Any)
            if is_config(hint):
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            out[name] = (hint, default, self.arg_docs.get(name))
        return out

    def check_docs(self) -> None:
        """Raise ValueError if the docstring has no argument section or describes arguments that don't exist."""
        if not self.summary and not self.arg_docs:
            raise ValueError(f"{self.name!r} has no docstring in a form that can be read (Google, NumPy or Sphinx)")
        unknown = sorted(set(self.arg_docs) - set(inspect.signature(self.function).parameters))
        if unknown:
            raise ValueError(f"the docstring of {self.name!r} describes arguments that it doesn't have: {unknown}")


def _docstring(function: Any) -> str | None:
    doc = getattr(function, "__doc__", None)
    return doc if isinstance(doc, str) else None


def hints_of(function: Any) -> dict[str, Any]:
    """Return the annotations of a function or class, resolved, Annotated kept. Raises: NameError for unknown names."""
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    target = inspect.unwrap(target)
    if not hasattr(target, "__annotations__"):
        target = type(target).__call__  # an object that is called like a function
    local: dict[str, Any] = {}
    closure = getattr(getattr(target, "__func__", target), "__closure__", None)
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    if closure and code is not None:
        for name, cell in zip(code.co_freevars, closure, strict=True):
            try:
                local[name] = cell.cell_contents
            except ValueError:
                continue
    return typing.get_type_hints(target, localns=local or None, include_extras=True)


def is_config(hint: Any) -> bool:
    """Whether an annotation is RunnableConfig, or that or None."""
    if hint is None or hint is Any:
        return False
    config = sys.modules.get("clew.config")
    if config is None:
        return False
    wanted = config.RunnableConfig
    return hint is wanted or wanted in get_args(hint)


def is_injected(hint: Any) -> bool:
    """Whether an annotation marks an argument as injected."""
    if isinstance(hint, type) and issubclass(hint, (InjectedToolArg, DirectlyInjectedToolArg)):
        return True
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, (InjectedToolArg, DirectlyInjectedToolArg)):
        return True
    if origin is not Annotated:
        return any(is_injected(arg) for arg in get_args(hint)) if origin in _UNIONS else False
    return any(
        isinstance(mark, InjectedToolArg) or (isinstance(mark, type) and issubclass(mark, InjectedToolArg))
        for mark in get_args(hint)[1:]
    ) or is_injected(get_args(hint)[0])


_UNIONS = (typing.Union, type(int | str))
_TAKEN = frozenset(dir(BaseModel))


def build_model(name: str, fields: dict[str, tuple[Any, Any, str | None]], doc: str | None) -> type[BaseModel]:
    """Return a pydantic model for fields of (type, default or ..., description).

    A name that a model can't have (a leading underscore, a method of BaseModel) is kept as the field's alias. What is
    injected is passed through as it is: the program gives it, and checking would copy it.
    """
    members: dict[str, Any] = {}
    for given, (kind, default, description) in fields.items():
        hint: Any = kind
        described = _annotated_text(hint)
        attribute = given
        if is_injected(hint):
            marks = get_args(hint)[1:] if get_origin(hint) is Annotated else (InjectedToolArg(),)
            kind = hint = cast("Any", Annotated)[(Any, *marks)]
        if given in _TAKEN or given.startswith("_"):
            attribute = f"arg_{given.lstrip('_')}"
            hint = cast("Any", Annotated)[kind, Field(alias=given)]
        required = isinstance(default, type(...))
        field = FieldInfo.from_annotation(hint) if required else FieldInfo.from_annotated_attribute(hint, default)
        if field.description is None:
            field.description = described or description
        members[attribute] = (hint if not isinstance(hint, type(None)) else Any, field)
    return create_model(name, __base__=ArgsModel, __doc__=doc or None, **members)


def _annotated_text(hint: Any) -> str | None:
    """The first plain string among the marks of an Annotated type."""
    if get_origin(hint) is Annotated:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, str)), None)
    return None
