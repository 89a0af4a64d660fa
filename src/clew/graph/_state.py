"""What a graph's state is made of: one channel a key, and how a step's updates change them.

A state type (TypedDict, dataclass, pydantic model, or any other class for a state without keys) is read once, when
the graph is built. Values live in a plain dict; a key that was never written is absent.
Invariant: `apply` returns a new dict and never mutates a value.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from typing_extensions import ReadOnly

from clew.errors import InvalidUpdateError
from clew.types import Overwrite

ROOT = "__root__"
_WRAPPERS = (Required, NotRequired, ReadOnly)


class IsLastStep:
    """Annotate a bool key with it (`Annotated[bool, IsLastStep]`): true in the last step that the limit allows."""


class RemainingSteps:
    """Annotate an int key with it (`Annotated[int, RemainingSteps]`): how many steps the limit still allows."""


@dataclasses.dataclass(frozen=True, slots=True)
class Channel:
    """One key of the state.

    reducer: folds an update into the value; None means the update replaces it. empty: makes the value that the first
    update is folded into. managed: IsLastStep or RemainingSteps, filled in on reading and never written.
    """

    key: str
    reducer: Callable[[Any, Any], Any] | None = None
    empty: Callable[[], Any] | None = None
    managed: type | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """A state type as channels, and the way from values to what a node is given."""

    type: Any
    channels: dict[str, Channel]

    @property
    def is_root(self) -> bool:
        """True for a state without keys, which an update replaces as a whole."""
        return ROOT in self.channels

    def read(self, values: Mapping[str, Any], *, remaining: int = 0) -> Any:
        """Return the state as its type wants it. remaining: steps that the recursion limit still allows."""
        if self.is_root:
            return values.get(ROOT)
        state = {key: values[key] for key in self.channels if key in values}
        for key, channel in self.channels.items():
            if channel.managed is RemainingSteps:
                state[key] = remaining
            elif channel.managed is IsLastStep:
                state[key] = remaining <= 1
        return state if self.type is None or is_dict_like(self.type) else self.type(**state)


def schema_of(state_type: Any) -> Schema:
    """Read a state type. Raises: TypeError when its annotations can't be resolved."""
    hints = _hints(state_type)
    if not hints:
        return Schema(state_type, {ROOT: Channel(ROOT)})
    return Schema(state_type, {key: _channel(key, hint) for key, hint in hints.items()})


def is_dict_like(state_type: Any) -> bool:
    """True for TypedDicts and dict itself: nodes get a plain dict."""
    kind: Any = state_type
    return hasattr(kind, "__total__") or (isinstance(kind, type) and issubclass(kind, dict))


def _hints(state_type: Any) -> dict[str, Any]:
    if not isinstance(state_type, type) or state_type in {dict, list, str, int, float, object}:
        return {}
    try:
        return {
            key: hint
            for key, hint in get_type_hints(state_type, include_extras=True).items()
            if not key.startswith("_") and not key.startswith("model_")
        }
    except NameError as error:
        raise TypeError(f"an annotation of {state_type.__name__} can't be resolved: {error}") from error


def _channel(key: str, hint: Any) -> Channel:
    while get_origin(hint) in _WRAPPERS:
        hint = get_args(hint)[0]
    if get_origin(hint) is not Annotated:
        return Channel(key)
    inner, *extras = get_args(hint)
    for extra in reversed(extras):
        if extra is IsLastStep or extra is RemainingSteps:
            return Channel(key, managed=extra)
        if callable(extra) and not isinstance(extra, type):
            if not _takes_two(extra):
                raise ValueError(f"the reducer of {key!r} must take two positional arguments: (value, update)")
            return Channel(key, extra, _empty(inner))
    return Channel(key)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a builtin without a signature
        return True
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


_CONCRETE: dict[Any, Callable[[], Any]] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}


def _empty(hint: Any) -> Callable[[], Any] | None:
    kind = get_origin(hint) or hint
    kind = _CONCRETE.get(kind, kind)
    if not isinstance(kind, type):
        return None
    try:
        kind()
    except Exception:  # a class of the user's that can't be made without arguments: the first update is the value
        return None
    return kind


def apply(
    channels: Mapping[str, Channel], values: Mapping[str, Any], updates: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Fold one step's updates into the values.

    updates: (node, {key: update}) in the order in which they count.
    Returns: a new dict. Raises: InvalidUpdateError when two nodes write one plain key, or a key is unknown.
    """
    result = dict(values)
    writers: dict[str, tuple[int, str]] = {}
    fixed: set[str] = set()
    for number, (node, update) in enumerate(updates):
        for key, value in update.items():
            channel = channels.get(key)
            if channel is None or channel.managed is not None:
                raise InvalidUpdateError(
                    f"{node!r} wrote {key!r}, which is no key of the state; the state has {sorted(channels)}"
                )
            if isinstance(value, Overwrite):
                if key in fixed:
                    raise InvalidUpdateError(f"{key!r} was overwritten twice in one step, the second time by {node!r}")
                fixed.add(key)
                result[key] = value.value
            elif channel.reducer is None:
                if writers.setdefault(key, (number, node)) != (number, node):
                    raise InvalidUpdateError(
                        f"{writers[key][1]!r} and {node!r} both wrote {key!r} in one step; give the key a reducer, "
                        "as in Annotated[list, operator.add]"
                    )
                result[key] = value
            elif key not in fixed:
                result[key] = _fold(channel, result, value)
    return result


def _fold(channel: Channel, values: Mapping[str, Any], update: Any) -> Any:
    assert channel.reducer is not None
    if channel.key in values:
        return channel.reducer(values[channel.key], update)
    return update if channel.empty is None else channel.reducer(channel.empty(), update)


def start_values(channels: Mapping[str, Channel]) -> dict[str, Any]:
    """Return what a new thread holds before its first input: the empty value of every key with a reducer."""
    return {key: channel.empty() for key, channel in channels.items() if channel.reducer and channel.empty}


def as_update(value: Any, schema: Schema, node: str) -> dict[str, Any]:
    """Turn what a node returned into {key: update}. Raises: InvalidUpdateError for what is no update."""
    if value is None:
        return {}
    if schema.is_root:
        return {ROOT: value}
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    fields_set = getattr(value, "model_fields_set", None)
    if fields_set is not None:
        return {key: getattr(value, key) for key in fields_set}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise InvalidUpdateError(f"{node!r} must return a dict of updates (or None or a Command), got {value!r:.200}")
