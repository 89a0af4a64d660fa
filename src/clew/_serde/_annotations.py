"""Classes learnt from annotations, so that users of tasks and states rarely have to register anything.

Every data class that a signature or state names is registered, at any depth of its type arguments and fields.
"""

from __future__ import annotations

import sys
import typing
from typing import TYPE_CHECKING, Any

from clew._serde._registry import Registry, default
from clew._serde._shapes import known_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def register_from_annotations(
    target: Any, *, localns: Mapping[str, Any] | None = None, registry: Registry = default
) -> None:
    """Register the data classes that a function, class, type or dict of hints mentions.

    localns: names of the scope where it was defined, for annotations that are text. Names that can't be resolved are
    passed over: values of such classes are then refused on write, with their path.
    """
    _Learner(registry).learn(target, dict(localns or {}))


class _Learner:
    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.seen: set[Any] = set()

    def learn(self, target: Any, names: dict[str, Any]) -> None:
        if isinstance(target, dict):
            self.hints(list(target.values()), {}, names)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - any dict of hints
        elif isinstance(target, type) or typing.get_origin(target) is not None:
            self.one(target, {}, names)
        else:
            self.function(target, names)

    def function(self, function: Any, names: dict[str, Any]) -> None:
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        function = getattr(function, "func", function)
        if not hasattr(function, "__code__"):
            function = _method(function, "__call__")
        hints = getattr(function, "__annotations__", None)
        if not hints:
            return
        free = dict(names)
        code, closure = getattr(function, "__code__", None), getattr(function, "__closure__", None)
        for name, cell in zip(code.co_freevars if code else (), closure or (), strict=False):
            try:
                free[name] = cell.cell_contents
            except ValueError:  # not yet bound
                continue
        self.hints(hints.values(), getattr(function, "__globals__", {}), free)

    def hints(self, hints: Iterable[Any], names: dict[str, Any], local: dict[str, Any]) -> None:
        for hint in hints:
            self.one(hint, names, local)

    def one(self, hint: Any, names: dict[str, Any], local: dict[str, Any]) -> None:
        if isinstance(hint, typing.ForwardRef):
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            try:
                hint = eval(hint, names, local)
            except Exception:  # a name that exists for type checkers only
                return
        try:
            if hint in self.seen:
                return
            self.seen.add(hint)
        except TypeError:
            return
        alias = getattr(hint, "__value__", None)
        if alias is not None and not isinstance(hint, type):
            self.one(alias, names, local)
        for argument in typing.get_args(hint):
            if isinstance(argument, (list, tuple)):
                self.hints(argument, names, local)  # pyright: ignore[reportUnknownArgumentType] - a Callable's arguments
            else:
                self.one(argument, names, local)
        if isinstance(hint, type):
            self.cls(hint, local)

    def cls(self, cls: Any, local: dict[str, Any]) -> None:
        if cls.__module__ in ("builtins", "typing", "collections", "datetime") or cls.__module__.startswith("clew."):
            return
        fields = {name: hint for base in reversed(cls.__mro__) for name, hint in _own_annotations(base).items()}
        module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        if known_shape(cls) is not None:
            if self.registry.of_class(cls) is None:
                self.registry.add(cls)
        elif dict not in cls.__mro__ or not fields:  # a TypedDict is a dict with known fields
            return
        self.hints(fields.values(), module, {**local, cls.__name__: cls})
        if known_shape(cls) is not None:
            self.hints(cls.__subclasses__(), {}, {})


def _method(value: Any, name: str) -> Any:
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of Any
    return getattr(kind, name, None)


def _own_annotations(cls: Any) -> dict[str, Any]:
    """Return a class's annotations as written, text where they are text."""
    from inspect import get_annotations

    return get_annotations(cls)
