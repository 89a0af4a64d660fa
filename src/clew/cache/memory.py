"""A task cache in this process's memory."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from clew.cache.base import BaseCache, FullKey, Namespace, ValueT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["InMemoryCache"]


class InMemoryCache(BaseCache[ValueT]):
    """A task cache for one process. Values are kept encoded: nobody's later change reaches them.

    maxsize: how many results to keep, the least recently used goes first; None for all.
    """

    def __init__(self, *, serde: Any = None, maxsize: int | None = None) -> None:
        super().__init__(serde=serde)
        if maxsize is not None and maxsize < 1:
            raise ValueError(f"maxsize is a positive number of results, not {maxsize}")
        self._maxsize = maxsize
        self._rows: dict[FullKey, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that are there and not expired."""
        now = time.time()
        rows: dict[FullKey, bytes] = {}
        with self._lock:
            for key in keys:
                row = self._rows.pop(key, None)
                if row is not None and row[1] > now:
                    self._rows[key] = row  # last in order: used most recently
                    rows[key] = row[0]
        found: dict[FullKey, ValueT] = {}
        for key, raw in rows.items():
            self._load(raw, found, key)
        return found

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Store values; each with its seconds to live, None for ever."""
        now = time.time()
        rows = {
            key: (self._dump(value), now + ttl if ttl is not None else float("inf"))
            for key, (value, ttl) in pairs.items()
        }
        with self._lock:
            for key, row in rows.items():
                self._rows.pop(key, None)
                self._rows[key] = row
            while self._maxsize is not None and len(self._rows) > self._maxsize:
                del self._rows[next(iter(self._rows))]

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget everything in these namespaces, or everything at all."""
        with self._lock:
            if namespaces is None:
                self._rows.clear()
                return
            gone = {tuple(one) for one in namespaces}
            for key in [key for key in self._rows if key[0] in gone]:
                del self._rows[key]

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that are there and not expired."""
        return self.get(keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Store values; each with its seconds to live, None for ever."""
        self.set(pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget everything in these namespaces, or everything at all."""
        self.clear(namespaces)
