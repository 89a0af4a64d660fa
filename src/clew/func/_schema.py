"""JSON schemas of a workflow's input and value, from the annotations of its function."""

from __future__ import annotations

import typing
from typing import Any


def _hints(func: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(func, include_extras=True)
    except Exception:  # names that exist for type checkers only
        return dict(getattr(func, "__annotations__", {}))


def _schema(hint: Any) -> dict[str, Any]:
    if hint is Any or isinstance(hint, str):
        return {}
    from pydantic import TypeAdapter

    from clew.pregel._answers import _readable  # pyright: ignore[reportPrivateUsage] - one rule

    return TypeAdapter(_readable(hint)).json_schema()


def input_schema(func: Any) -> dict[str, Any]:
    """Return the schema of the first parameter."""
    first = func.__code__.co_varnames[0]
    return _schema(_hints(func).get(first, Any))


def output_schema(func: Any) -> dict[str, Any]:
    """Return the schema of the value: the first of `entrypoint.final[value, save]`."""
    hint = _hints(func).get("return", Any)
    if getattr(typing.get_origin(hint), "__name__", "") == "final":
        hint = typing.get_args(hint)[0]
    return _schema(hint)
