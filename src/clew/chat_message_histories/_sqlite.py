"""The message table in an SQLite file, through the standard library.

Handles are cheap: all of one file and table share one pool of connections, since web servers make a handle per request.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clew import _sqlite
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._tables import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KEPT = 64  # pools kept open
_pools: OrderedDict[tuple[str, str, str], tuple[_sqlite.Database, tuple[int, int]]] = OrderedDict()
_guard = threading.Lock()


class SqliteTable:
    """Rows of `(id, session_id, message)` in one table of one file.

    path: file name or ":memory:" (a database of this handle alone).
    """

    def __init__(self, path: str, table: str, column: str) -> None:
        self._table = quoted(table)
        self._column = quoted(column)
        self.database = self._open(path, table, column)

    def _open(self, path: str, table: str, column: str) -> _sqlite.Database:
        if path == ":memory:":
            return self._new(path, table)
        key = (os.path.realpath(path), table, column)
        with _guard:
            kept = _pools.get(key)
            if kept is not None and kept[1] == _identity(path):
                _pools.move_to_end(key)
                return kept[0]
            database = self._new(path, table)
            database.execute("SELECT 1")  # makes the file and the table, so that the file has an identity
            _pools[key] = (database, _identity(path))
            if len(_pools) > _KEPT:
                _pools.popitem(last=False)
        return database

    def _new(self, path: str, table: str) -> _sqlite.Database:
        columns = f"id INTEGER PRIMARY KEY, {self._column} TEXT, message TEXT"
        index = quoted(f"{table}_session")
        return _sqlite.Database(
            path,
            component=f"chat_history:{table}:{self._column}",
            migrations=[
                f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})",
                f"CREATE INDEX IF NOT EXISTS {index} ON {self._table} ({self._column}, id)",
            ],
        )

    def read(self, session_id: str, *, last: int | None = None, after: int = 0) -> Sequence[str]:
        query = f"SELECT message FROM {self._table} WHERE {self._column} = ? ORDER BY id"
        session = bound_text(session_id)
        if last is not None:
            rows = self.database.execute(f"{query} DESC LIMIT ?", (session, last))
            rows.reverse()
        elif after:
            rows = self.database.execute(f"{query} LIMIT -1 OFFSET ?", (session, after))
        else:
            rows = self.database.execute(query, (session,))
        return [row[0] for row in rows]

    def append(self, session_id: str, rows: list[str]) -> None:
        session = bound_text(session_id)
        with self.database.transaction() as connection:
            connection.executemany(
                f"INSERT INTO {self._table} ({self._column}, message) VALUES (?, ?)", [(session, row) for row in rows]
            )

    def replace(
        self, session_id: str, count: int, same: Callable[[Sequence[str]], bool], rows: list[str]
    ) -> bool:
        """Swap the oldest rows; the new ones take ids of the old ones, so that what follows stays where it is."""
        session = bound_text(session_id)
        with self.database.transaction() as connection:
            found = connection.execute(
                f"SELECT id, message FROM {self._table} WHERE {self._column} = ? ORDER BY id", (session,)
            ).fetchmany(count if len(rows) <= count else -1)
            if len(found) < count or not same([message for _, message in found[:count]]):
                return False
            rows = rows + [message for _, message in found[count:]]
            connection.executemany(f"DELETE FROM {self._table} WHERE id = ?", [(row[0],) for row in found])
            ids = [row[0] for row in found][len(found) - len(rows) :] if len(rows) <= len(found) else [None] * len(rows)
            connection.executemany(
                f"INSERT INTO {self._table} (id, {self._column}, message) VALUES (?, ?, ?)",
                [(place, session, row) for place, row in zip(ids, rows, strict=True)],
            )
        return True

    def clear(self, session_id: str) -> None:
        """Remove all messages of this session."""
        self.database.write(f"DELETE FROM {self._table} WHERE {self._column} = ?", (bound_text(session_id),))


def _identity(path: str) -> tuple[int, int]:
    """Which file a name leads to: one that was deleted and made again is another."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
