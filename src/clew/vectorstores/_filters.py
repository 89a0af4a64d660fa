"""Conditions on metadata: one language, read here, applied in Python or said in SQL with every value bound.

    {"lang": "en"}                                   equal
    {"year": {"$gte": 2020, "$lt": 2024}}            $eq $ne $gt $gte $lt $lte
    {"lang": {"$in": ["en", "fr"]}}                  $in $nin
    {"author": {"$exists": False}}                   is the key there
    {"$or": [{…}, {…}]}, {"$and": […]}, {"$not": {…}}
    {"place.city": "Oslo"}                           a dot goes into a nested dict

A comparison with a key that is not there, or of values that can't be compared, is false (so `$ne` and `$nin` are true).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Condition", "matches", "parse"]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_SINGLE = ("$eq", "$ne", *_ORDER)
_ABSENT: Any = object()


class Condition(NamedTuple):
    """One node of a filter: `and`, `or`, `not` over `parts`, or an operator on a `path` of keys with a `value`."""

    operator: str
    path: tuple[str, ...] = ()
    value: Any = None
    parts: tuple[Condition, ...] = ()


def parse(given: Mapping[str, Any]) -> Condition:
    """Read a filter.

    Raises: ValueError naming what is not understood: nothing is passed over in silence.
    """
    parts: list[Condition] = []
    for key, value in given.items():
        if key in ("$and", "$or"):
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"{key} takes a list of filters, not {value!r}")
            parts.append(Condition(key, parts=tuple(parse(item) for item in cast("list[Any]", value))))
        elif key == "$not":
            parts.append(Condition("$not", parts=(parse(value),)))
        elif key.startswith("$"):
            raise ValueError(f"unknown operator {key!r}: use $and, $or, $not, or the name of a metadata key")
        else:
            parts.extend(_of_key(tuple(key.split(".")), value))
    return parts[0] if len(parts) == 1 else Condition("$and", parts=tuple(parts))


def _of_key(path: tuple[str, ...], value: Any) -> list[Condition]:
    if not isinstance(value, dict) or not any(str(key).startswith("$") for key in cast("dict[Any, Any]", value)):
        return [Condition("$eq", path, value)]
    found: list[Condition] = []
    for name, operand in cast("dict[str, Any]", value).items():
        if name in ("$in", "$nin"):
            if not isinstance(operand, (list, tuple, set, frozenset)):
                raise ValueError(f"{name} takes a list, not {operand!r}")
            found.append(Condition(name, path, list(cast("list[Any]", operand))))
        elif name in _SINGLE or name == "$exists":
            found.append(Condition(name, path, operand))
        else:
            raise ValueError(f"unknown operator {name!r} for {'.'.join(path)!r}")
    return found


def matches(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Tell whether metadata meets a condition."""
    name = condition.operator
    if name == "$and":
        return all(matches(part, metadata) for part in condition.parts)
    if name == "$or":
        return any(matches(part, metadata) for part in condition.parts)
    if name == "$not":
        return not matches(condition.parts[0], metadata)
    found = _found(metadata, condition.path)
    if name == "$exists":
        return (found is not _ABSENT) == bool(condition.value)
    if name in ("$ne", "$nin"):
        return not _holds("$eq" if name == "$ne" else "$in", found, condition.value)
    return _holds(name, found, condition.value)


def _holds(name: str, found: Any, value: Any) -> bool:
    if found is _ABSENT:
        return False
    if name == "$eq":
        return _equal(found, value)
    if name == "$in":
        return any(_equal(found, item) for item in value)
    if type(found) is not type(value) and not (_is_number(found) and _is_number(value)):
        return False
    try:
        return bool(_ORDER[name](found, value))
    except TypeError:
        return False


def _equal(found: Any, value: Any) -> bool:
    """Equal, and of one kind: True is not 1 here, as it is not in JSON."""
    return found == value and isinstance(found, bool) == isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _found(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    here: Any = metadata
    for key in path:
        if not isinstance(here, dict) or key not in here:
            return _ABSENT
        here = cast("dict[str, Any]", here)[key]
    return here
