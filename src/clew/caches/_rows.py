"""Rows of the caches that we write: the key of a request and the bytes of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._serde import decode, encode
from clew.errors import DeserializationError, SerializationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.outputs import ChatGeneration, Generation

FORMAT = b"1"  # part of every key: rows of another format are other rows


def digest(prompt: str, llm_string: str) -> bytes:
    """Return the 32-byte key of a request."""
    import hashlib

    state = hashlib.sha256(prompt.encode("utf-8", "surrogatepass"))
    state.update(b"\0" + llm_string.encode("utf-8", "surrogatepass") + b"\0" + FORMAT)
    return state.digest()


def pack(generations: Sequence[Generation | ChatGeneration]) -> bytes | None:
    """Return generations as bytes, or None (with a warning in the log) when they hold something that can't be saved."""
    try:
        return encode(list(generations))
    except SerializationError as error:
        import logging

        logging.getLogger("clew.caches").warning("an answer is not cached: %s", error)
        return None


def unpack(row: bytes) -> list[Any] | None:
    """Return the generations of a row, or None when it can't be read: a miss, to be overwritten."""
    try:
        value: Any = decode(row)
    except (DeserializationError, ValueError) as error:
        import logging

        logging.getLogger("clew.caches").warning("an unreadable cache row counts as a miss: %s", error)
        return None
    return cast("list[Any]", value) if isinstance(value, list) else None
