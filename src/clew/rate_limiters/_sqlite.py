"""A limit shared by the processes of one machine through a SQLite file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clew._sqlite import Database
from clew.rate_limiters._shared import Reservation, SharedRateLimiter

if TYPE_CHECKING:
    import os

_SCHEMA = (
    """CREATE TABLE clew_rate_limit (
        name TEXT PRIMARY KEY,
        requests_full_at REAL NOT NULL,
        tokens_full_at REAL NOT NULL,
        paused_until REAL NOT NULL
    ) WITHOUT ROWID""",
)


class SQLiteRateLimiter(SharedRateLimiter):
    """Limit the requests (and tokens) per second of all processes that open the same file.

    path: the file, created when missing; it may hold other things of clew too. name: which limit in that file, for one
    limit per key or model. The other arguments are those of `InMemoryRateLimiter`; every process should give the same.
    Times are wall-clock times of the machine.
    Raises: StorageError when the file can't be used; ValueError for a rate or size that is not positive.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        requests_per_second: float = 1,
        max_bucket_size: float = 1,
        tokens_per_second: float | None = None,
        max_tokens_bucket_size: float | None = None,
        name: str = "default",
    ) -> None:
        super().__init__(
            requests_per_second=requests_per_second,
            max_bucket_size=max_bucket_size,
            tokens_per_second=tokens_per_second,
            max_tokens_bucket_size=max_tokens_bucket_size,
            name=name,
        )
        self._database = Database(path, component="rate_limiters", migrations=_SCHEMA)

    def pause(self, seconds: float) -> None:
        """Let nothing of any process through for that many seconds; those in line queue again afterwards."""
        self._database.write(
            "INSERT INTO clew_rate_limit VALUES (?, 0, 0, ?) ON CONFLICT (name) DO UPDATE "
            "SET paused_until = max(paused_until, excluded.paused_until)",
            (self.name, time.time() + seconds),
        )

    def charge(self, tokens: int) -> None:
        """Count tokens beyond those asked for in `acquire`; a negative number gives back."""
        if self._limits.tokens is None:
            return
        now, cost = time.time(), tokens / self._limits.tokens.rate
        self._database.write(
            "INSERT INTO clew_rate_limit VALUES (?, 0, ?, 0) ON CONFLICT (name) DO UPDATE "
            "SET tokens_full_at = max(tokens_full_at, ?) + ?",
            (self.name, now + cost, now, cost),
        )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _reserve(self, tokens: float, blocking: bool) -> Reservation | None:
        limits = self._limits
        requests, per_token = limits.requests, limits.tokens
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT requests_full_at, tokens_full_at, paused_until FROM clew_rate_limit WHERE name = ?",
                (self.name,),
            ).fetchone()
            now = time.time()
            requests_full, tokens_full, paused = row or (0.0, 0.0, 0.0)
            start = max(requests_full + (1 - requests.size) / requests.rate, paused, now)
            if per_token is not None:
                start = max(start, tokens_full + (tokens - per_token.size) / per_token.rate)
                tokens_full = max(tokens_full, start) + tokens / per_token.rate
            if start > now and not blocking:
                return None
            requests_full = max(requests_full, start) + 1 / requests.rate
            connection.execute(
                "INSERT OR REPLACE INTO clew_rate_limit VALUES (?, ?, ?, ?)",
                (self.name, requests_full, tokens_full, paused),
            )
        return Reservation(start, start - now, requests_full)

    def _withdraw(self, place: Reservation, tokens: float) -> None:
        per_token = self._limits.tokens
        self._database.write(
            "UPDATE clew_rate_limit SET requests_full_at = requests_full_at - ?, tokens_full_at = tokens_full_at - ? "
            "WHERE name = ? AND requests_full_at = ?",
            (
                1 / self._limits.requests.rate,
                tokens / per_token.rate if per_token else 0.0,
                self.name,
                place.full_at,
            ),
        )

    def _paused_until(self) -> float:
        rows = self._database.execute("SELECT paused_until FROM clew_rate_limit WHERE name = ?", (self.name,))
        return rows[0][0] if rows else 0.0
