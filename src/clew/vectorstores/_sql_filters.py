"""Conditions on metadata as SQL over a JSON column, every key and value a bound parameter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

if TYPE_CHECKING:
    from clew.vectorstores._filters import Condition

__all__ = ["Postgres", "Sqlite", "where"]

_SIGN = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Dialect(Protocol):
    """How one database reads a JSON column; each method returns SQL and its parameters."""

    def exists(self, path: tuple[str, ...]) -> tuple[str, list[Any]]: ...

    def compare(self, path: tuple[str, ...], sign: str, value: Any) -> tuple[str, list[Any]]: ...


def where(condition: Condition, dialect: Dialect) -> tuple[str, list[Any]]:
    """Return a condition as an SQL expression that is never NULL, and its parameters."""
    name = condition.operator
    if name in ("$and", "$or"):
        parts = [where(part, dialect) for part in condition.parts]
        joined = (" AND " if name == "$and" else " OR ").join(sql for sql, _ in parts)
        empty = "TRUE" if name == "$and" else "FALSE"
        return f"({joined or empty})", [value for _, values in parts for value in values]
    if name == "$not":
        sql, values = where(condition.parts[0], dialect)
        return f"(NOT {sql})", values
    if name == "$exists":
        sql, values = dialect.exists(condition.path)
        return (sql if condition.value else f"(NOT {sql})"), values
    if name in ("$ne", "$nin"):
        positive = condition._replace(operator="$eq" if name == "$ne" else "$in")
        sql, values = where(positive, dialect)
        return f"(NOT {sql})", values
    if name == "$in":
        parts = [dialect.compare(condition.path, "=", item) for item in condition.value]
        return "(" + (" OR ".join(sql for sql, _ in parts) or "FALSE") + ")", [v for _, values in parts for v in values]
    return dialect.compare(condition.path, _SIGN[name], condition.value)


class Sqlite:
    """SQLite's JSON functions over the column `metadata`."""

    _TYPES: ClassVar[dict[Any, str]] = {
        str: "('text')",
        bool: "('true', 'false')",
        int: "('integer', 'real')",
        float: "('integer', 'real')",
    }

    def exists(self, path: tuple[str, ...]) -> tuple[str, list[Any]]:
        return "(json_type(metadata, ?) IS NOT NULL)", [_sqlite_path(path)]

    def compare(self, path: tuple[str, ...], sign: str, value: Any) -> tuple[str, list[Any]]:
        place = _sqlite_path(path)
        if value is None:
            return ("(json_type(metadata, ?) IS 'null')", [place]) if sign == "=" else ("FALSE", [])
        kinds = self._TYPES.get(cast("Any", type(value)))
        if kinds is None:  # a list or dict: equal as JSON, in one spelling
            if sign != "=":
                return "FALSE", []
            return "coalesce(json_extract(metadata, ?) = json(?), FALSE)", [place, json.dumps(value)]
        test = f"json_type(metadata, ?) IN {kinds} AND json_extract(metadata, ?) {sign} ?"
        return f"coalesce({test}, FALSE)", [place, place, int(value) if isinstance(value, bool) else value]


def _sqlite_path(path: tuple[str, ...]) -> str:
    """Return a JSON path whose keys are quoted: a key is a key, whatever is in it.

    Raises: ValueError for a key with a double quote or backslash, which such a path can't say.
    """
    for key in path:
        if '"' in key or "\\" in key:
            raise ValueError(f"a metadata key with a quote or backslash can't be filtered by: {key!r}")
    return "$" + "".join(f'."{key}"' for key in path)


class Postgres:
    """Postgres's jsonb operators over the column `metadata`."""

    _TYPES: ClassVar[dict[Any, str]] = {str: "string", bool: "boolean", int: "number", float: "number"}

    def exists(self, path: tuple[str, ...]) -> tuple[str, list[Any]]:
        return "((metadata #> %s::text[]) IS NOT NULL)", [list(path)]

    def compare(self, path: tuple[str, ...], sign: str, value: Any) -> tuple[str, list[Any]]:
        kind = self._TYPES.get(cast("Any", type(value)))
        if sign == "=" or kind is None:
            if sign != "=":
                return "FALSE", []
            return "coalesce((metadata #> %s::text[]) = %s::jsonb, FALSE)", [list(path), json.dumps(value)]
        given = "(metadata #>> %s::text[])"
        if kind == "string":
            test, parameter = f'{given} COLLATE "C" {sign} %s::text', str(value)
        elif kind == "number":
            test, parameter = f"{given}::numeric {sign} %s::numeric", repr(value)
        else:
            return "FALSE", []
        # CASE, since SQL may compute the cast before it looks at the type
        return (
            f"(CASE WHEN jsonb_typeof(metadata #> %s::text[]) = '{kind}' THEN {test} ELSE FALSE END)",
            [list(path), list(path), parameter],
        )
