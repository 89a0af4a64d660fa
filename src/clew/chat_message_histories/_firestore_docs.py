"""How the rows of one write become Firestore documents, and back.

A write is one document, or, when it is bigger than a document may be, that document and further ones that hold the
rest of its text. The first document is what counts: it is written last.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from clew.chat_message_histories._codec import bound_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PARTS", "WRITES", "document_id", "documents", "part_id", "rows_of"]

WRITES, PARTS = "writes", "parts"  # subcollections of a session's document
_LONGEST = 1400  # bytes of an id; the service takes 1500
_ROOM = 700_000  # bytes of text in one document; the service takes 1 MiB with names and indexes


def document_id(text: str) -> str:
    """Return a legal document id for any text; an ordinary one is returned as it is.

    Slashes are escaped, dots alone and names in double underscores too; what is longer than an id may be is hashed.
    """
    escaped = bound_text(text).replace("%", "%25").replace("/", "%2F")
    if escaped in ("", ".", "..") or (escaped.startswith("__") and escaped.endswith("__")):
        escaped = "%" + escaped
    if len(escaped.encode()) > _LONGEST:
        return "%%" + hashlib.sha256(escaped.encode()).hexdigest()
    return escaped


def part_id(write_id: str, place: int) -> str:
    """Return the id of the document that holds a further part of a write."""
    return f"{write_id}.{place}"


def documents(rows: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what the first document of a write holds, and the texts of its further parts."""
    size = sum(len(row.encode()) for row in rows)
    if size <= _ROOM:
        return {"rows": rows, "count": len(rows), "parts": 0}, []
    text = json.dumps(rows)  # ASCII: one byte a character, so it may be cut anywhere
    parts = [text[start : start + _ROOM] for start in range(0, len(text), _ROOM)]
    return {"rows": [], "count": len(rows), "parts": len(parts)}, parts


def rows_of(head: dict[str, Any], parts: Iterable[str]) -> list[str]:
    """Return the rows of a write."""
    return head["rows"] if not head["parts"] else json.loads("".join(parts))
