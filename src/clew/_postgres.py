"""Postgres connections, opened, shared and replaced the same way everywhere.

Nothing here depends on a session: no prepared statements, no SET, no session locks; every unit of work is one
statement or one transaction. So a pooler in transaction mode (PgBouncer) may stand in between. A connection that died
while idle is noticed when it is used, and the work is done once more on a new one.

Two pools with one shape: `Pool` blocks, `AsyncPool` awaits. Neither has a thread of its own, and a forked child never
touches its parent's connections.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from clew._lazy import need
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence

Rows = list[tuple[Any, ...]]
_inherited: list[Any] = []  # a parent's connections: closing them here would end its sessions
_OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}


def driver(what: str) -> Any:
    """Return the module psycopg. Raises: MissingDependencyError."""
    return need("psycopg", "postgres", what)


def fail(error: BaseException, doing: str) -> NoReturn:
    """Raise the StorageError of a psycopg error, saying what to do."""
    kind = type(error).__name__
    advice = {
        "UndefinedTable": " (call setup() once)",
        "UndefinedFunction": " (call setup() once)",
        "InsufficientPrivilege": " (the role needs CREATE on the schema for setup(), then only DML)",
        "ReadOnlySqlTransaction": " (this server is a standby: connect to the primary)",
        "DiskFull": " (the server's disk is full: nothing of this write was kept)",
    }.get(kind, "")
    raise StorageError(f"Postgres failed while {doing}: {error}{advice}", backend="postgres") from error


def is_dead(connection: Any, error: BaseException) -> bool:
    """Whether the connection is gone, so that the same work may succeed on another."""
    return bool(connection.closed or connection.broken) and type(error).__module__.startswith("psycopg")


def is_driver_error(error: BaseException) -> bool:
    """Whether an error is the driver's or the server's, and not one that user code raised."""
    return type(error).__module__.startswith("psycopg")


class _Shared:
    """What both pools know. size: at most that many connections; timeout: seconds to wait for a free one."""

    def __init__(self, conninfo: str, size: int, timeout: float) -> None:
        self.conninfo = conninfo
        self.size = size
        self.timeout = timeout
        self._pid = os.getpid()
        self._free: list[Any] = []
        self._closed = False

    def _leave_to_parent(self) -> bool:
        """Forget the connections that were opened before a fork; return whether there was one."""
        if self._pid == os.getpid():
            return False
        _inherited.append(self._free)
        self._free = []
        self._pid = os.getpid()
        return True

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("this Postgres pool was closed by the program", backend="postgres")

    def _none_free(self) -> NoReturn:
        raise StorageError(
            f"all {self.size} Postgres connections were busy for {self.timeout} s: give pool_size= a higher number",
            backend="postgres",
        )


class Pool(_Shared):
    """Blocking connections, lent last in first out. Safe in threads."""

    def __init__(self, conninfo: str, *, size: int = 10, timeout: float = 30.0) -> None:
        super().__init__(conninfo, size, timeout)
        self._psycopg = driver("PostgresSaver and PostgresStore")
        self._reset()

    def _reset(self) -> None:
        self._open = 0
        self._waiting = 0
        self._changed = threading.Condition(threading.Lock())

    @contextlib.contextmanager
    def connection(self) -> Generator[Any]:
        """Lend a connection in autocommit; a dead one is dropped when it comes back."""
        connection = self._borrow()
        try:
            yield connection
        finally:
            self._give_back(connection)

    def run(self, doing: str, work: Callable[[Any], Any]) -> Any:
        """Return work(connection). On a dead connection it is done once more on a new one, so it must be repeatable.

        doing: for the message. Raises: StorageError for errors of the driver or the server.
        """
        for last in (False, True):
            connection = self._borrow()
            try:
                return work(connection)
            except Exception as error:
                if not is_driver_error(error):
                    raise
                if last or not is_dead(connection, error):
                    fail(error, doing)
                self._drop_idle()
            finally:
                self._give_back(connection)
        raise AssertionError("unreachable")

    def fetch(self, doing: str, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run one statement and return its rows."""
        return self.run(doing, lambda connection: connection.execute(sql, parameters, binary=True).fetchall())

    def close(self) -> None:
        """Close the idle connections; those on loan close when they come back."""
        self._closed = True
        self._drop_idle()

    def _borrow(self) -> Any:
        if self._leave_to_parent():
            self._reset()
        self._check_open()
        try:
            return self._free.pop()
        except IndexError:
            return self._connect()

    def _connect(self) -> Any:
        """Open one more connection, or wait for one that comes back."""
        with self._changed:
            self._waiting += 1
            try:
                while not self._free and self._open >= self.size:
                    if not self._changed.wait(self.timeout):
                        self._none_free()
                if self._free:
                    return self._free.pop()
                self._open += 1
            finally:
                self._waiting -= 1
        try:
            return self._psycopg.connect(self.conninfo, **_OPTIONS)
        except BaseException as error:
            self._forget()
            if isinstance(error, self._psycopg.Error):
                fail(error, "connecting")
            raise

    def _give_back(self, connection: Any) -> None:
        if connection.pgconn.transaction_status != 0 and not connection.closed:  # an exception left it inside one
            with contextlib.suppress(self._psycopg.Error):
                connection.rollback()
        if self._closed or connection.closed:
            connection.close()
            self._forget()
            return
        self._free.append(connection)
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def _forget(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify()

    def _drop_idle(self) -> None:
        while self._free:
            self._free.pop().close()
            self._forget()


class _Lane:
    """The connections of one event loop."""

    __slots__ = ("free", "slots")

    def __init__(self, slots: Any) -> None:
        self.slots = slots
        self.free: list[Any] = []

    def finish(self) -> None:
        """Close the idle connections without awaiting, as their loop may be gone."""
        while self.free:
            connection = self.free.pop()  # kept by name: it warns when it is deleted open
            connection.pgconn.finish()


class AsyncPool(_Shared):
    """Awaited connections, lent last in first out. Each event loop has its own, as they can't change loops."""

    def __init__(self, conninfo: str, *, size: int = 10, timeout: float = 30.0) -> None:
        super().__init__(conninfo, size, timeout)
        self._psycopg = driver("AsyncPostgresSaver and AsyncPostgresStore")
        self._lanes: dict[Any, _Lane] = {}

    def _lane(self) -> _Lane:
        import asyncio

        loop = asyncio.get_running_loop()
        if self._leave_to_parent():
            _inherited.append(self._lanes)
            self._lanes = {}
        lane = self._lanes.get(loop)
        if lane is None:
            for dead in [one for one in self._lanes if one.is_closed()]:
                self._lanes.pop(dead).finish()
            lane = self._lanes[loop] = _Lane(asyncio.Semaphore(self.size))
        return lane

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncGenerator[Any]:
        """Lend a connection in autocommit; a dead one is dropped when it comes back."""
        self._check_open()
        lane = self._lane()
        if lane.slots.locked():
            import asyncio

            try:
                await asyncio.wait_for(lane.slots.acquire(), self.timeout)
            except TimeoutError:
                self._none_free()
        else:
            await lane.slots.acquire()
        connection = None
        try:
            connection = await self._take(lane)
            yield connection
        finally:
            if connection is not None:
                await self._give_back(lane, connection)
            lane.slots.release()

    async def run(self, doing: str, work: Callable[[Any], Any]) -> Any:
        """Return await work(connection), once more on a new connection when the first is dead; see Pool.run."""
        for last in (False, True):
            async with self.connection() as connection:
                try:
                    return await work(connection)
                except Exception as error:
                    if not is_driver_error(error):
                        raise
                    if last or not is_dead(connection, error):
                        fail(error, doing)
                    await self._drop_idle(self._lane())
        raise AssertionError("unreachable")

    async def fetch(self, doing: str, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run one statement and return its rows."""

        async def work(connection: Any) -> Rows:
            return await (await connection.execute(sql, parameters, binary=True)).fetchall()

        return await self.run(doing, work)

    async def close(self) -> None:
        """Close the idle connections of this loop; those on loan close when they come back."""
        await self._drop_idle(self._lane())
        self.abandon()

    def abandon(self) -> None:
        """Close the idle connections of all loops at once, without a word to the server; for a blocking close."""
        self._closed = True
        for lane in self._lanes.values():
            lane.finish()

    async def _take(self, lane: _Lane) -> Any:
        while lane.free:
            connection = lane.free.pop()
            if not connection.closed:
                return connection
        try:
            return await self._psycopg.AsyncConnection.connect(self.conninfo, **_OPTIONS)
        except self._psycopg.Error as error:
            fail(error, "connecting")

    async def _give_back(self, lane: _Lane, connection: Any) -> None:
        if not connection.closed and connection.info.transaction_status != 0:
            with contextlib.suppress(self._psycopg.Error):
                await connection.rollback()
        if self._closed or connection.closed:
            await connection.close()
        else:
            lane.free.append(connection)

    async def _drop_idle(self, lane: _Lane) -> None:
        while lane.free:
            await lane.free.pop().close()


def _autocommitting(connection: Any) -> Any:
    """Return a caller's connection if it is in autocommit. Raises: StorageError, as else nothing would be committed."""
    if not connection.autocommit:
        raise StorageError(
            "this connection is not in autocommit, so nothing would be saved: open it with autocommit=True "
            "(for a pool: kwargs={'autocommit': True})",
            backend="postgres",
        )
    return connection


class Borrowed(Pool):
    """The blocking shape over a connection or a psycopg_pool.ConnectionPool that the caller owns."""

    def __init__(self, source: Any) -> None:
        super().__init__("")
        self._source = source
        self._pooled = hasattr(source, "getconn")
        self._lock = threading.RLock()

    def _borrow(self) -> Any:
        if self._pooled:
            return _autocommitting(self._source.getconn())
        _autocommitting(self._source)
        self._lock.acquire()
        return self._source

    def _give_back(self, connection: Any) -> None:
        if self._pooled:
            self._source.putconn(connection)
        else:
            self._lock.release()

    def close(self) -> None:
        """Leave it open: it is the caller's."""


class AsyncBorrowed(AsyncPool):
    """The awaited shape over an AsyncConnection or AsyncConnectionPool that the caller owns."""

    def __init__(self, source: Any) -> None:
        super().__init__("", size=1_000_000)
        self._source = source
        self._lock: Any = None

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncGenerator[Any]:
        """Lend what the caller gave; a plain connection to one borrower at a time."""
        if hasattr(self._source, "getconn"):
            async with self._source.connection() as connection:
                yield _autocommitting(connection)
            return
        if self._lock is None:
            import asyncio

            self._lock = asyncio.Lock()
        async with self._lock:
            yield _autocommitting(self._source)

    async def close(self) -> None:
        """Leave it open: it is the caller's."""


# -- schema -------------------------------------------------------------------------------------------

_LOCK = 0x636C6577  # "clew"; held for the length of the migrating transaction
_SCHEMA = "CREATE TABLE IF NOT EXISTS clew_schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
_VERSION = "SELECT version FROM clew_schema WHERE component = %s"
_SET = (
    "INSERT INTO clew_schema VALUES (%s, %s) ON CONFLICT (component) DO UPDATE "
    "SET version = greatest(clew_schema.version, excluded.version)"
)
_EXISTS = "SELECT to_regclass('clew_schema') IS NOT NULL"


def migrate(pool: Pool, component: str, migrations: Sequence[str]) -> None:
    """Run the migrations that this database has not seen, all or none, one process at a time."""

    def work(connection: Any) -> None:
        if connection.execute(_EXISTS).fetchone()[0]:
            found = connection.execute(_VERSION, (component,)).fetchone()
            if found and found[0] >= len(migrations):
                return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute(_SCHEMA)
            found = connection.execute(_VERSION, (component,)).fetchone()
            for statement in migrations[found[0] if found else 0 :]:
                connection.execute(statement)
            connection.execute(_SET, (component, len(migrations)))

    pool.run("setting up its tables", work)


async def amigrate(pool: AsyncPool, component: str, migrations: Sequence[str]) -> None:
    """Run the migrations that this database has not seen, all or none, one process at a time."""

    async def work(connection: Any) -> None:
        if (await (await connection.execute(_EXISTS)).fetchone())[0]:
            found = await (await connection.execute(_VERSION, (component,))).fetchone()
            if found and found[0] >= len(migrations):
                return
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            await connection.execute(_SCHEMA)
            found = await (await connection.execute(_VERSION, (component,))).fetchone()
            for statement in migrations[found[0] if found else 0 :]:
                await connection.execute(statement)
            await connection.execute(_SET, (component, len(migrations)))

    await pool.run("setting up its tables", work)
