"""Types of the standard library (and numpy) that msgpack lacks: one code each.

A handler turns a value into simpler data and back. Groups are loaded by the module a value comes from, or by the code
that is read, so that nobody pays for modules that nobody uses. Codes are stored for ever: never reuse one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

TUPLE, SET, FROZENSET, BIG_INT, COMPLEX, PAIRS, BYTEARRAY, RANGE, SLICE, RAW_STR, ELLIPSIS = range(1, 12)
DATETIME, DATE, TIME, TIMEDELTA, TIMEZONE, ZONE = range(20, 26)
UUID, DECIMAL, FRACTION, PATTERN, PATH, IP = range(30, 36)
DEQUE, DEFAULTDICT, COUNTER, ORDERED_DICT = range(40, 44)
ARRAY, SCALAR = range(50, 52)
OBJECT, ERROR, MESSAGE, MESSAGE_FIELDS = range(60, 64)


class Handler(NamedTuple):
    """take(value) -> data, build(data) -> value. nested: whether the data may hold values of any type."""

    code: int
    take: Callable[[Any], Any]
    build: Callable[[Any], Any]
    nested: bool = False


class Unfit(Exception):
    """A value of a known type that can't be kept all the same; args[0] says why."""


by_type: dict[type[Any], Handler] = {}
by_code: dict[int, Handler] = {}


def add(
    cls: type[Any], code: int, take: Callable[[Any], Any], build: Callable[[Any], Any], *, nested: bool = False
) -> None:
    """Make a handler known."""
    handler = Handler(code, take, build, nested)
    by_type[cls] = handler
    by_code.setdefault(code, handler)


def flat(mapping: Any) -> list[Any]:
    """Return key, value, key, value …: for keys that msgpack has no room for."""
    pairs: list[Any] = []
    for pair in mapping.items():
        pairs.extend(pair)
    return pairs


def unflat(pairs: list[Any]) -> dict[Any, Any]:
    """Undo `flat`."""
    each = iter(pairs)
    return dict(zip(each, each, strict=True))


def in_order(elements: Any) -> list[Any]:
    """Return the elements of a set in an order that does not change from process to process, as its own does."""
    kinds = set(map(type, elements))
    if len(kinds) == 1 and kinds <= {int, str, bytes}:
        return sorted(elements)
    return sorted(elements, key=_spelled)


def _spelled(value: Any) -> tuple[str, str]:
    return type(value).__qualname__, repr(value)


def int_bytes(value: int) -> bytes:
    """Return an int of any size in two's complement."""
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _slice(data: list[Any]) -> slice:
    return slice(*data)


add(tuple, TUPLE, list, tuple, nested=True)
add(set, SET, in_order, set, nested=True)
add(frozenset, FROZENSET, in_order, frozenset, nested=True)
add(int, BIG_INT, int_bytes, lambda data: int.from_bytes(data, "big", signed=True))
add(complex, COMPLEX, lambda value: [value.real, value.imag], lambda data: complex(*data))
add(dict, PAIRS, flat, unflat, nested=True)
add(bytearray, BYTEARRAY, bytes, bytearray)
add(range, RANGE, lambda value: [value.start, value.stop, value.step], lambda data: range(*data), nested=True)
add(slice, SLICE, lambda value: [value.start, value.stop, value.step], _slice, nested=True)
add(
    str,
    RAW_STR,
    lambda value: value.encode("utf-8", "surrogatepass"),
    lambda data: data.decode("utf-8", "surrogatepass"),
)
add(type(Ellipsis), ELLIPSIS, lambda _: None, lambda _: Ellipsis)
