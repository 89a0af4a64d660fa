"""One Postgres table for all sessions, a row per message.

A write is one statement, so one round trip: it takes the session's lock, a number for the whole write, and inserts the
rows under it; rows of one write stand together and writes follow each other in the order in which they were committed.
Every write has an id, so that doing it once more after a broken connection does not double it. No statement needs the
session of the connection: a pooler may stand in between.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from clew._ids import new_id
from clew._postgres import AsyncPool, Pool, amigrate, migrate
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._rows import RowHistory
from clew.chat_message_histories._shared import shared
from clew.chat_message_histories._tables import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PostgresChatMessageHistory"]

_ready: set[tuple[str, str]] = set()


def _pool(conninfo: str) -> Pool:
    """Return the one pool of a database."""
    return shared(("postgres", conninfo), lambda: Pool(conninfo), lambda pool: pool.close())


class _Statements:
    """What is said to the server about one table."""

    def __init__(self, table: str) -> None:
        name, sequence = quoted(table), quoted(f"{table}_write_seq")
        self.component = f"chat_history:{table}"
        columns = "id BIGSERIAL PRIMARY KEY, session_id TEXT NOT NULL, message TEXT NOT NULL"
        self.migrations = (
            f"CREATE TABLE IF NOT EXISTS {name} ({columns})",
            f"ALTER TABLE {name} ALTER COLUMN message TYPE TEXT USING message::text",  # a table of others: jsonb
            f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS write_number BIGINT, "
            "ADD COLUMN IF NOT EXISTS place INTEGER NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS write_id TEXT",
            # rows of others come before all of ours
            f"UPDATE {name} SET write_number = id - 9223372036854775807 WHERE write_number IS NULL",
            f"CREATE SEQUENCE IF NOT EXISTS {sequence}",
            f"CREATE INDEX IF NOT EXISTS {quoted(table + '_session')} ON {name} (session_id, write_number, place)",
            f"CREATE UNIQUE INDEX IF NOT EXISTS {quoted(table + '_write')} ON {name} (write_id, place)",
        )
        order = "ORDER BY write_number, place"
        down = "ORDER BY write_number DESC, place DESC"
        self.read = f"SELECT message FROM {name} WHERE session_id = %s {order} OFFSET %s"
        self.last = f"SELECT message FROM {name} WHERE session_id = %s {down} LIMIT %s"
        # the lock comes before the number: `number` reads from `held`
        self.append = (
            "WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)) AS it), "
            f"number AS MATERIALIZED (SELECT nextval('{sequence.replace(chr(39), chr(39) * 2)}') AS n FROM held) "
            f"INSERT INTO {name} (session_id, write_number, place, write_id, message) "
            "SELECT %s, n, given.place, %s, given.message "
            "FROM number, unnest(%s::text[]) WITH ORDINALITY AS given (message, place) ON CONFLICT DO NOTHING"
        )
        self.lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
        self.head = f"SELECT id, write_number, place, message FROM {name} WHERE session_id = %s {order} LIMIT %s"
        self.delete = f"DELETE FROM {name} WHERE id = ANY(%s)"
        self.insert = (
            f"INSERT INTO {name} (session_id, write_number, place, write_id, message) "
            "SELECT %s, %s, %s + given.place, %s, given.message "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS given (message, place)"
        )
        self.clear = f"DELETE FROM {name} WHERE session_id = %s"


@functools.lru_cache(maxsize=64)
def _statements(table: str) -> _Statements:
    return _Statements(table)


class PostgresChatMessageHistory(RowHistory):
    """The messages of one session in a Postgres table, which is made when it is missing.

    session_id: any text. connection_string: "postgresql://user@host/db". table_name: a name, never read as SQL. A table
    that others made with columns (id, session_id, message) is taken over, its messages kept; `message` becomes text.
    Raises: StorageError when the server can't do its work.
    """

    def __init__(
        self,
        session_id: str,
        connection_string: str = "postgresql://postgres@localhost/chat_history",
        table_name: str = "message_store",
    ) -> None:
        self.session_id = session_id
        self.connection_string = connection_string
        self.table_name = table_name
        self._sql = _statements(table_name)
        self._session = bound_text(session_id)

    # -- blocking -------------------------------------------------------------------------------------

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        query, number = (self._sql.read, after) if last is None else (self._sql.last, last)
        rows = self._pool().fetch("reading a history", query, (self._session, number))
        return _messages(rows, last)

    def _append(self, rows: list[str]) -> None:
        given = self._given(rows)
        self._pool().run("appending to a history", lambda connection: connection.execute(self._sql.append, given))

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        def work(connection: Any) -> bool:
            with connection.transaction():
                connection.execute(self._sql.lock, (self._session,))
                found = connection.execute(self._sql.head, (self._session, count)).fetchall()
                if len(found) < count or not same([row[3] for row in found]):
                    return False
                connection.execute(self._sql.delete, ([row[0] for row in found],))
                if rows:
                    connection.execute(self._sql.insert, self._in_place_of(found, rows))
            return True

        return self._pool().run("compacting a history", work)

    def _clear(self) -> None:
        self._pool().run("clearing a history", lambda connection: connection.execute(self._sql.clear, (self._session,)))

    def _pool(self) -> Pool:
        pool = _pool(self.connection_string)
        if (self.connection_string, self.table_name) not in _ready:
            migrate(pool, self._sql.component, self._sql.migrations)
            _ready.add((self.connection_string, self.table_name))
        return pool

    # -- awaited --------------------------------------------------------------------------------------

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        query, number = (self._sql.read, after) if last is None else (self._sql.last, last)
        rows = await (await self._apool()).fetch("reading a history", query, (self._session, number))
        return _messages(rows, last)

    async def _aappend(self, rows: list[str]) -> None:
        given = self._given(rows)
        pool = await self._apool()
        await pool.run("appending to a history", lambda connection: connection.execute(self._sql.append, given))

    async def _aclear(self) -> None:
        pool = await self._apool()
        await pool.run("clearing a history", lambda connection: connection.execute(self._sql.clear, (self._session,)))

    async def _apool(self) -> AsyncPool:
        place = self.connection_string
        pool: AsyncPool = await loop_client(("postgres", place), lambda: AsyncPool(place), lambda pool: pool.close())
        if (place, self.table_name) not in _ready:
            await amigrate(pool, self._sql.component, self._sql.migrations)
            _ready.add((place, self.table_name))
        return pool

    # -- parameters -----------------------------------------------------------------------------------

    def _given(self, rows: list[str]) -> tuple[Any, ...]:
        return (self._session, self._session, new_id(), rows)

    def _in_place_of(self, found: list[tuple[Any, ...]], rows: list[str]) -> tuple[Any, ...]:
        """Number the new rows so that they stand just before whatever follows the old ones."""
        number, place = (found[-1][1], found[-1][2]) if found else (-(2**63), 0)
        return (self._session, number, place - len(rows), new_id(), rows)


def _messages(rows: list[tuple[Any, ...]], last: int | None) -> list[str]:
    messages = [row[0] for row in rows]
    return messages if last is None else messages[::-1]
