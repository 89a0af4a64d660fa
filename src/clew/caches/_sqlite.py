"""A cache in one SQLite file, shared by threads and processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew._sqlite import Database
from clew.caches._base import RETURN_VAL_TYPE, BaseCache
from clew.caches._rows import digest, pack, unpack

if TYPE_CHECKING:
    import os

_SCHEMA = (
    "CREATE TABLE clew_llm_cache (key BLOB PRIMARY KEY, answer BLOB NOT NULL, written REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX clew_llm_cache_written ON clew_llm_cache (written)",
)


class SQLiteCache(BaseCache):
    """Keep answers in a SQLite file.

    database_path: the file, created when missing; it may hold other things of clew too. ttl: seconds that an answer
    lives after it was written; None: for ever. Rows that can't be read count as misses and are overwritten.
    Raises: StorageError when the file can't be used; ValueError if ttl is not positive.
    """

    def __init__(self, database_path: str | os.PathLike[str] = ".clew.db", *, ttl: float | None = None) -> None:
        if ttl is not None and ttl <= 0:
            raise ValueError(f"ttl must be positive, got {ttl!r}")
        self._ttl = ttl
        self._database = Database(database_path, component="caches", migrations=_SCHEMA)

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the generations that are kept for this request, or None."""
        rows = self._database.execute(
            "SELECT answer FROM clew_llm_cache WHERE key = ? AND written > ?",
            (digest(prompt, llm_string), self._oldest()),
        )
        return unpack(rows[0][0]) if rows else None

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep the generations of this request; rows past their time leave."""
        answer = pack(return_val)
        if answer is None:
            return
        with self._database.transaction() as connection:
            if self._ttl is not None:
                connection.execute("DELETE FROM clew_llm_cache WHERE written <= ?", (self._oldest(),))
            connection.execute(
                "INSERT OR REPLACE INTO clew_llm_cache VALUES (?, ?, ?)",
                (digest(prompt, llm_string), answer, time.time()),
            )

    def clear(self, **kwargs: Any) -> None:
        """Forget everything."""
        self._database.write("DELETE FROM clew_llm_cache")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _oldest(self) -> float:
        return float("-inf") if self._ttl is None else time.time() - self._ttl


SQLiteCache._compact = SQLiteCache.lookup  # pyright: ignore[reportPrivateUsage] - our own subclass
