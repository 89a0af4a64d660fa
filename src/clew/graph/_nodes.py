"""Nodes and branches: what the user gave, read once when the graph is built.

A node's callable is told by its signature what to pass beside the state: a second parameter named (or annotated)
config or runtime, and keyword parameters config, store, writer, previous, runtime. Nothing is inspected per call.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from clew.graph._plan import END, Target
from clew.graph._state import Schema
from clew.runnables import Runnable
from clew.types import CachePolicy, Command, RetryPolicy, Send, TimeoutPolicy


@dataclasses.dataclass(slots=True)
class Policies:
    """What may be set for one node or as the default of all."""

    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None
    cache_policy: CachePolicy | None = None
    error_handler: Callable[..., Any] | None = None
    timeout: Any | TimeoutPolicy | None = None

    def over(self, defaults: Policies) -> Policies:
        """Return these policies, with the defaults where one is unset."""
        fields = dataclasses.fields(self)
        return Policies(**{
            f.name: getattr(defaults, f.name) if getattr(self, f.name) is None else getattr(self, f.name)
            for f in fields
        })


@dataclasses.dataclass(slots=True)
class Branch:
    """A function or Runnable that chooses the next nodes from the state.

    path: state -> node name, Send, or a list of them; mapped through `ends` where one is given.
    """

    path: Any
    name: str
    ends: dict[Hashable, str] | None = None

    def targets(self, chosen: Any) -> list[Target]:
        """Turn what the path returned into targets. Raises: ValueError for a choice that `ends` does not name."""
        choices: list[Any] = list(chosen) if isinstance(chosen, (list, tuple)) else [chosen]  # pyright: ignore[reportUnknownArgumentType] - what users return
        return [self._target(choice) for choice in choices]

    def _target(self, choice: Any) -> Target:
        if isinstance(choice, Send):
            return choice
        if self.ends is not None and choice in self.ends:
            return self.ends[choice]
        if self.ends is None and isinstance(choice, str):
            return choice
        known = sorted(map(str, self.ends)) if self.ends is not None else "a node name or a Send"
        raise ValueError(f"the branch {self.name!r} returned {choice!r}; it may return {known}")


@dataclasses.dataclass(slots=True)
class Node:
    """One node of the graph.

    action: function or Runnable. input: what it is given. destinations: where its Commands may lead, for drawing.
    """

    name: str
    action: Any
    input: Schema
    policies: Policies
    defer: bool = False
    metadata: dict[str, Any] | None = None
    destinations: tuple[str, ...] = ()
    branches: list[Branch] = dataclasses.field(default_factory=list[Branch])


def name_of(action: Any) -> str:
    """Return the name a node gets from its function or Runnable. Raises: ValueError when it has none."""
    if isinstance(action, Runnable):
        return action.get_name()  # pyright: ignore[reportUnknownMemberType]
    name = getattr(action, "__name__", None) or type(action).__name__
    if name == "<lambda>":
        raise ValueError("a lambda has no name: add_node('name', lambda state: ...)")
    return name


def input_type_of(action: Any) -> Any | None:
    """Return the class that a node's first parameter is annotated with, when it describes a state."""
    hints = hints_of(action)
    function = action if inspect.isroutine(action) else getattr(action, "__call__", None)  # noqa: B004
    if not hints or function is None:
        return None
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        return None
    hint: Any = hints.get(first.name) if first is not None else None
    if not isinstance(hint, type):
        return None
    kind: Any = hint
    describes = dataclasses.is_dataclass(kind) or hasattr(kind, "__total__") or hasattr(kind, "model_fields")
    return kind if describes else None


def destinations_of(action: Any) -> tuple[str, ...]:
    """Return the node names in a return annotation such as `Command[Literal["a", "b"]]`."""
    hint = hints_of(action).get("return")
    options = [hint, *get_args(hint)]
    names: list[str] = []
    for option in options:
        if get_origin(option) is Command:
            names += [name for literal in get_args(option) for name in get_args(literal) if isinstance(name, str)]
    return tuple(dict.fromkeys(names))


def branch_ends(path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None) -> dict[Hashable, str] | None:
    """Return where a branch may lead: the map given, else the names in its Literal return annotation, else None."""
    if isinstance(path_map, Mapping):
        return dict(path_map)
    if path_map is not None:
        return {name: name for name in path_map}
    hint = hints_of(path).get("return")
    if get_origin(hint) is Literal:
        return {name: (END if name == END else name) for name in get_args(hint)}
    return None


def hints_of(action: Any) -> dict[str, Any]:
    """Return a callable's type hints; {} when it has none or they name what can't be resolved here."""
    function: Any = action
    if not inspect.isroutine(action):
        function = getattr(cast("Any", type(action)), "__call__", None)  # noqa: B004
        if hasattr(action, "invoke"):
            function = getattr(action, "func", None) or getattr(action, "afunc", None)
    try:
        return get_type_hints(function) if function is not None else {}
    except Exception:  # hints are a help for drawing and for input types, never a need
        return {}
