"""The handlers that need a module: dates, numbers, paths, collections, numpy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from clew._serde import _types as T
from clew._serde._types import Unfit, add, flat, unflat

if TYPE_CHECKING:
    from collections.abc import Callable


def _dates() -> None:
    from datetime import date, datetime, time, timedelta, timezone

    def moment_up(kind: Any) -> Callable[[Any], Any]:
        return lambda data: kind.fromisoformat(data[0]).replace(fold=data[1], tzinfo=_zone_up(data[2]))

    def moment_down(value: Any) -> Any:
        return [value.replace(tzinfo=None).isoformat(), value.fold, _zone_down(value.tzinfo)]

    def span_down(value: timedelta) -> Any:
        return [value.days, value.seconds, value.microseconds]

    def span_up(data: Any) -> timedelta:
        return timedelta(*data)

    add(datetime, T.DATETIME, moment_down, moment_up(datetime))
    add(date, T.DATE, date.isoformat, date.fromisoformat)
    add(time, T.TIME, moment_down, moment_up(time))
    add(timedelta, T.TIMEDELTA, span_down, span_up)
    add(timezone, T.TIMEZONE, _zone_down, _zone_up)


def _zone_down(zone: Any) -> Any:
    """Return a time zone as data: None, 0 for UTC, [days, seconds, microseconds, name], or the key of a ZoneInfo."""
    from datetime import UTC, timezone

    if zone is None or zone is UTC:
        return None if zone is None else 0
    if type(zone) is timezone:
        offset, name = zone.utcoffset(None), zone.tzname(None)
        named = None if name == str(timezone(offset)) else name
        return [offset.days, offset.seconds, offset.microseconds, named]
    key = getattr(zone, "key", None)
    if type(zone).__module__.split(".")[0] == "zoneinfo" and isinstance(key, str):
        return key
    raise Unfit(f"its time zone {zone!r} has no name: use datetime.timezone or zoneinfo.ZoneInfo(key)")


def _zone_up(data: Any) -> Any:
    from datetime import UTC, timedelta, timezone

    if data is None or data == 0:
        return None if data is None else UTC
    if isinstance(data, str):
        from zoneinfo import ZoneInfo

        return ZoneInfo(data)
    offset = timedelta(*data[:3])
    return timezone(offset) if data[3] is None else timezone(offset, data[3])


def _zones() -> None:
    from zoneinfo import ZoneInfo

    def down(value: Any) -> Any:
        if value.key is None:
            raise Unfit("a ZoneInfo without a key can't be found again")
        return value.key

    add(ZoneInfo, T.ZONE, down, lambda data: ZoneInfo(data))


def _uuids() -> None:
    from uuid import UUID

    add(UUID, T.UUID, lambda value: value.bytes, lambda data: UUID(bytes=data))


def _decimals() -> None:
    from decimal import Decimal

    add(Decimal, T.DECIMAL, str, Decimal)


def _fractions() -> None:
    from fractions import Fraction

    add(Fraction, T.FRACTION, str, Fraction)


def _patterns() -> None:
    import re

    add(re.Pattern, T.PATTERN, lambda value: [value.pattern, value.flags], lambda data: re.compile(*data))


def _paths() -> None:
    import pathlib

    kinds: list[Any] = [
        pathlib.PurePosixPath,
        pathlib.PureWindowsPath,
        pathlib.PosixPath,
        pathlib.WindowsPath,
    ]
    foreign = {3: pathlib.PureWindowsPath} if sys.platform != "win32" else {2: pathlib.PurePosixPath}

    def up(data: Any) -> Any:
        kind: Any = foreign.get(data[0]) or kinds[data[0]]
        return kind(data[1])

    for number, kind in enumerate(kinds):
        add(kind, T.PATH, lambda value, number=number: [number, str(value)], up)


def _addresses() -> None:
    import ipaddress

    names = ["IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "IPv4Interface", "IPv6Interface"]
    kinds = [getattr(ipaddress, name) for name in names]
    for number, kind in enumerate(kinds):
        add(
            kind,
            T.IP,
            lambda value, number=number: [number, str(value)],
            lambda data: kinds[data[0]](data[1]),
        )


def _collections() -> None:
    from collections import Counter, OrderedDict, defaultdict, deque

    plain: list[Any] = [list, dict, set, int, str, float, tuple, bool, frozenset, bytes, bytearray, complex]
    factories: dict[str | None, Any] = {one.__name__: one for one in [*plain, deque, OrderedDict, Counter]}
    factories[None] = None
    names = {factory: name for name, factory in factories.items()}

    def default_down(value: Any) -> Any:
        factory = value.default_factory
        try:
            return [names[factory], *flat(value)]
        except (KeyError, TypeError):
            raise Unfit(f"its default_factory {factory!r} is code: use a builtin type, or a plain dict") from None

    def counter_up(data: Any) -> Any:
        return Counter(unflat(data))  # a mapping's values are taken as counts, whatever they are

    add(
        deque,
        T.DEQUE,
        lambda value: [value.maxlen, *value],
        lambda data: deque(data[1:], data[0]),
        nested=True,
    )
    add(
        defaultdict,
        T.DEFAULTDICT,
        default_down,
        lambda d: defaultdict(factories[d[0]], unflat(d[1:])),
        nested=True,
    )
    add(Counter, T.COUNTER, flat, counter_up, nested=True)
    add(OrderedDict, T.ORDERED_DICT, flat, lambda data: OrderedDict(unflat(data)), nested=True)


def _numpy() -> None:
    from clew._lazy import need

    np: Any = need("numpy", "embeddings", "a stored numpy value")

    def describe(dtype: Any) -> Any:
        if dtype.hasobject:
            raise Unfit("arrays of Python objects have no data form: use a list")
        return dtype.str if dtype.names is None else _rows(dtype.descr)

    def revive(data: Any) -> Any:
        dtype = np.dtype(data if isinstance(data, str) else _tuples(data))
        if dtype.hasobject:
            raise ValueError("an array of objects in stored data")
        return dtype

    def array_down(value: Any) -> Any:
        column_major = value.flags.f_contiguous and not value.flags.c_contiguous
        order = "F" if column_major else "C"
        return [describe(value.dtype), list(value.shape), order, value.tobytes(order)]

    def array_up(data: Any) -> Any:
        dtype, shape, order, raw = data
        return np.frombuffer(raw, revive(dtype)).reshape(shape, order=order).copy(order)

    def scalar_up(data: Any) -> Any:
        return np.frombuffer(data[1], revive(data[0]))[0]

    add(np.ndarray, T.ARRAY, array_down, array_up)
    scalars = {one for kinds in np._core.sctypes.values() for one in kinds} if hasattr(np, "_core") else set[Any]()
    scalars |= {np.bool_, np.datetime64, np.timedelta64, np.str_, np.bytes_}
    for kind in scalars:
        if issubclass(kind, np.generic) and kind is not np.object_ and kind is not np.void:
            add(kind, T.SCALAR, lambda value: [value.dtype.str, value.tobytes()], scalar_up)


def _rows(descr: Any) -> list[list[Any]]:
    """Return the description of a structured dtype without tuples."""
    return [[row[0], _rows(row[1]) if isinstance(row[1], list) else row[1], *row[2:]] for row in descr]


def _tuples(rows: Any) -> list[tuple[Any, ...]]:
    """Undo `_rows`; shapes of fields are tuples too."""
    return [
        (row[0], _tuples(row[1]) if isinstance(row[1], list) else row[1], *(tuple(one) for one in row[2:]))
        for row in rows
    ]  # fmt: skip


_LOADERS = {
    "datetime": _dates, "zoneinfo": _zones, "uuid": _uuids, "decimal": _decimals, "fractions": _fractions,
    "re": _patterns, "pathlib": _paths, "ipaddress": _addresses, "collections": _collections, "numpy": _numpy,
}  # fmt: skip
_BY_CODE = {
    T.DATETIME: "datetime", T.DATE: "datetime", T.TIME: "datetime", T.TIMEDELTA: "datetime", T.TIMEZONE: "datetime",
    T.ZONE: "zoneinfo", T.UUID: "uuid", T.DECIMAL: "decimal", T.FRACTION: "fractions", T.PATTERN: "re",
    T.PATH: "pathlib", T.IP: "ipaddress", T.DEQUE: "collections", T.DEFAULTDICT: "collections",
    T.COUNTER: "collections", T.ORDERED_DICT: "collections", T.ARRAY: "numpy", T.SCALAR: "numpy",
}  # fmt: skip
_loaded: set[str] = set()


def load_for_type(cls: type[Any]) -> bool:
    """Load the handlers of a type's module; return whether that was news."""
    return _load(cls.__module__.split(".", 1)[0])


def load_for_code(code: int) -> bool:
    """Load the handlers behind a code; return whether that was news."""
    group = _BY_CODE.get(code)
    return group is not None and _load(group)


def _load(group: str) -> bool:
    if group in _loaded or group not in _LOADERS:
        return False
    _LOADERS[group]()
    _loaded.add(group)
    return True
