"""One SQLite file shared by threads and processes, opened the same way everywhere.

Every file is in WAL mode and every write is a short `BEGIN IMMEDIATE` transaction: a deferred one that upgrades later
fails with "database is locked" no matter how long one is willing to wait. Connections are lent from a small pool, one
borrower at a time, and a forked child never touches its parent's.

Invariant: a transaction that does not end by itself is rolled back, so no borrower ever finds one open.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Literal

from clew.errors import StorageCorruptError, StorageError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import TracebackType

Synchronous = Literal["normal", "full"]
Rows = list[tuple[Any, ...]]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_inherited: list[object] = []  # connections of a parent process: closing them here could drop its locks


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock, so that waiting may help."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def wrap(error: sqlite3.Error, path: str) -> StorageError:
    """Return the StorageError that says what happened to the file and what to do; raise it `from` the original."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StorageCorruptError(
            f"{path!r} is not a sound SQLite database ({error}); nothing was changed. "
            "Give another path, or move the file away and restore a copy",
            backend="sqlite",
        )
    advice = {
        sqlite3.SQLITE_BUSY: "another process holds its lock: end it, or raise timeout=",
        sqlite3.SQLITE_LOCKED: "another connection holds its lock: end it, or raise timeout=",
        sqlite3.SQLITE_FULL: "the disk is full: free some space and try again; nothing of this write was kept",
        sqlite3.SQLITE_READONLY: "it can't be written: check the rights of the file and its folder",
        sqlite3.SQLITE_CANTOPEN: "it can't be opened: check that the folder exists and may be written",
        sqlite3.SQLITE_IOERR: "the disk failed: check it and its free space",
    }.get(code, "the statement failed")
    return StorageError(f"{path!r}: {error}: {advice}", backend="sqlite")


def connect(
    path: str | os.PathLike[str], *, synchronous: Synchronous = "normal", timeout: float = 30.0
) -> sqlite3.Connection:
    """Open a database file in WAL mode, in autocommit, usable from any thread (one at a time).

    path: a file, created when missing (its folder must exist); ":memory:"; or a "file:…" URI.
    synchronous: "normal" survives the death of the process, "full" also the loss of power (an fsync per commit).
    timeout: seconds to wait for another connection's lock.
    Raises: StorageCorruptError when the file is not a database, StorageError when it can't be opened or is locked.
    """
    name = os.fspath(path)
    deadline = time.monotonic() + timeout
    try:
        connection = sqlite3.connect(
            name, timeout=timeout, isolation_level=None, check_same_thread=False, uri=name.startswith("file:"),
            cached_statements=256,
        )  # fmt: skip
    except sqlite3.Error as error:
        raise wrap(error, name) from error
    try:
        _retry(connection, "PRAGMA journal_mode=WAL", deadline)
        connection.execute(f"PRAGMA synchronous={'FULL' if synchronous == 'full' else 'NORMAL'}")
    except sqlite3.Error as error:
        connection.close()
        raise wrap(error, name) from error
    return connection


def begin(connection: sqlite3.Connection, *, timeout: float = 30.0) -> None:
    """Start a write transaction, waiting up to `timeout` seconds beyond the connection's own busy timeout.

    Raises: sqlite3.OperationalError when the lock is still held then.
    """
    _retry(connection, "BEGIN IMMEDIATE", time.monotonic() + timeout)


def _retry(connection: sqlite3.Connection, statement: str, deadline: float) -> None:
    pause = 0.0005
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 2, 0.02)


