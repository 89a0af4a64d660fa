"""One table for all sessions, in SQLite (no extra package) or in any database that SQLAlchemy speaks to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.chat_message_histories._rows import RowHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.chat_message_histories._alchemy import AlchemyTable
    from clew.chat_message_histories._sqlite import SqliteTable

__all__ = ["SQLChatMessageHistory"]

_ASYNC_DRIVERS = ("aiosqlite", "asyncpg", "asyncmy", "aiomysql", "psycopg_async", "aioodbc")


class SQLChatMessageHistory(RowHistory):
    """The messages of one session in a table `(id, session_id, message)`, which is made when it is missing.

    session_id: any text. connection: "sqlite:///chat.db" (standard library), another SQLAlchemy URL ("sql" extra), or
    an Engine or AsyncEngine of yours. connection_string: the same, under its older name. table_name,
    session_id_field_name: names, never read as SQL. engine_args: keywords for create_engine. async_mode: whether the
    URL's driver is async; seen from the URL unless given.
    Raises: ValueError without a connection, StorageError when the database can't do its work.
    """

    def __init__(
        self,
        session_id: str,
        connection_string: str | None = None,
        table_name: str = "message_store",
        session_id_field_name: str = "session_id",
        connection: Any = None,
        engine_args: dict[str, Any] | None = None,
        async_mode: bool | None = None,
    ) -> None:
        target = connection if connection is not None else connection_string
        if target is None:
            raise ValueError("SQLChatMessageHistory needs connection=, such as 'sqlite:///chat.db'")
        self.session_id = session_id
        self.table_name = table_name
        path = _sqlite_path(target) if not engine_args else None
        self._table: SqliteTable | AlchemyTable
        if path is not None:
            from clew.chat_message_histories._sqlite import SqliteTable

            self._table = SqliteTable(path, table_name, session_id_field_name)
            return
        from clew.chat_message_histories._alchemy import AlchemyTable

        if async_mode is None:
            async_mode = isinstance(target, str) and any(f"+{name}" in target for name in _ASYNC_DRIVERS)
        self._table = AlchemyTable(
            target, table_name, session_id_field_name, asynchronous=async_mode, options=engine_args
        )

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str]:
        return self._table.read(self.session_id, last=last, after=after)

    def _append(self, rows: list[str]) -> None:
        self._table.append(self.session_id, rows)

    def _replace(self, count: int, same: Callable[[Sequence[Any]], bool], rows: list[str]) -> bool:
        return self._table.replace(self.session_id, count, same, rows)

    def _clear(self) -> None:
        self._table.clear(self.session_id)

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if (table := self._native()) is not None:
            return await table.aread(self.session_id, last=last, after=after)
        return await super()._aread(last=last, after=after)

    async def _aappend(self, rows: list[str]) -> None:
        if (table := self._native()) is not None:
            await table.aappend(self.session_id, rows)
        else:
            await super()._aappend(rows)

    async def _aclear(self) -> None:
        if (table := self._native()) is not None:
            await table.aclear(self.session_id)
        else:
            await super()._aclear()

    def _native(self) -> AlchemyTable | None:
        """Return the table if its driver is async."""
        table: Any = self._table
        return table if getattr(table, "asynchronous", False) else None


def _sqlite_path(target: Any) -> str | None:
    """Return the file that a plain `sqlite:` URL names, or None for whatever else."""
    if not isinstance(target, str):
        return None
    scheme, found, rest = target.partition("://")
    if not found or scheme not in ("sqlite", "sqlite+pysqlite") or "?" in rest:
        return None
    return rest.removeprefix("/") or ":memory:"
