"""How stores on servers and files spell namespaces: bytes, one label after the other, each ended by a dot.

Labels hold no dots, so what lies below ("t", "a") is exactly the range of spellings that begin with b"t.a.". Bytes
keep NUL and half surrogate pairs, which no text column takes.
"""

from __future__ import annotations

from clew.store._engine import Record


def to_bytes(text: str) -> bytes:
    """Return text as bytes, whatever it holds."""
    return text.encode("utf-8", "surrogatepass")


def to_text(raw: bytes) -> str:
    """Undo `to_bytes`."""
    return raw.decode("utf-8", "surrogatepass")


def spell(namespace: tuple[str, ...]) -> bytes:
    """Return the spelling of a namespace."""
    return b"".join(to_bytes(label) + b"." for label in namespace)


def unspell(raw: bytes) -> tuple[str, ...]:
    """Undo `spell`."""
    return tuple(to_text(part) for part in bytes(raw).split(b".")[:-1])


def span(prefix: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Return (first, end) so that first <= spelling < end holds at and below the prefix and nowhere else."""
    first = spell(prefix)
    return (first, first[:-1] + b"/") if first else (b"", b"\xff")


def to_record(row: tuple[bytes, bytes, bytes, int, int, int, int, int]) -> Record:
    """Return a row (namespace, key, data, created, updated, version, expires, ttl) as a record."""
    return Record(unspell(row[0]), to_text(bytes(row[1])), bytes(row[2]), *row[3:])  # type: ignore[arg-type]
