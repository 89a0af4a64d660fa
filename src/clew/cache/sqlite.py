"""A task cache in one SQLite file, shared by the processes of a machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew._sqlite import Database
from clew.cache._spell import spell_key
from clew.cache.base import BaseCache, FullKey, Namespace, ValueT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SqliteCache"]

_MIGRATIONS = (
    """CREATE TABLE task_cache (
        namespace BLOB NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL, expires REAL,
        PRIMARY KEY (namespace, key)) WITHOUT ROWID""",
    "CREATE INDEX task_cache_expires ON task_cache (expires) WHERE expires IS NOT NULL",
)


class SqliteCache(BaseCache[ValueT]):
    """A task cache in a file. path: the file, made when missing."""

    def __init__(self, *, path: str, serde: Any = None, timeout: float = 30.0) -> None:
        super().__init__(serde=serde)
        self._database = Database(path, component="task_cache", migrations=_MIGRATIONS, timeout=timeout)

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that are there and not expired."""
        found: dict[FullKey, ValueT] = {}
        sql = "SELECT data FROM task_cache WHERE namespace = ? AND key = ? AND (expires IS NULL OR expires > ?)"
        now = time.time()
        with self._database.read() as connection:
            rows = [(key, connection.execute(sql, (*spell_key(key), now)).fetchone()) for key in keys]
        for key, row in rows:
            if row is not None:
                self._load(row[0], found, key)
        return found

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Store values; each with its seconds to live, None for ever. Expired rows go at the same time."""
        now = time.time()
        rows = [
            (*spell_key(key), self._dump(value), now + ttl if ttl is not None else None)
            for key, (value, ttl) in pairs.items()
        ]
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM task_cache WHERE expires IS NOT NULL AND expires <= ?", (now,))
            connection.executemany("INSERT OR REPLACE INTO task_cache VALUES (?, ?, ?, ?)", rows)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget everything in these namespaces, or everything at all."""
        with self._database.transaction() as connection:
            if namespaces is None:
                connection.execute("DELETE FROM task_cache")
            else:
                rows = [(spell_key((tuple(one), ""))[0],) for one in namespaces]
                connection.executemany("DELETE FROM task_cache WHERE namespace = ?", rows)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
