"""Ids of messages."""

from __future__ import annotations

from clew._ids import new_id


def ensure_id(id_val: str | None) -> str:
    """Return the id, or a new one that shows it was made up."""
    return id_val or f"lc_{new_id()}"
