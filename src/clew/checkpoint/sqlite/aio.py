"""The awaitable saver on a SQLite file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from clew.checkpoint._views import JournalSaver
from clew.checkpoint.sqlite._async import AsyncSqliteJournal

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import AsyncGenerator

__all__ = ["AsyncSqliteSaver"]


class AsyncSqliteSaver(JournalSaver):
    """Like SqliteSaver, for programs with an event loop: short statements run inline, waits leave for a thread.

    Its blocking methods raise RuntimeError inside a running loop.
    """

    _journal_home = True
    _loop_only = True

    def __init__(
        self, conn: sqlite3.Connection, *, serde: Any = None, timeout: float = 30.0, synchronous: str = "normal"
    ) -> None:
        self.conn = conn
        super().__init__(AsyncSqliteJournal(conn, timeout=timeout, synchronous=synchronous), serde=serde)

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str | os.PathLike[str],
        *,
        serde: Any = None,
        timeout: float = 30.0,
        synchronous: str = "normal",
    ) -> AsyncGenerator[AsyncSqliteSaver]:
        """Open a file (or ":memory:") for the length of an `async with` block."""
        from clew import _sqlite

        connection = _sqlite.connect(conn_string, timeout=timeout)
        saver = cls(connection, serde=serde, timeout=timeout, synchronous=synchronous)
        try:
            yield saver
        finally:
            saver.journal.close()

    async def setup(self) -> None:
        """Make the tables; safe to repeat, and done by itself at the first use."""
        self.journal.setup()

    async def close(self) -> None:
        """Close the file."""
        self.journal.close()
