"""A store in one SQLite file, shared by threads and processes."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from clew._sqlite import Database, Synchronous
from clew.store._embedded import BlockingStore
from clew.store._engine import Parts
from clew.store._rows import span, spell, to_bytes, to_record, unspell

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncGenerator, Generator, Sequence

    from clew.store._engine import Plan, Record
    from clew.store.base import IndexConfig, TTLConfig

__all__ = ["AsyncSqliteStore", "SqliteStore"]

_MIGRATIONS = (
    """CREATE TABLE store_items (
        id INTEGER PRIMARY KEY, namespace BLOB NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL,
        expires INTEGER NOT NULL, ttl INTEGER NOT NULL, UNIQUE (namespace, key))""",
    "CREATE INDEX store_items_expires ON store_items (expires) WHERE expires > 0",
    """CREATE TABLE store_vectors (
        item INTEGER NOT NULL REFERENCES store_items (id), n INTEGER NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (item, n)) WITHOUT ROWID""",
)
_COLUMNS = "namespace, key, data, created, updated, version, expires, ttl"
_BELOW = "namespace >= ? AND namespace < ?"


class SqliteStore(BlockingStore):
    """A store in one file; give the path, or use `from_conn_string`.

    path: the file, made when missing. index: {"dims", "embed", "fields"} to search by meaning. ttl: see TTLConfig.
    synchronous: "normal" survives the death of the process, "full" also a loss of power. timeout: seconds to wait for
    another writer.
    Raises: StorageError, StorageCorruptError when the file can't be used.
    """

    def __init__(
        self,
        path: str,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        synchronous: Synchronous = "normal",
        timeout: float = 30.0,
    ) -> None:
        super().__init__(index, ttl)
        self._database = Database(
            path, component="store", migrations=_MIGRATIONS, synchronous=synchronous, timeout=timeout
        )

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> Generator[SqliteStore]:
        """Open a store for a `with` block. conn_string: the path of the file, or ":memory:"."""
        store = cls(conn_string, index=index, ttl=ttl)
        try:
            yield store
        finally:
            store.close()

    def setup(self) -> None:
        """Create the tables now; the first use does it otherwise. Safe to repeat."""
        self._database.execute("SELECT 1")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def sweep_ttl(self) -> int:
        """Remove the items whose time to live has run out; return how many there were."""
        with self._database.transaction() as connection:
            gone = "SELECT id FROM store_items WHERE expires > 0 AND expires <= ?"
            now = (time.time_ns(),)
            connection.execute(f"DELETE FROM store_vectors WHERE item IN ({gone})", now)
            return connection.execute("DELETE FROM store_items WHERE expires > 0 AND expires <= ?", now).rowcount

    @contextlib.contextmanager
    def _shelf(self, plan: Plan) -> Generator[_Sqlite]:
        with self._database.transaction() if plan.writes else self._database.read() as connection:
            yield _Sqlite(connection)

    def _touch(self, touched: Any) -> None:
        rows = [(expires, spell(namespace), to_bytes(key)) for namespace, key, expires in touched]
        with self._database.transaction() as connection:
            connection.executemany("UPDATE store_items SET expires = ? WHERE namespace = ? AND key = ?", rows)


class AsyncSqliteStore(SqliteStore):
    """The same store for programs that await; each call runs in a worker thread, as files have no async driver."""

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(  # type: ignore[override]
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncGenerator[AsyncSqliteStore]:
        """Open a store for an `async with` block."""
        store = cls(conn_string, index=index, ttl=ttl)
        try:
            yield store
        finally:
            store.close()

    async def setup(self) -> None:  # type: ignore[override]
        """Create the tables now; the first use does it otherwise. Safe to repeat."""
        from clew._pool import run_in_executor

        await run_in_executor(None, self._database.execute, "SELECT 1")


class _Sqlite(Parts):
    """The shelf of one batch: a connection, inside a transaction when the batch writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._many = connection.executemany

    async def get(self, namespace: tuple[str, ...], key: str) -> Record | None:
        row = self._execute(
            f"SELECT {_COLUMNS} FROM store_items WHERE namespace = ? AND key = ?",
            (spell(namespace), to_bytes(key)),
        ).fetchone()
        return to_record(row) if row else None

    async def put(self, record: Record, vectors: Sequence[bytes]) -> None:
        where = (spell(record.namespace), to_bytes(record.key))
        (item,) = self._execute(
            f"INSERT INTO store_items ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, key) "
            "DO UPDATE SET data = excluded.data, created = excluded.created, updated = excluded.updated, "
            "version = excluded.version, expires = excluded.expires, ttl = excluded.ttl RETURNING id",
            (*where, *record[2:]),
        ).fetchone()
        self._execute("DELETE FROM store_vectors WHERE item = ?", (item,))
        if vectors:
            rows = [(item, n, vector) for n, vector in enumerate(vectors)]
            self._many("INSERT INTO store_vectors VALUES (?, ?, ?)", rows)

    async def delete(self, namespace: tuple[str, ...], key: str) -> None:
        where = (spell(namespace), to_bytes(key))
        found = "SELECT id FROM store_items WHERE namespace = ? AND key = ?"
        self._execute(f"DELETE FROM store_vectors WHERE item IN ({found})", where)
        self._execute("DELETE FROM store_items WHERE namespace = ? AND key = ?", where)

    async def scan(self, prefix: tuple[str, ...]) -> AsyncGenerator[Record, None]:
        sql = f"SELECT {_COLUMNS} FROM store_items WHERE {_BELOW} ORDER BY updated DESC, namespace, key"
        for row in self._execute(sql, span(prefix)):
            yield to_record(row)

    async def vectors(self, prefix: tuple[str, ...]) -> AsyncGenerator[tuple[Record, Sequence[bytes]], None]:
        last: tuple[Record, list[bytes]] | None = None
        sql = (
            f"SELECT {_COLUMNS}, vector FROM store_items JOIN store_vectors ON item = id WHERE {_BELOW} ORDER BY id, n"
        )
        for row in self._execute(sql, span(prefix)):
            record = to_record(row[:8])
            if last is not None and last[0][:2] == record[:2]:
                last[1].append(row[8])
            else:
                if last is not None:
                    yield last
                last = (record, [row[8]])
        if last is not None:
            yield last

    async def namespaces(self, now: int) -> list[tuple[str, ...]]:
        sql = "SELECT DISTINCT namespace FROM store_items WHERE expires = 0 OR expires > ?"
        return [unspell(row[0]) for row in self._execute(sql, (now,))]
