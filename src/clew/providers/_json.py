"""JSON values as wires bring them: checks that type checkers follow, and stand-ins for what is left out."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeIs

JSON = dict[str, Any]

EMPTY: Any = {}
"""Stands for an object that a reply left out; only read."""
NOTHING: Any = ()
"""Stands for a list that a reply left out."""


def is_object(value: Any) -> TypeIs[JSON]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeIs[list[Any]]:
    """Tell whether a value is a JSON array."""
    return isinstance(value, list)
