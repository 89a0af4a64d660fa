"""Notes in a table of an SQLite file."""

from __future__ import annotations

from clew.memory.entity_stores.base import BaseEntityStore

__all__ = ["SQLiteEntityStore"]


class SQLiteEntityStore(BaseEntityStore):
    """Notes of one session in one table of one file: they survive restarts, on one machine.

    session_id: any text; a value of a column, never part of a name. db_file: the file. table_name: any name.
    Raises: StorageError when the file can't do its work.
    """

    def __init__(
        self,
        session_id: str = "default",
        db_file: str = "entities.db",
        table_name: str = "memory_store",
    ) -> None:
        from clew._sqlite import Database

        name = _quoted(table_name)
        self.session_id = session_id
        self.table_name = table_name
        self._name = name
        self._session = _bound(session_id)
        self.database = Database(
            db_file,
            component=f"entities:{table_name}",
            migrations=[
                f"CREATE TABLE IF NOT EXISTS {name} (session_id, key, value NOT NULL, PRIMARY KEY (session_id, key)) "
                "WITHOUT ROWID"
            ],
        )

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the note about a thing, or the default."""
        rows = self.database.execute(
            f"SELECT value FROM {self._name} WHERE session_id = ? AND key = ?", (self._session, _bound(key))
        )
        return _unbound(rows[0][0]) if rows else default

    def set(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        if not value:
            self.delete(key)
            return
        self.database.write(
            f"INSERT INTO {self._name} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (self._session, _bound(key), _bound(value)),
        )

    def delete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        self.database.write(
            f"DELETE FROM {self._name} WHERE session_id = ? AND key = ?", (self._session, _bound(key))
        )

    def exists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return bool(
            self.database.execute(
                f"SELECT 1 FROM {self._name} WHERE session_id = ? AND key = ?", (self._session, _bound(key))
            )
        )

    def clear(self) -> None:
        """Delete all notes of this session."""
        self.database.write(f"DELETE FROM {self._name} WHERE session_id = ?", (self._session,))


def _quoted(name: str) -> str:
    if not name or "\x00" in name:
        raise ValueError(f"{name!r} can't be the name of a table")
    return '"' + name.replace('"', '""') + '"'


def _bound(text: str) -> str | bytes:
    """Return text as SQLite takes it: as it is, or as bytes where half a surrogate pair is in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _unbound(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")
