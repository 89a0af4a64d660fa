"""The journal in one SQLite file: five tables, append-only but for the row of each place.

A record's row number is that of its checkpoint and its place among its records, so they lie together with no index.

One connection, one lock: every commit is a short immediate transaction, and commits that wait for the lock go together
in the next one. The connection never waits inside SQLite for another process; we do, outside, with growing pauses, so
an event loop can leave instead. A forked child opens the file anew.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from clew import _sqlite
from clew.checkpoint._journal import IDLE, RUNNING, Batch, Busy, Fenced, GroupCommit, Job, Place, Row, may_take
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS clew_places (
        p INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, ns TEXT NOT NULL, token INTEGER NOT NULL, owner TEXT NOT NULL,
        expires REAL NOT NULL, state INTEGER NOT NULL, name TEXT NOT NULL, info BLOB NOT NULL, head INTEGER,
        changed REAL NOT NULL, UNIQUE (thread_id, ns))""",
    """CREATE TABLE IF NOT EXISTS clew_checkpoints (
        c INTEGER PRIMARY KEY, p INTEGER NOT NULL, id BLOB NOT NULL, parent BLOB, body BLOB NOT NULL, UNIQUE (p,
        id))""",
    "CREATE TABLE IF NOT EXISTS clew_records (r INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE IF NOT EXISTS clew_values (
        v INTEGER PRIMARY KEY, p INTEGER NOT NULL, chain INTEGER NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL,
        UNIQUE (p, chain, n))""",
    """CREATE TABLE IF NOT EXISTS clew_notes (
        p INTEGER, key TEXT, body BLOB NOT NULL, PRIMARY KEY (p, key)) WITHOUT ROWID""",
)
PLACE = "p, thread_id, ns, token, owner, expires, state, name, info, head, changed"
_generation = 0


def _forked() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_forked)


def _id(text: str | None) -> bytes | str | None:
    """Return a checkpoint id as it is stored: UUIDs as 16 bytes, which sort like their text."""
    if text is not None and len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
        with contextlib.suppress(ValueError):
            return bytes.fromhex(text.replace("-", ""))
    return text


def _text(stored: bytes | str | None) -> str | None:
    if not isinstance(stored, bytes):
        return stored
    text = stored.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


_SHIFT = 32  # a checkpoint has room for so many bits of records


def _span(c: int) -> tuple[int, int]:
    """Return the first and last row number of a checkpoint's records."""
    return c << _SHIFT, (c + 1 << _SHIFT) - 1


class _Key:
    """Row numbers that were met: of the place, of its checkpoints, and of the next record of each."""

    __slots__ = ("checkpoints", "next", "p")

    def __init__(self, p: int) -> None:
        self.p = p
        self.checkpoints: dict[str, int] = {}
        self.next: dict[int, int] = {}


def _forget(jobs: list[Job]) -> None:
    """Drop the row numbers that a transaction gave which was rolled back: others will get them."""
    for job in jobs:
        key: _Key | None = job.place.key
        if job.place.token == 0:
            job.place.key = None
        elif key is not None:
            key.checkpoints.clear()
            key.next.clear()


