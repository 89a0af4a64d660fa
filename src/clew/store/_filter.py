"""Filters over stored values, compiled once per search into a predicate.

    {"kind": "note"}                         the key is there and equal
    {"n": {"$gte": 4, "$lt": 9}}             $eq $ne $gt $gte $lt $lte $in $nin $exists $contains
    {"$or": [{"kind": "a"}, {"$not": {"kind": "b"}}]}    $and $or $not

A condition on a key that is not there matches nothing ($exists: False asks for just that). A name with dots reaches
inside when no key is called so. Nothing of a filter ever becomes part of a query's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

Predicate = Callable[[Mapping[str, Any]], bool]
_MISSING = object()


def compile_filter(filter: Mapping[str, Any] | None) -> Predicate | None:
    """Return a predicate over values, or None when every value passes.

    Raises: ValueError for an unknown operator or an operand of the wrong kind.
    """
    if not filter:
        return None
    tests = [_clause(name, wanted) for name, wanted in filter.items()]
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _clause(name: str, wanted: Any) -> Predicate:
    if name in ("$and", "$or"):
        parts = [compile_filter(one) or _everything for one in _listed(name, wanted)]
        join = all if name == "$and" else any
        return lambda value: join(part(value) for part in parts)
    if name == "$not":
        inner = compile_filter(wanted) or _everything
        return lambda value: not inner(value)
    if name.startswith("$"):
        raise ValueError(
            f"unknown operator {name!r} in a filter; there are $and, $or, $not and {', '.join(_OPERATORS)}"
        )
    if _has_operators(wanted):
        checks = _checks(wanted)
        return lambda value: all(check(_at(value, name)) for check in checks)
    return lambda value: same(_at(value, name), wanted)


def _listed(operator: str, operand: Any) -> list[Any]:
    if not isinstance(operand, (list, tuple, set, frozenset)) or (operator in ("$and", "$or") and not operand):
        raise ValueError(f"{operator} takes a list, not {operand!r}")
    return list(cast("list[Any]", operand))


def _checks(operators: Any) -> list[Callable[[Any], bool]]:
    return [_check(operator, operand) for operator, operand in operators.items()]


def _everything(_: Mapping[str, Any]) -> bool:
    return True


def _check(operator: str, operand: Any) -> Callable[[Any], bool]:
    if operator == "$exists":
        return lambda found: (found is not _MISSING) is bool(operand)
    if operator in ("$in", "$nin"):
        operand = _listed(operator, operand)
    if operator == "$not":
        inner = _checks(operand if isinstance(operand, Mapping) else {"$eq": operand})
        return lambda found: found is not _MISSING and not all(check(found) for check in inner)
    test = _OPERATORS.get(operator)
    if test is None:
        raise ValueError(f"unknown operator {operator!r} in a filter; there are {', '.join(_OPERATORS)}, $exists, $not")
    return lambda found: found is not _MISSING and test(found, operand)


def same(found: Any, wanted: Any) -> bool:
    """Whether two values are equal, without taking True for 1."""
    if found is _MISSING or isinstance(found, bool) is not isinstance(wanted, bool):
        return False
    try:
        return bool(found == wanted)
    except Exception:  # an array, or a class whose == raises
        return False


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def test(found: Any, operand: Any) -> bool:
        if isinstance(found, bool) is not isinstance(operand, bool):
            return False
        try:
            return bool(compare(found, operand))
        except TypeError:  # text against a number: neither is greater
            return False

    return test


def _contains(found: Any, operand: Any) -> bool:
    if isinstance(found, str):
        return isinstance(operand, str) and operand in found
    if isinstance(found, (list, tuple, set, frozenset, dict)):
        return any(same(one, operand) for one in found)  # pyright: ignore[reportUnknownVariableType] - any container
    return False


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": same,
    "$ne": lambda found, wanted: not same(found, wanted),
    "$gt": _ordered(lambda a, b: a > b),
    "$gte": _ordered(lambda a, b: a >= b),
    "$lt": _ordered(lambda a, b: a < b),
    "$lte": _ordered(lambda a, b: a <= b),
    "$in": lambda found, options: any(same(found, one) for one in options),
    "$nin": lambda found, options: not any(same(found, one) for one in options),
    "$contains": _contains,
}


def _has_operators(wanted: Any) -> bool:
    keys = cast("Mapping[Any, Any]", wanted) if isinstance(wanted, Mapping) else ()
    return any(isinstance(key, str) and key.startswith("$") for key in keys)


def _at(value: Any, name: str) -> Any:
    """Return what a field name leads to, or _MISSING."""
    if name in value:
        return value[name]
    found: Any = value
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return _MISSING
        found = cast("Mapping[str, Any]", found)[part]
    return found
