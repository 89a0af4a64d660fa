"""A task cache on Redis or Valkey, shared by machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._redis import connect, wrapped
from clew.cache._spell import spell_key
from clew.cache.base import BaseCache, FullKey, Namespace, ValueT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RedisCache"]


class RedisCache(BaseCache[ValueT]):
    """A task cache on a server. redis: a URL or a client (blocking). prefix: what all keys of this cache begin with.

    Raises: StorageError when the server fails.
    """

    def __init__(self, redis: Any, *, serde: Any = None, prefix: str = "clew:cache:") -> None:
        super().__init__(serde=serde)
        self._client, self._ours = connect(redis, "RedisCache")
        self._prefix = prefix.encode()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that are there; expiry is the server's. One round trip."""
        found: dict[FullKey, ValueT] = {}
        if not keys:
            return found
        with wrapped("reading cached results"):
            rows = self._client.mget([self._name(key) for key in keys])
        for key, raw in zip(keys, rows, strict=True):
            if raw is not None:
                self._load(raw, found, key)
        return found

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Store values; each with its seconds to live, None for ever. One round trip."""
        rows = [(self._name(key), self._dump(value), ttl) for key, (value, ttl) in pairs.items()]
        with wrapped("storing cached results"), self._client.pipeline(transaction=False) as pipe:
            for name, raw, ttl in rows:
                pipe.set(name, raw, px=max(1, int(ttl * 1000)) if ttl is not None else None)
            pipe.execute()

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget everything in these namespaces, or everything under this prefix."""
        starts = [b""] if namespaces is None else [spell_key((tuple(one), ""))[0] + b"|" for one in namespaces]
        with wrapped("clearing cached results"):
            for start in starts:
                batch: list[bytes] = []
                for name in self._client.scan_iter(match=_literal(self._prefix + start) + b"*", count=1000):
                    batch.append(name)
                    if len(batch) == 500:
                        self._client.unlink(*batch)
                        batch = []
                if batch:
                    self._client.unlink(*batch)

    def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            self._client.close()

    def _name(self, key: FullKey) -> bytes:
        namespace, name = spell_key(key)
        return self._prefix + namespace + b"|" + name


def _literal(text: bytes) -> bytes:
    """Return a pattern that matches exactly this text."""
    return b"".join(b"\\" + bytes([one]) if one in b"*?[]\\^-" else bytes([one]) for one in text)
