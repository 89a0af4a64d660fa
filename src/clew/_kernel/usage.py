"""Add up token counts.

Providers report usage in three ways: as deltas to be added, as a running total of the answer so far, or once at the
end. `fold_usage` honours each report's mode: a running or final report replaces all before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_REQUIRED = ("input_tokens", "output_tokens", "total_tokens")


def combine(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None, sign: int = 1) -> dict[str, Any]:
    """Add (or with sign=-1 subtract, never below 0) counts, details included."""
    left = left or {}
    right = right or {}
    out: dict[str, Any] = {}
    for key in [*_REQUIRED, *(k for k in left if k not in _REQUIRED)]:
        a, b = left.get(key), right.get(key)
        if isinstance(a, dict) or isinstance(b, dict):
            out[key] = _combine_details(a, b, sign)
        else:
            out[key] = _number(a, b, sign)
            if out[key] is None and key in _REQUIRED:
                out[key] = 0
    for key, b in right.items():
        if key not in out:
            out[key] = _combine_details(None, b, sign) if isinstance(b, dict) else _number(None, b, sign)
    return out


def _combine_details(left: Any, right: Any, sign: int) -> dict[str, Any]:
    a = cast("dict[str, Any]", left) if isinstance(left, dict) else {}
    b = cast("dict[str, Any]", right) if isinstance(right, dict) else {}
    return {key: _number(a.get(key), b.get(key), sign) for key in dict.fromkeys([*a, *b])}


def _number(left: Any, right: Any, sign: int) -> Any:
    if not isinstance(left, (int, float)) and not isinstance(right, (int, float)):
        return right if right is not None else left
    a = left if isinstance(left, (int, float)) else 0
    b = right if isinstance(right, (int, float)) else 0
    return a + b if sign > 0 else max(a - b, 0)


def replace(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return the right report, with the details that only the left one has."""
    out = {**left, **right}
    for key, value in left.items():
        if isinstance(value, dict) and isinstance(right.get(key), dict):
            out[key] = {**value, **right[key]}
    return out


def fold_usage(reports: Iterable[tuple[Mapping[str, Any], str]]) -> tuple[dict[str, Any] | None, str]:
    """Fold (usage, mode) pairs, oldest first, into one.

    mode: "delta" is added; "running" and "final" replace what came before.
    Returns: (usage or None, the mode of the sum).
    """
    total: dict[str, Any] | None = None
    mode = "delta"
    for usage, kind in reports:
        if total is None:
            total, mode = dict(usage), kind
        elif kind == "delta":
            total = combine(total, usage)
        else:
            total, mode = replace(total, usage), kind
    return total, mode
