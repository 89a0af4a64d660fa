"""Names of tables and columns as SQL text: always quoted, so a name is a name and never a statement."""

from __future__ import annotations

__all__ = ["quoted"]


def quoted(name: str, mark: str = '"') -> str:
    """Return an SQL identifier for any name.

    mark: the dialect's quote. Raises: ValueError for an empty name or one with a NUL.
    """
    if not name or "\x00" in name:
        raise ValueError(f"{name!r} can't be the name of a table or column")
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"
