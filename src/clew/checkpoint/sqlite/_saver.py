"""The blocking saver on a SQLite file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from clew.checkpoint._views import JournalSaver
from clew.checkpoint.sqlite._async import AsyncSqliteJournal

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Generator


class SqliteSaver(JournalSaver):
    """Keeps threads in one SQLite file, shared by any number of threads and processes of a machine.

    conn: a connection made with check_same_thread=False; it is put into autocommit and WAL mode. timeout: seconds to
    wait for another process's lock. synchronous: "normal" survives the death of the process, "full" the loss of power.
    Raises: StorageCorruptError when the file is no database; StorageError when it is locked, full or not writable.
    """

    _journal_home = True

    def __init__(
        self, conn: sqlite3.Connection, *, serde: Any = None, timeout: float = 30.0, synchronous: str = "normal"
    ) -> None:
        self.conn = conn
        super().__init__(AsyncSqliteJournal(conn, timeout=timeout, synchronous=synchronous), serde=serde)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(
        cls,
        conn_string: str | os.PathLike[str],
        *,
        serde: Any = None,
        timeout: float = 30.0,
        synchronous: str = "normal",
    ) -> Generator[SqliteSaver]:
        """Open a file (or ":memory:") for the length of a `with` block."""
        saver = cls.open(conn_string, serde=serde, timeout=timeout, synchronous=synchronous)
        try:
            yield saver
        finally:
            saver.close()

    @classmethod
    def open(
        cls,
        conn_string: str | os.PathLike[str],
        *,
        serde: Any = None,
        timeout: float = 30.0,
        synchronous: str = "normal",
    ) -> SqliteSaver:
        """Open a file for as long as the program likes; `close` it in the end."""
        from clew import _sqlite

        connection = _sqlite.connect(conn_string, timeout=timeout)
        return cls(connection, serde=serde, timeout=timeout, synchronous=synchronous)

    def setup(self) -> None:
        """Make the tables; safe to repeat, and done by itself at the first use."""
        self.journal.setup()

    def close(self) -> None:
        """Close the file."""
        self.journal.close()
