"""The message table in any database that SQLAlchemy speaks to, blocking or awaited.

A write is one INSERT of several rows in one transaction. MySQL numbers the rows of one such statement without gaps, so
no other writer falls between them; PostgreSQL numbers row by row, so there a transaction takes a lock on the session
first. A connection that the server closed meanwhile is replaced before it is used (`pool_pre_ping`).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from clew._lazy import need
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._shared import shared
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_guard = threading.Lock()
_making = threading.Lock()
_made: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # the tables that exist, by engine
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(:session, 0))"


def _engine(url: str, asynchronous: bool, options: dict[str, Any]) -> Any:
    """Return the one engine of a URL: it holds the pool of connections."""
    if asynchronous:
        make = need("sqlalchemy.ext.asyncio", "sql", "SQLChatMessageHistory").create_async_engine
        close: Callable[[Any], Any] = lambda engine: engine.sync_engine.dispose(close=False)  # noqa: E731
    else:
        make = need("sqlalchemy", "sql", "SQLChatMessageHistory").create_engine
        close = lambda engine: engine.dispose()  # noqa: E731
    key = ("sql", url, asynchronous, repr(sorted(options.items())))
    return shared(key, lambda: make(url, **{"pool_pre_ping": True, **options}), close)


class AlchemyTable:
    """Rows of `(id, session_id, message)`.

    connection: a URL, an Engine or an AsyncEngine. asynchronous: whether the URL names an async driver.
    """

    def __init__(
        self, connection: Any, table: str, column: str, *, asynchronous: bool, options: dict[str, Any] | None = None
    ) -> None:
        self._sa = need("sqlalchemy", "sql", "SQLChatMessageHistory")
        with _guard:
            self.engine = (
                _engine(connection, asynchronous, options or {})
                if isinstance(connection, str)
                else connection
            )
        self.asynchronous = asynchronous or hasattr(self.engine, "sync_engine")
        sa = self._sa
        big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
        ids, long_text = sa.Text(), sa.Text()
        if self.engine.dialect.name in ("mysql", "mariadb"):  # ids that differ in case or accents are different ids
            mysql = sa.dialects.mysql
            ids = mysql.VARCHAR(512, charset="utf8mb4", collation="utf8mb4_bin")
            long_text = mysql.LONGTEXT()
        self._rows = sa.Table(
            table,
            sa.MetaData(),
            sa.Column("id", big, primary_key=True, autoincrement=True),
            sa.Column(column, ids, index=True),
            sa.Column("message", long_text),
            mysql_charset="utf8mb4",
            mariadb_charset="utf8mb4",
        )
        self._session = self._rows.c[column]

    # -- what is said to the database -----------------------------------------------------------------

    def _select(self, session_id: str, last: int | None, after: int) -> Any:
        rows = self._rows
        query = self._sa.select(rows.c.message).where(self._session == bound_text(session_id))
        if last is not None:
            return query.order_by(rows.c.id.desc()).limit(last)
        query = query.order_by(rows.c.id)
        # MySQL takes no OFFSET without a LIMIT
        return query.limit(2**62).offset(after) if after else query

    def _write(self, connection: Any, session_id: str, messages: list[str]) -> None:
        session = bound_text(session_id)
        if connection.dialect.name == "postgresql":
            connection.execute(self._sa.text(_LOCK), {"session": session})
        rows = [{self._session.key: session, "message": message} for message in messages]
        connection.execute(self._rows.insert().values(rows))

    def _swap(
        self, connection: Any, session_id: str, count: int, same: Callable[[Sequence[str]], bool], rows: list[str]
    ) -> bool:
        sa, session = self._sa, bound_text(session_id)
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text(_LOCK), {"session": session})
        table = self._rows
        query = sa.select(table.c.id, table.c.message).where(self._session == session).order_by(table.c.id)
        found = connection.execute((query.limit(count) if len(rows) <= count else query).with_for_update()).all()
        if len(found) < count or not same([row.message for row in found[:count]]):
            return False
        rows = rows + [row.message for row in found[count:]]
        connection.execute(table.delete().where(table.c.id.in_([row.id for row in found])))
        if len(rows) <= len(found):
            ids = [row.id for row in found][len(found) - len(rows) :]
            values = [{"id": i, self._session.key: session, "message": m} for i, m in zip(ids, rows, strict=True)]
        else:
            values = [{self._session.key: session, "message": message} for message in rows]
        if values:
            connection.execute(table.insert().values(values))
        return True

    # -- making the table -----------------------------------------------------------------------------

    def _is_made(self) -> bool:
        return self._rows.name in _made.setdefault(self.engine, set())

    def _make(self) -> None:
        try:
            self._rows.metadata.create_all(self.engine, checkfirst=True)
        except self._sa.exc.DBAPIError:  # another process was faster?
            if not self._has_table(self.engine):
                raise
        _made[self.engine].add(self._rows.name)

    async def _amake(self) -> None:
        try:
            async with self.engine.begin() as connection:
                await connection.run_sync(self._rows.metadata.create_all, checkfirst=True)
        except self._sa.exc.DBAPIError:
            async with self.engine.begin() as connection:
                if not await connection.run_sync(self._has_table):
                    raise
        _made[self.engine].add(self._rows.name)

    def _has_table(self, bind: Any) -> bool:
        return self._sa.inspect(bind).has_table(self._rows.name)

    # -- blocking -------------------------------------------------------------------------------------

    def _run(self, work: Callable[[Any], Any]) -> Any:
        if self.asynchronous:
            raise TypeError("this history has an async engine: use the a… methods, or give a URL of a blocking driver")
        try:
            if not self._is_made():
                with _making:
                    self._make()
            with self.engine.begin() as connection:
                return work(connection)
        except self._sa.exc.SQLAlchemyError as error:
            raise _wrapped(error) from error

    async def _arun(self, work: Callable[[Any], Any]) -> Any:
        try:
            if not self._is_made():
                await self._amake()
            async with self.engine.begin() as connection:
                return await connection.run_sync(work)
        except self._sa.exc.SQLAlchemyError as error:
            raise _wrapped(error) from error

    def read(self, session_id: str, *, last: int | None = None, after: int = 0) -> Sequence[str]:
        return _ordered(self._run(lambda c: c.scalars(self._select(session_id, last, after)).all()), last)

    async def aread(self, session_id: str, *, last: int | None = None, after: int = 0) -> Sequence[str]:
        return _ordered(await self._arun(lambda c: c.scalars(self._select(session_id, last, after)).all()), last)

    def append(self, session_id: str, rows: list[str]) -> None:
        self._run(lambda connection: self._write(connection, session_id, rows))

    async def aappend(self, session_id: str, rows: list[str]) -> None:
        await self._arun(lambda connection: self._write(connection, session_id, rows))

    def replace(self, session_id: str, count: int, same: Callable[[Sequence[str]], bool], rows: list[str]) -> bool:
        return self._run(lambda connection: self._swap(connection, session_id, count, same, rows))

    async def areplace(
        self, session_id: str, count: int, same: Callable[[Sequence[str]], bool], rows: list[str]
    ) -> bool:
        return await self._arun(lambda connection: self._swap(connection, session_id, count, same, rows))

    def clear(self, session_id: str) -> None:
        """Remove all messages of this session."""
        self._run(lambda c: c.execute(self._rows.delete().where(self._session == bound_text(session_id))))

    async def aclear(self, session_id: str) -> None:
        """Remove all messages of this session."""
        await self._arun(lambda c: c.execute(self._rows.delete().where(self._session == bound_text(session_id))))


def _ordered(rows: Sequence[str], last: int | None) -> Sequence[str]:
    return rows if last is None else rows[::-1]


def _wrapped(error: Exception) -> StorageError:
    return StorageError(f"the message table could not be used: {error}", backend="sql")