class Database:
    """One SQLite file with a pool of connections.

    path: as in `connect`; ":memory:" is one connection, lent to one borrower at a time.
    migrations: statements that build the schema, oldest first; each is run once per file and component, so a later
    version may only append. component: whose migrations they are, as several parts may share a file.
    Raises: StorageError, StorageCorruptError (see `connect`), on the first use.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        component: str = "",
        migrations: Sequence[str] = (),
        synchronous: Synchronous = "normal",
        timeout: float = 30.0,
    ) -> None:
        self.path = os.fspath(path)
        self.timeout = timeout
        self._component = component
        self._migrations = migrations
        self._synchronous: Synchronous = synchronous
        self._in_memory = self.path == ":memory:"
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._free: list[sqlite3.Connection] = []
        self._writer = threading.RLock()
        self._ready = not self._migrations
        self._closed = False

    def read(self) -> _Lent:
        """Return a context manager that lends a connection for reading: `with db.read() as connection`."""
        return _Lent(self, write=self._in_memory, begin=False)

    def transaction(self) -> _Lent:
        """Return a context manager that lends a connection inside a write transaction.

        Committed at the end, rolled back when the body raises. Writers of this process queue on a lock, those of other
        processes are waited for up to `timeout` seconds. Not nestable.
        """
        return _Lent(self, write=True, begin=True)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run one reading statement and return its rows."""
        with self.read() as connection:
            return connection.execute(sql, parameters).fetchall()

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one writing statement in a transaction of its own; return how many rows it touched."""
        with self.transaction() as connection:
            return connection.execute(sql, parameters).rowcount

    def close(self) -> None:
        """Close the idle connections; those on loan close when they come back."""
        self._closed = True
        while self._free:
            self._free.pop().close()

    @contextlib.contextmanager
    def exclusive(self) -> Generator[None]:
        """Hold this process's writers back, for work that spans several transactions."""
        with self._writer:
            yield

    def _borrow(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            _inherited.append(self._free)
            self._reset()
        if self._closed:
            raise StorageError(f"{self.path!r} was closed by this program", backend="sqlite")
        try:
            connection = self._free.pop()
        except IndexError:
            connection = connect(self.path, synchronous=self._synchronous, timeout=self.timeout)
        if not self._ready:
            self._migrate(connection)
        return connection

    def _return(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._free.append(connection)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Run the statements that this file has not seen yet, all or none."""
        try:
            with self._writer:
                begin(connection, timeout=self.timeout)
                try:
                    connection.execute(
                        "CREATE TABLE IF NOT EXISTS clew_schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
                    )
                    found = connection.execute(
                        "SELECT version FROM clew_schema WHERE component = ?", (self._component,)
                    ).fetchone()
                    for statement in self._migrations[found[0] if found else 0 :]:
                        connection.execute(statement)
                    connection.execute(
                        "INSERT INTO clew_schema VALUES (?, ?) ON CONFLICT (component) DO UPDATE "
                        "SET version = max(version, excluded.version)",
                        (self._component, len(self._migrations)),
                    )
                    connection.execute("COMMIT")
                except BaseException:
                    rollback(connection)
                    raise
        except sqlite3.Error as error:
            connection.close()
            raise wrap(error, self.path) from error
        self._ready = True


def rollback(connection: sqlite3.Connection) -> None:
    """Leave no transaction open, whatever state the connection is in."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


class _Lent:
    """A connection on loan: `with` gives it, the end of the block settles the transaction and gives it back."""

    __slots__ = ("_begin", "_connection", "_database", "_write", "_writer")

    def __init__(self, database: Database, *, write: bool, begin: bool) -> None:
        self._database = database
        self._write = write
        self._begin = begin
        self._connection: sqlite3.Connection | None = None
        self._writer: Any = None

    def __enter__(self) -> sqlite3.Connection:
        database = self._database
        connection = None
        writer = None
        try:
            if database._pid == os.getpid() and self._write:  # pyright: ignore[reportPrivateUsage] - one idea, two classes
                writer = database._writer  # pyright: ignore[reportPrivateUsage]
                writer.acquire()
            connection = database._borrow()  # pyright: ignore[reportPrivateUsage]
            if self._write and writer is None:  # first use in a forked child: the lock is a new one
                writer = database._writer  # pyright: ignore[reportPrivateUsage]
                writer.acquire()
            if self._begin:
                begin(connection, timeout=database.timeout)
        except BaseException as error:
            if connection is not None:
                database._return(connection)  # pyright: ignore[reportPrivateUsage]
            if writer is not None:
                writer.release()
            if isinstance(error, sqlite3.Error):
                raise wrap(error, database.path) from error
            raise
        self._connection = connection
        self._writer = writer
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        connection = self._connection
        assert connection is not None
        try:
            if self._begin and kind is None:
                connection.execute("COMMIT")
        except sqlite3.Error as failed:
            rollback(connection)
            raise wrap(failed, self._database.path) from failed
        finally:
            rollback(connection)
            self._database._return(connection)  # pyright: ignore[reportPrivateUsage]
            if self._writer is not None:
                self._writer.release()
        if isinstance(error, sqlite3.Error):
            raise wrap(error, self._database.path) from error
