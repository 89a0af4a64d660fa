"""How a cache key is spelled in storage: two byte strings that no other key shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.cache.base import FullKey


def spell_key(key: FullKey) -> tuple[bytes, bytes]:
    """Return (namespace, key) as bytes. Each label carries its length, so ("a", "b") is never ("a:b",)."""
    labels = [label.encode("utf-8", "surrogatepass") for label in key[0]]
    spelled = b"".join(b"%d:%b" % (len(label), label) for label in labels)
    name: Any = key[1]  # a key_func may give bytes
    return spelled, name.encode("utf-8", "surrogatepass") if isinstance(name, str) else bytes(name)
