"""The savers on Postgres."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from clew._postgres import AsyncBorrowed, AsyncPool, Borrowed, Pool
from clew.checkpoint._views import JournalSaver
from clew.checkpoint.postgres._journal import AsyncPostgresJournal, PostgresJournal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


class _BothFaces(PostgresJournal):
    """A journal that blocks and awaits, over a pool of each kind; methods with an `a` before are the awaited one's."""

    def __init__(self, conninfo: str, size: int) -> None:
        super().__init__(Pool(conninfo, size=size))
        self.awaited = AsyncPostgresJournal(AsyncPool(conninfo, size=size))

    def close(self) -> None:
        """Close the connections of both faces."""
        super().close()
        self.awaited.pool.abandon()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("a") and name[1:] in _METHODS:
            return getattr(self.awaited, name)
        raise AttributeError(name)


_METHODS = [
    "acquire",
    "load",
    "commit",
    "renew",
    "chain",
    "checkpoints",
    "records",
    "notes",
    "places",
    "delete",
    "copy",
]


class PostgresSaver(JournalSaver):
    """Keeps threads in Postgres, shared by any number of machines.

    conn: a URL or DSN, a psycopg Connection (in autocommit) or a psycopg_pool.ConnectionPool. With a URL the awaitable
    methods work too. pool_size: connections at most, opened when needed. Works behind PgBouncer in transaction mode.
    Raises: StorageError when the server fails; MissingDependencyError without psycopg.
    """

    _journal_home = True

    def __init__(self, conn: Any, pipe: Any = None, serde: Any = None, *, pool_size: int = 10) -> None:
        self.conn = conn
        if isinstance(conn, str):
            journal: Any = _BothFaces(conn, pool_size)
        else:
            journal = PostgresJournal(Borrowed(conn))
        super().__init__(journal, serde=serde)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, serde: Any = None, pool_size: int = 10
    ) -> Generator[PostgresSaver]:
        """Connect for a `with` block. pipeline: accepted; commits that meet always travel together."""
        saver = cls(conn_string, serde=serde, pool_size=pool_size)
        try:
            yield saver
        finally:
            saver.close()

    def setup(self) -> None:
        """Create the tables, once; safe to repeat and to run from many processes at once."""
        self.journal.setup()

    def close(self) -> None:
        """Close the connections that this saver opened."""
        self.journal.close()


class AsyncPostgresSaver(JournalSaver):
    """Like PostgresSaver, for programs with an event loop. Blocking methods raise RuntimeError inside the loop.

    conn: a URL or DSN, a psycopg AsyncConnection (in autocommit) or a psycopg_pool.AsyncConnectionPool.
    """

    _journal_home = True
    _loop_only = True

    def __init__(self, conn: Any, pipe: Any = None, serde: Any = None, *, pool_size: int = 10) -> None:
        self.conn = conn
        if isinstance(conn, str):
            journal: Any = _BothFaces(conn, pool_size)
            self._awaited: AsyncPostgresJournal = journal.awaited
        else:
            journal = self._awaited = AsyncPostgresJournal(AsyncBorrowed(conn))
        super().__init__(journal, serde=serde)

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, serde: Any = None, pool_size: int = 10
    ) -> AsyncGenerator[AsyncPostgresSaver]:
        """Connect for an `async with` block. pipeline: accepted; commits that meet always travel together."""
        saver = cls(conn_string, serde=serde, pool_size=pool_size)
        try:
            yield saver
        finally:
            await saver.close()

    async def setup(self) -> None:
        """Create the tables, once; safe to repeat and to run from many processes at once."""
        await self._awaited.setup()

    async def close(self) -> None:
        """Close the connections that this saver opened."""
        await self._awaited.close()
        if self.journal is not self._awaited:
            self.journal.close()