class SqliteJournal:
    """The blocking face.

    connection: in use by nobody else while a call runs. timeout: seconds to wait for another process's lock.
    """

    def __init__(self, connection: sqlite3.Connection, *, timeout: float = 30.0, synchronous: str = "normal") -> None:
        self.connection = connection
        self.timeout = timeout
        self.synchronous = synchronous
        self.path = ""
        self._ready = False
        self._closed = False
        self._generation = _generation
        self._group = GroupCommit(self._write)

    # -- the connection ------------------------------------------------------------------------------

    def setup(self) -> None:
        """Make the tables; safe to repeat, and done by itself at the first use."""
        with self._group.lock:
            if self._ready:
                return
            try:
                connection = self.connection
                if connection.isolation_level is not None:
                    if connection.in_transaction:
                        connection.commit()
                    connection.isolation_level = None
                row = connection.execute("PRAGMA database_list").fetchone()
                self.path = row[2] or ""
                connection.execute("PRAGMA busy_timeout=0")
                if self.path:
                    self._retry(lambda: connection.execute("PRAGMA journal_mode=WAL"))
                    connection.execute(f"PRAGMA synchronous={'FULL' if self.synchronous == 'full' else 'NORMAL'}")
                found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
                if "clew_notes" not in found:
                    self._retry(lambda: connection.execute("BEGIN IMMEDIATE"))
                    for statement in SCHEMA:
                        connection.execute(statement)
                    connection.execute("COMMIT")
            except sqlite3.Error as error:
                _sqlite.rollback(self.connection)
                raise _sqlite.wrap(error, self.path or "the database") from error
            self._ready = True

    def _open(self) -> sqlite3.Connection:
        """Return the connection, ready for use by the holder of the lock."""
        if self._generation != _generation:
            self._reopen()
        if not self._ready:
            if self._closed:
                raise StorageError("this saver was closed: open it again with from_conn_string(...)", backend="sqlite")
            self.setup()
        return self.connection

    def _reopen(self) -> None:
        """Leave the parent's connection alone (closing it here would drop its locks) and open one of our own."""
        _inherited.append(self.connection)
        self._generation = _generation
        if self.path:
            self.connection = _sqlite.connect(self.path, timeout=self.timeout)
            self.connection.execute("PRAGMA busy_timeout=0")
            self.connection.execute(f"PRAGMA synchronous={'FULL' if self.synchronous == 'full' else 'NORMAL'}")

    def close(self) -> None:
        """Close the connection."""
        with self._group.lock:
            self._ready = False
            self._closed = True
            self.connection.close()

    def _retry(self, call: Callable[[], Any]) -> Any:
        """Call until another process lets go of the file, for up to `timeout` seconds."""
        deadline, pause = time.monotonic() + self.timeout, 0.0003
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if not _sqlite.is_busy(error) or self.inline or time.monotonic() > deadline:
                    raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.6, 0.015)

    quick = True
    inline = False  # set while an event loop tries without waiting

    # -- writing -------------------------------------------------------------------------------------

    def commit(self, place: Place, batch: Batch) -> None:
        if self._generation != _generation:
            self._group = GroupCommit(self._write)
        self._group.commit(place, batch, alone=self.inline)

    def _write(self, jobs: list[Job]) -> None:
        connection = self._open()
        try:
            if len(jobs) == 1 and self._append(connection, jobs[0]):
                return
            self._retry(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                for job in jobs:
                    try:
                        self._apply(connection, job.place, job.batch)
                    except Fenced as error:
                        job.error = error
                connection.execute("COMMIT")
            except BaseException:
                _sqlite.rollback(connection)
                _forget(jobs)
                raise
        except sqlite3.Error as error:
            raise _sqlite.wrap(error, self.path) from error
        except StorageError:
            if len(jobs) == 1:
                raise
            for job in jobs:  # one of them asks for what can't be: the others are no part of that
                try:
                    self._write([job])
                except StorageError as error:
                    job.error = error

    def _append(self, connection: sqlite3.Connection, job: Job) -> bool:
        """Write the commonest batch, one record under a known token, in one statement; False when it is another."""
        batch, place = job.batch, job.place
        if not place.token or len(batch.records) != 1 or batch.checkpoint is not None or batch.values or batch.notes \
                or batch.state is not None or batch.drops or batch.release or batch.head is not None:  # fmt: skip
            return False
        checkpoint_id, n, body = batch.records[0]
        key: _Key = place.key
        c = key.checkpoints.get(checkpoint_id)
        r = None if c is None else key.next.get(c)
        if c is None or r is None or n < 0:
            return False
        arguments = (r, body, key.p, place.token)
        sql = "INSERT INTO clew_records SELECT ?, ? FROM clew_places WHERE p = ? AND token = ?"
        try:
            done = connection.execute(sql, arguments)
        except sqlite3.OperationalError as error:
            if not _sqlite.is_busy(error):
                raise
            done = self._retry(lambda: connection.execute(sql, arguments))
        if done.rowcount == 0:
            job.error = Fenced()
        else:
            key.next[c] = r + 1
        return True

    def _apply(self, connection: sqlite3.Connection, place: Place, batch: Batch) -> None:
        key: _Key | None = place.key
        if key is None:
            key = place.key = _Key(self._place(connection, place.thread_id, place.ns))
        p = key.p
        if place.token:
            found = connection.execute("SELECT token FROM clew_places WHERE p = ?", (p,)).fetchone()
            if found is None or found[0] != place.token:
                raise Fenced
        for dropped in batch.drops:
            self._drop(connection, key, dropped)
        sets: list[str] = []
        arguments: list[Any] = []
        if batch.checkpoint is not None:
            sets.append("head = ?")
            arguments.append(self._add(connection, key, batch.checkpoint))
        if batch.head is not None:
            sets.append("head = ?")
            arguments.append(self._checkpoint(connection, key, batch.head) if batch.head else None)
        for checkpoint_id, _, body in batch.records:
            self._record(connection, key, checkpoint_id, body, fenced=bool(place.token))
        self._values_and_notes(connection, p, batch)
        self._set_place(connection, p, batch, sets, arguments)

    @staticmethod
    def _set_place(connection: sqlite3.Connection, p: int, batch: Batch, sets: list[str], arguments: list[Any]) -> None:
        if batch.state is not None:
            sets.append("state = ?, name = ?, info = ?, changed = ?")
            arguments += [*batch.state, time.time()]
        if batch.release:
            sets.append("owner = ''")
        if sets:
            connection.execute(f"UPDATE clew_places SET {', '.join(sets)} WHERE p = ?", (*arguments, p))

    def _drop(self, connection: sqlite3.Connection, key: _Key, checkpoint_id: str) -> None:
        c = self._checkpoint(connection, key, checkpoint_id)
        if c is not None:
            connection.execute("DELETE FROM clew_records WHERE r BETWEEN ? AND ?", _span(c))
            connection.execute("DELETE FROM clew_checkpoints WHERE c = ?", (c,))
            key.next.pop(c, None)
            key.checkpoints.pop(checkpoint_id, None)

    @staticmethod
    def _add(connection: sqlite3.Connection, key: _Key, row: Row) -> int:
        """Write a checkpoint; the same id again replaces it. Returns its number."""
        c = connection.execute(
            "INSERT INTO clew_checkpoints (p, id, parent, body) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (p, id) DO UPDATE SET parent = excluded.parent, body = excluded.body RETURNING c",
            (key.p, _id(row.id), _id(row.parent), row.body),
        ).fetchone()[0]
        key.checkpoints[row.id] = c
        key.next.setdefault(c, c << _SHIFT)
        return c

    def _record(
        self, connection: sqlite3.Connection, key: _Key, checkpoint_id: str, body: bytes, *, fenced: bool
    ) -> None:
        """Write a record after the last one; without a fence somebody else may have written meanwhile."""
        c = self._checkpoint(connection, key, checkpoint_id)
        if c is None:
            raise StorageError(f"there is no checkpoint {checkpoint_id!r} to write beside", backend="sqlite")
        r = key.next.get(c) if fenced else None
        if r is None:
            last = connection.execute("SELECT max(r) FROM clew_records WHERE r BETWEEN ? AND ?", _span(c)).fetchone()[0]
            r = c << _SHIFT if last is None else last + 1
        connection.execute("INSERT INTO clew_records VALUES (?, ?)", (r, body))
        key.next[c] = r + 1

    @staticmethod
    def _values_and_notes(connection: sqlite3.Connection, p: int, batch: Batch) -> None:
        for chain, n, body in batch.values:
            if n < 0:
                connection.execute("DELETE FROM clew_values WHERE p = ? AND chain = ?", (p, chain))
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO clew_values (p, chain, n, body) VALUES (?, ?, ?, ?)", (p, chain, n, body)
                )
        for name, note in batch.notes:
            if note is None:
                connection.execute("DELETE FROM clew_notes WHERE p = ? AND key = ?", (p, name))
            else:
                connection.execute("INSERT OR REPLACE INTO clew_notes VALUES (?, ?, ?)", (p, name, note))

    @staticmethod
    def _place(connection: sqlite3.Connection, thread_id: str, ns: str) -> int:
        found = connection.execute(
            "SELECT p FROM clew_places WHERE thread_id = ? AND ns = ?", (thread_id, ns)
        ).fetchone()
        if found is not None:
            return found[0]
        return connection.execute(
            "INSERT INTO clew_places (thread_id, ns, token, owner, expires, state, name, info, changed) "
            "VALUES (?, ?, 0, '', 0, ?, '', x'', ?) RETURNING p",
            (thread_id, ns, IDLE, time.time()),
        ).fetchone()[0]

    @staticmethod
    def _checkpoint(connection: sqlite3.Connection, key: _Key, checkpoint_id: str) -> int | None:
        c = key.checkpoints.get(checkpoint_id)
        if c is None:
            found = connection.execute(
                "SELECT c FROM clew_checkpoints WHERE p = ? AND id = ?", (key.p, _id(checkpoint_id))
            ).fetchone()
            if found is not None:
                c = key.checkpoints[checkpoint_id] = found[0]
        return c

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        return self._transaction(lambda connection: self._take(connection, thread_id, ns, owner, seconds, steal))

    def _take(
        self, connection: sqlite3.Connection, thread_id: str, ns: str, owner: str, seconds: float, steal: bool
    ) -> Place:
        now = time.time()
        row = connection.execute(
            f"SELECT {PLACE} FROM clew_places WHERE thread_id = ? AND ns = ?", (thread_id, ns)
        ).fetchone()
        if row is None:
            p = connection.execute(
                "INSERT INTO clew_places (thread_id, ns, token, owner, expires, state, name, info, changed) "
                "VALUES (?, ?, 1, ?, ?, ?, '', x'', ?)",
                (thread_id, ns, owner, now + seconds, RUNNING, now),
            ).lastrowid
            place = Place(thread_id, ns)
            place.key = _Key(p or 0)
            place.token = 1
        else:
            place = self._read(connection, row, None)
            if not steal and not may_take(place.owner, place.expires, now):
                raise Busy(place)
            place.token = row[3] + 1
            connection.execute(
                "UPDATE clew_places SET token = ?, owner = ?, expires = ?, state = ?, changed = ? WHERE p = ?",
                (place.token, owner, now + seconds, RUNNING, now, row[0]),
            )
        place.owner = owner
        place.expires = now + seconds
        return place

    def _transaction(self, body: Callable[[sqlite3.Connection], Any]) -> Any:
        if self._generation != _generation:
            self._group = GroupCommit(self._write)
        with self._group.lock:
            connection = self._open()
            try:
                self._retry(lambda: connection.execute("BEGIN IMMEDIATE"))
                try:
                    result = body(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    _sqlite.rollback(connection)
                    raise
            except sqlite3.Error as error:
                raise _sqlite.wrap(error, self.path) from error
            return result

    def renew(self, place: Place, seconds: float) -> bool:
        def extend(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE clew_places SET expires = ? WHERE p = ? AND token = ?",
                (time.time() + seconds, place.key.p, place.token),
            ).rowcount

        return self._transaction(extend) > 0

    def delete(self, thread_id: str) -> None:
        def remove(connection: sqlite3.Connection) -> None:
            for (p,) in connection.execute("SELECT p FROM clew_places WHERE thread_id = ?", (thread_id,)).fetchall():
                for (c,) in connection.execute("SELECT c FROM clew_checkpoints WHERE p = ?", (p,)).fetchall():
                    connection.execute("DELETE FROM clew_records WHERE r BETWEEN ? AND ?", _span(c))
                for table in ("clew_checkpoints", "clew_values", "clew_notes", "clew_places"):
                    connection.execute(f"DELETE FROM {table} WHERE p = ?", (p,))

        self._transaction(remove)

    def copy(self, source: str, target: str) -> None:
        def duplicate(connection: sqlite3.Connection) -> None:
            places = connection.execute(
                "SELECT p, ns, state, name, info, head FROM clew_places WHERE thread_id = ?", (source,)
            ).fetchall()
            for p, ns, state, name, info, head in places:
                new = self._place(connection, target, ns)
                numbers: dict[int, int | None] = {}
                for c, one, parent, body in connection.execute(
                    "SELECT c, id, parent, body FROM clew_checkpoints WHERE p = ? ORDER BY c", (p,)
                ).fetchall():
                    copied = connection.execute(
                        "INSERT INTO clew_checkpoints (p, id, parent, body) VALUES (?, ?, ?, ?)",
                        (new, one, parent, body),
                    ).lastrowid
                    numbers[c] = copied
                    offset = ((copied or 0) - c) << _SHIFT
                    connection.execute(
                        "INSERT INTO clew_records SELECT r + ?, body FROM clew_records WHERE r BETWEEN ? AND ?",
                        (offset, *_span(c)),
                    )
                connection.execute(
                    "INSERT INTO clew_values (p, chain, n, body) SELECT ?, chain, n, body FROM clew_values WHERE p = ?",
                    (new, p),
                )
                connection.execute("INSERT INTO clew_notes SELECT ?, key, body FROM clew_notes WHERE p = ?", (new, p))
                connection.execute(
                    "UPDATE clew_places SET state = ?, name = ?, info = ?, head = ? WHERE p = ?",
                    (state, name, info, numbers.get(head), new),
                )

        self._transaction(duplicate)

    # -- reading -------------------------------------------------------------------------------------

    def _read(self, connection: sqlite3.Connection, row: tuple[Any, ...], checkpoint_id: str | None) -> Place:
        p, thread_id, ns, _, owner, expires, state, name, info, head, changed = row
        place = Place(thread_id, ns)
        key = place.key = _Key(p)
        place.owner, place.expires, place.state, place.name, place.info = owner, expires, state, name, info
        place.changed = changed
        found = None
        if head is not None:
            found = connection.execute(
                "SELECT c, id, parent, body FROM clew_checkpoints WHERE c = ?", (head,)
            ).fetchone()
            if found is not None:
                place.latest = _text(found[1])
        if checkpoint_id is not None and checkpoint_id != place.latest:
            found = connection.execute(
                "SELECT c, id, parent, body FROM clew_checkpoints WHERE p = ? AND id = ?", (p, _id(checkpoint_id))
            ).fetchone()
        if found is not None:
            c, one, parent, body = found
            place.head = Row(_text(one) or "", _text(parent), body)
            key.checkpoints[place.head.id] = c
            rows = connection.execute(
                "SELECT r, body FROM clew_records WHERE r BETWEEN ? AND ? ORDER BY r", _span(c)
            ).fetchall()
            place.records = [body for _, body in rows]
            key.next[c] = rows[-1][0] + 1 if rows else c << _SHIFT
        return place

    def _reading(self, body: Callable[[sqlite3.Connection], Any]) -> Any:
        if self._generation != _generation:
            self._group = GroupCommit(self._write)
        with self._group.lock:
            connection = self._open()
            try:
                return self._retry(lambda: body(connection))
            except sqlite3.Error as error:
                raise _sqlite.wrap(error, self.path) from error

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        def read(connection: sqlite3.Connection) -> Place | None:
            row = connection.execute(
                f"SELECT {PLACE} FROM clew_places WHERE thread_id = ? AND ns = ?", (thread_id, ns)
            ).fetchone()
            return None if row is None else self._read(connection, row, checkpoint_id)

        return self._reading(read)

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        def read(connection: sqlite3.Connection) -> list[bytes]:
            p = place.key.p if place.key is not None else self._place(connection, place.thread_id, place.ns)
            rows = connection.execute(
                "SELECT body FROM clew_values WHERE p = ? AND chain = ? AND n <= ? ORDER BY n", (p, chain, n)
            )
            return [body for (body,) in rows]

        return self._reading(read)

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        def read(connection: sqlite3.Connection) -> list[tuple[str, str, Row]]:
            where, arguments = ["1"], list[Any]()
            for column, value in (("thread_id = ?", thread_id), ("ns = ?", ns), ("id < ?", _id(before))):
                if value is not None:
                    where.append(column)
                    arguments.append(value)
            rows = connection.execute(
                "SELECT thread_id, ns, id, parent, body FROM clew_checkpoints JOIN clew_places USING (p) "
                f"WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
                (*arguments, -1 if limit is None else limit),
            )
            return [
                (thread, space, Row(_text(one) or "", _text(parent), body)) for thread, space, one, parent, body in rows
            ]

        return self._reading(read)

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        place = self.load(thread_id, ns, checkpoint_id)
        return [] if place is None else place.records

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        def read(connection: sqlite3.Connection) -> dict[str, bytes]:
            rows = connection.execute(
                "SELECT key, body FROM clew_notes JOIN clew_places USING (p) "
                "WHERE thread_id = ? AND ns = ? AND key >= ? AND key < ?",
                (thread_id, ns, prefix, prefix + "\U0010ffff"),
            )
            return dict(rows.fetchall())

        return self._reading(read)

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        def read(connection: sqlite3.Connection) -> list[Place]:
            rows = connection.execute(
                f"SELECT {PLACE}, id FROM clew_places LEFT JOIN clew_checkpoints ON c = head "
                "WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR name = ?2) ORDER BY changed DESC LIMIT ?3".replace(
                    "SELECT p,", "SELECT clew_places.p,"
                ),
                (state, name, -1 if limit is None else limit),
            )
            found: list[Place] = []
            for _, thread_id, ns, _, owner, expires, status, called, info, _, changed, head in rows:
                place = Place(thread_id, ns)
                place.owner, place.expires, place.state = owner, expires, status
                place.name, place.info, place.changed, place.latest = called, info, changed, _text(head)
                found.append(place)
            return found

        return self._reading(read)


_inherited: list[object] = []
