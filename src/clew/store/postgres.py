"""Stores on Postgres, shared by any number of machines."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from clew._postgres import (
    AsyncBorrowed,
    AsyncPool,
    Borrowed,
    Pool,
    amigrate,
    fail,
    is_dead,
    is_driver_error,
    migrate,
)
from clew.store import _pg as Q
from clew.store._embedded import AwaitedStore, BlockingStore
from clew.store._rows import span, spell, to_bytes, to_record, unspell
from clew.store._types import PutOp

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from clew.store._engine import Plan, Record, Write
    from clew.store.base import IndexConfig, TTLConfig

__all__ = ["AsyncPostgresStore", "PostgresStore"]

_BATCH = 200  # rows that a search fetches at a time


class PostgresStore(BlockingStore):
    """A store in Postgres.

    conn: a URL or DSN, a psycopg Connection (in autocommit) or a psycopg_pool.ConnectionPool. index: {"dims", "embed",
    "fields"} to search by meaning. ttl: see TTLConfig. Call `setup()` once.
    Raises: StorageError when the server fails; MissingDependencyError without psycopg.
    """

    def __init__(
        self,
        conn: Any,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        pool_size: int = 10,
    ) -> None:
        super().__init__(index, ttl)
        self._pool = Pool(conn, size=pool_size) if isinstance(conn, str) else Borrowed(conn)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Generator[PostgresStore]:
        """Connect for a `with` block. options: as for the class."""
        store = cls(conn_string, **options)
        try:
            yield store
        finally:
            store.close()

    def setup(self) -> None:
        """Create the tables, once; safe to repeat and to run from many processes at once."""
        migrate(self._pool, "store", Q.MIGRATIONS)

    def close(self) -> None:
        """Close the connections that this store opened."""
        self._pool.close()

    def sweep_ttl(self) -> int:
        """Remove the items whose time to live has run out; return how many there were."""
        return self._pool.run("sweeping", lambda c: c.execute(Q.SWEEP, (time.time_ns(),)).rowcount)

    def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> Any:
        for last in (False, True):  # once more on a new connection when the old one is dead
            try:
                return super()._apply(plan, vectors)
            except _LostConnection as lost:
                if last:
                    fail(lost.error, "reading or writing the store")
        return None

    @contextlib.contextmanager
    def _shelf(self, plan: Plan) -> Generator[_Blocking]:
        with self._pool.connection() as connection:
            try:
                with connection.transaction() if _needs_transaction(plan) else contextlib.nullcontext():
                    yield _Blocking(connection, plan.writes)
            except Exception as error:
                _sort(connection, error)

    def _touch(self, touched: Any) -> None:
        rows = [(expires, spell(namespace), to_bytes(key)) for namespace, key, expires in touched]

        def work(connection: Any) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(Q.TOUCH, rows)

        self._pool.run("restarting times to live", work)


class AsyncPostgresStore(AwaitedStore):
    """Like PostgresStore, awaited. conn: a URL or DSN, a psycopg AsyncConnection or an AsyncConnectionPool."""

    def __init__(
        self,
        conn: Any,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        pool_size: int = 10,
    ) -> None:
        super().__init__(index, ttl)
        self._pool = AsyncPool(conn, size=pool_size) if isinstance(conn, str) else AsyncBorrowed(conn)

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncGenerator[AsyncPostgresStore]:
        """Connect for an `async with` block. options: as for the class."""
        store = cls(conn_string, **options)
        try:
            yield store
        finally:
            await store.close()

    async def setup(self) -> None:
        """Create the tables, once; safe to repeat and to run from many processes at once."""
        await amigrate(self._pool, "store", Q.MIGRATIONS)

    async def close(self) -> None:
        """Close the connections that this store opened."""
        await self._pool.close()

    async def sweep_ttl(self) -> int:
        """Remove the items whose time to live has run out; return how many there were."""

        async def work(connection: Any) -> int:
            return (await connection.execute(Q.SWEEP, (time.time_ns(),))).rowcount

        return await self._pool.run("sweeping", work)

    async def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> Any:
        for last in (False, True):  # once more on a new connection when the old one is dead
            try:
                return await super()._apply(plan, vectors)
            except _LostConnection as lost:
                if last:
                    fail(lost.error, "reading or writing the store")
        return None

    @contextlib.asynccontextmanager
    async def _shelf(self, plan: Plan) -> AsyncGenerator[_Awaited]:
        async with self._pool.connection() as connection:
            try:
                async with connection.transaction() if _needs_transaction(plan) else contextlib.nullcontext():
                    yield _Awaited(connection, plan.writes)
            except Exception as error:
                _sort(connection, error)

    async def _touch(self, touched: Any) -> None:
        rows = [(expires, spell(namespace), to_bytes(key)) for namespace, key, expires in touched]

        async def work(connection: Any) -> None:
            async with connection.cursor() as cursor:
                await cursor.executemany(Q.TOUCH, rows)

        await self._pool.run("restarting times to live", work)


def _needs_transaction(plan: Plan) -> bool:
    """Whether a batch is more than one statement that writes; a put is one call of a function."""
    if len(plan.ops) == 1 and isinstance(plan.ops[0], PutOp):
        return plan.ops[0].value is None and plan.ops[0].expected_version is not None
    return plan.writes


class _LostConnection(Exception):
    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def _sort(connection: Any, error: Exception) -> None:
    """Raise what an error in a transaction means: a dead connection, a failing server, or itself."""
    if not is_driver_error(error):
        raise error
    if is_dead(connection, error):
        raise _LostConnection(error) from error
    fail(error, "reading or writing the store")


class _Awaited:
    """The shelf of one batch on an awaited connection."""

    def __init__(self, connection: Any, writes: bool) -> None:
        self._connection = connection
        self._writes = writes

    async def _rows(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        return await (await self._connection.execute(sql, parameters, binary=True)).fetchall()

    async def _do(self, sql: str, parameters: Sequence[Any]) -> None:
        await self._connection.execute(sql, parameters, binary=True)

    async def get(self, namespace: tuple[str, ...], key: str) -> Record | None:
        where = (spell(namespace), to_bytes(key))
        if self._writes:
            await self._do(Q.LOCK, where)
        rows = await self._rows(Q.GET, where)
        return to_record(rows[0]) if rows else None

    async def swap(self, write: Write) -> int | None:
        where = (spell(write.namespace), to_bytes(write.key))
        more = (write.data, write.now, write.ttl, write.expected, list(write.vectors))
        ((version,),) = await self._rows(Q.SWAP, (*where, *more))
        return -1 - version if version < 0 else None

    async def delete(self, namespace: tuple[str, ...], key: str) -> None:
        await self._do(Q.DELETE, (spell(namespace), to_bytes(key)))

    async def scan(self, prefix: tuple[str, ...]) -> AsyncGenerator[Record, None]:
        async with self._connection.cursor(binary=True) as cursor:
            await cursor.execute(Q.SCAN, span(prefix))
            while rows := await cursor.fetchmany(_BATCH):
                for row in rows:
                    yield to_record(row)

    async def vectors(self, prefix: tuple[str, ...]) -> AsyncGenerator[tuple[Record, Sequence[bytes]], None]:
        for row in await self._rows(Q.VECTORS, span(prefix)):
            yield to_record(row[:8]), [bytes(one) for one in row[8]]

    async def namespaces(self, now: int) -> list[tuple[str, ...]]:
        return [unspell(row[0]) for row in await self._rows(Q.NAMESPACES, (now,))]


class _Blocking(_Awaited):
    """The shelf of one batch on a blocking connection; its coroutines never suspend."""

    async def _rows(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        return self._connection.execute(sql, parameters, binary=True).fetchall()

    async def _do(self, sql: str, parameters: Sequence[Any]) -> None:
        self._connection.execute(sql, parameters, binary=True)

    async def scan(self, prefix: tuple[str, ...]) -> AsyncGenerator[Record, None]:
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(Q.SCAN, span(prefix))
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    yield to_record(row)
