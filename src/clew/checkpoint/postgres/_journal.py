"""The journal on Postgres, blocking and awaited: one round trip per step, commits that meet go together."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from clew._postgres import AsyncPool, Pool, amigrate, migrate
from clew.checkpoint._journal import Batch, GroupCommit, Job, Place, Row, is_dead
from clew.checkpoint.postgres import _statements as S
from clew.checkpoint.postgres._schema import MIGRATIONS
from clew.errors import StorageCorruptError, StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_BINARY = [1] * 5
_TUPLES_OK = 2
_LARGEST = 2000  # records in one group: bounds the size of a message, and the wait of the first


def _whole(bodies: list[bytes], chain: int, n: int) -> list[bytes]:
    if len(bodies) != n + 1:
        raise StorageCorruptError(
            f"the chain {chain} of values has {len(bodies)} parts of {n + 1}: rows are missing",
            backend="postgres",
        )
    return bodies


class PostgresJournal:
    """The blocking face. Commits of all threads that arrive while one is under way share the next transaction."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._group = GroupCommit(self._write)
        self._pid = os.getpid()
        self._sender = Sender()

    def setup(self) -> None:
        """Create the tables and functions; safe to repeat, and from many processes at once."""
        migrate(self.pool, "journal", MIGRATIONS)

    def close(self) -> None:
        """Close the connections."""
        self.pool.close()

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        """Take the lease and read the place: one round trip, a second one when the holder must be looked at."""
        dead = ""
        while True:
            parameters = (S.raw(thread_id), S.raw(ns), owner, seconds, steal, dead)
            (row,) = self.pool.fetch("taking a lease", S.ACQUIRE, parameters)
            place = S.to_place(thread_id, ns, row)
            if row[13] or dead == place.owner or not is_dead(place.owner):
                return S.to_taken(place, row)
            dead = place.owner

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        """Read a place at one checkpoint; one round trip."""
        rows = self.pool.fetch("reading", S.LOAD, (S.raw(thread_id), S.raw(ns), S.raw(checkpoint_id)))
        return S.to_place(thread_id, ns, rows[0]) if rows else None

    def commit(self, place: Place, batch: Batch) -> None:
        """Apply a batch, alone or with others; on disk when it returns."""
        if self._pid != os.getpid():  # a forked child: the lock may be held by a thread that is not here
            self._group, self._pid = GroupCommit(self._write), os.getpid()
        self._group.commit(place, batch)

    def _write(self, jobs: list[Job]) -> None:
        """Write commits together; one that the server refuses fails alone, the others are written without it."""
        try:
            self._write_group(jobs)
        except StorageError as error:
            if len(jobs) == 1 or not S.is_about_data(error):
                raise
            for job in jobs:
                try:
                    self._write_group([job])
                except StorageError as alone:
                    job.error = alone

    def _write_group(self, jobs: list[Job]) -> None:
        calls = S.plan(jobs)
        if len(calls) == 1 and calls[0].raw is not None:
            raw = calls[0].raw
            found = self.pool.run("saving", lambda connection: self._sender.send(connection, raw))
            S.settle(calls[0], found)
        else:
            for call, found in zip(calls, self.pool.run("saving", lambda c: _send_all(c, calls)), strict=True):
                S.settle(call, found)

    def renew(self, place: Place, seconds: float) -> bool:
        """Extend the lease."""
        return bool(self.pool.fetch("renewing a lease", S.RENEW, (seconds, place.key, place.token)))

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        """Return the bodies 0 … n of a chain of values."""
        rows = self.pool.fetch("reading", *_chain(place, chain, n))
        return _whole([bytes(row[0]) for row in rows], chain, n)

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        """Return checkpoints, newest first."""
        rows = self.pool.fetch("listing", *S.checkpoints(thread_id, ns, before, limit))
        return [S.to_checkpoint(row) for row in rows]

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        """Return the bodies of a checkpoint's records."""
        rows = self.pool.fetch("reading", S.RECORDS, (S.raw(thread_id), S.raw(ns), S.raw(checkpoint_id)))
        return [bytes(row[0]) for row in rows]

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        """Return the notes whose key begins with prefix."""
        rows = self.pool.fetch("reading", S.NOTES, (S.raw(thread_id), S.raw(ns), *S.notes_span(prefix)))
        return {S.text(row[0]): bytes(row[1]) for row in rows}

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        """Return places, last changed first."""
        return [S.to_listed(row) for row in self.pool.fetch("listing", *S.places(state, name, limit))]

    def delete(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        self.pool.fetch("deleting", S.DELETE, (S.raw(thread_id),))

    def copy(self, source: str, target: str) -> None:
        """Copy a thread under another id, over whatever is there."""
        self.pool.fetch("copying", S.COPY, (S.raw(source), S.raw(target)))


class _Queue:
    """The commits of one event loop that wait, and the task that writes them."""

    __slots__ = ("__weakref__", "waiting", "writer")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Job, Any]] = deque()
        self.writer: Any = None


class AsyncPostgresJournal:
    """The awaited face, for one event loop. Commits that arrive while one is under way share the next transaction."""

    def __init__(self, pool: AsyncPool) -> None:
        self.pool = pool
        self._queues: WeakKeyDictionary[Any, _Queue] = WeakKeyDictionary()
        self._sender = Sender()

    async def setup(self) -> None:
        """Create the tables and functions; safe to repeat, and from many processes at once."""
        await amigrate(self.pool, "journal", MIGRATIONS)

    async def close(self) -> None:
        """Close the connections."""
        await self.pool.close()

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        """Take the lease and read the place; see PostgresJournal.acquire."""
        dead = ""
        while True:
            parameters = (S.raw(thread_id), S.raw(ns), owner, seconds, steal, dead)
            (row,) = await self.pool.fetch("taking a lease", S.ACQUIRE, parameters)
            place = S.to_place(thread_id, ns, row)
            if row[13] or dead == place.owner or not is_dead(place.owner):
                return S.to_taken(place, row)
            dead = place.owner

    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        """Read a place at one checkpoint; one round trip."""
        rows = await self.pool.fetch("reading", S.LOAD, (S.raw(thread_id), S.raw(ns), S.raw(checkpoint_id)))
        return S.to_place(thread_id, ns, rows[0]) if rows else None

    async def acommit(self, place: Place, batch: Batch) -> None:
        """Apply a batch, alone or with others; on disk when it returns. A caller's cancellation does not undo it."""
        import asyncio

        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue()
        job, done = Job(place, batch), loop.create_future()
        queue.waiting.append((job, done))
        if queue.writer is None:
            queue.writer = asyncio.ensure_future(self._flush(queue))
        await done
        if job.error is not None:
            raise job.error

    async def _flush(self, queue: _Queue) -> None:
        """Write until nobody waits."""
        try:
            while queue.waiting:
                waiting = [queue.waiting.popleft() for _ in range(min(len(queue.waiting), _LARGEST))]
                jobs = [job for job, _ in waiting]
                try:
                    await self._write(jobs)
                except BaseException as error:
                    for job in jobs:
                        job.error = job.error or error
                for _, done in waiting:
                    if not done.done():
                        done.set_result(None)
        finally:
            queue.writer = None

    async def _write(self, jobs: list[Job]) -> None:
        """Write commits together; one that the server refuses fails alone, the others are written without it."""
        try:
            await self._write_group(jobs)
        except StorageError as error:
            if len(jobs) == 1 or not S.is_about_data(error):
                raise
            for job in jobs:
                try:
                    await self._write_group([job])
                except StorageError as alone:
                    job.error = alone

    async def _write_group(self, jobs: list[Job]) -> None:
        calls = S.plan(jobs)
        if len(calls) == 1 and calls[0].raw is not None:
            raw = calls[0].raw
            found = await self.pool.run("saving", lambda connection: self._sender.asend(connection, raw))
            S.settle(calls[0], found)
        else:
            for call, found in zip(calls, await self.pool.run("saving", lambda c: _asend_all(c, calls)), strict=True):
                S.settle(call, found)

    async def arenew(self, place: Place, seconds: float) -> bool:
        """Extend the lease."""
        return bool(await self.pool.fetch("renewing a lease", S.RENEW, (seconds, place.key, place.token)))

    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]:
        """Return the bodies 0 … n of a chain of values."""
        rows = await self.pool.fetch("reading", *_chain(place, chain, n))
        return _whole([bytes(row[0]) for row in rows], chain, n)

    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        """Return checkpoints, newest first."""
        rows = await self.pool.fetch("listing", *S.checkpoints(thread_id, ns, before, limit))
        return [S.to_checkpoint(row) for row in rows]

    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        """Return the bodies of a checkpoint's records."""
        rows = await self.pool.fetch("reading", S.RECORDS, (S.raw(thread_id), S.raw(ns), S.raw(checkpoint_id)))
        return [bytes(row[0]) for row in rows]

    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        """Return the notes whose key begins with prefix."""
        rows = await self.pool.fetch("reading", S.NOTES, (S.raw(thread_id), S.raw(ns), *S.notes_span(prefix)))
        return {S.text(row[0]): bytes(row[1]) for row in rows}

    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        """Return places, last changed first."""
        return [S.to_listed(row) for row in await self.pool.fetch("listing", *S.places(state, name, limit))]

    async def adelete(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        await self.pool.fetch("deleting", S.DELETE, (S.raw(thread_id),))

    async def acopy(self, source: str, target: str) -> None:
        """Copy a thread under another id, over whatever is there."""
        await self.pool.fetch("copying", S.COPY, (S.raw(source), S.raw(target)))


def _chain(place: Place, chain: int, n: int) -> tuple[str, Sequence[Any]]:
    if place.key is not None:
        return S.CHAIN, (place.key, chain, n)
    return S.CHAIN_BY_NAME, (S.raw(place.thread_id), S.raw(place.ns), chain, n)


# -- sending ------------------------------------------------------------------------------------------


class Sender:
    """Sends the commonest call through libpq, prepared where sessions keep what they prepared.

    Behind a pooler that hands out another session each time, the first failure ("no such statement") turns that off;
    the call is then sent whole, as all others are.
    """

    __slots__ = ("prepares",)

    def __init__(self) -> None:
        self.prepares = True

    def send(self, connection: Any, raw: S.Raw) -> int:
        """Send a call and return the integer it answers."""
        pgconn = connection.pgconn
        with connection.lock:
            if self.prepares and raw.sql is S.RECORD:
                if not hasattr(connection, "_clew_prepared"):
                    pgconn.prepare(S.RECORD_NAME, S.RECORD_PREPARED, S.RECORD_TYPES)  # a failure shows in the next line
                    connection._clew_prepared = True
                result = pgconn.exec_prepared(S.RECORD_NAME, raw.parameters, _BINARY, 1)
                if result.status == _TUPLES_OK:
                    return int.from_bytes(result.get_value(0, 0) or b"", "big")
                self._unprepare(result)
            return _answer(connection, pgconn.exec_params(raw.sql, raw.parameters, raw.types, _BINARY, 1))

    async def asend(self, connection: Any, raw: S.Raw) -> int:
        """Send a call and return the integer it answers."""
        from psycopg import generators

        pgconn = connection.pgconn
        async with connection.lock:
            if self.prepares and raw.sql is S.RECORD:
                if not hasattr(connection, "_clew_prepared"):
                    pgconn.send_prepare(S.RECORD_NAME, S.RECORD_PREPARED, S.RECORD_TYPES)
                    await connection.wait(generators.execute(pgconn))
                    connection._clew_prepared = True
                pgconn.send_query_prepared(S.RECORD_NAME, raw.parameters, _BINARY, 1)
                result = (await connection.wait(generators.execute(pgconn)))[-1]
                if result.status == _TUPLES_OK:
                    return int.from_bytes(result.get_value(0, 0) or b"", "big")
                self._unprepare(result)
            pgconn.send_query_params(raw.sql, raw.parameters, raw.types, _BINARY, 1)
            return _answer(connection, (await connection.wait(generators.execute(pgconn)))[-1])

    def _unprepare(self, result: Any) -> None:
        """Stop preparing when the session does not know the statement; other failures show when sent whole."""
        if result.error_field(ord("C")) == b"26000":
            self.prepares = False


def _answer(connection: Any, result: Any) -> int:
    if result.status != _TUPLES_OK:
        from psycopg import errors

        raise errors.error_from_result(result, connection.info.encoding)
    return int.from_bytes(result.get_value(0, 0) or b"\0", "big")


def _send_all(connection: Any, calls: list[S.Call]) -> list[int]:
    """Send several calls in one round trip: a pipeline up to its sync is one transaction."""
    if len(calls) == 1:
        return [connection.execute(*_spelled(calls[0]), binary=True).fetchone()[0]]
    with connection.pipeline():
        cursors = [connection.execute(*_spelled(call), binary=True) for call in calls]
    return [cursor.fetchone()[0] for cursor in cursors]


async def _asend_all(connection: Any, calls: list[S.Call]) -> list[int]:
    """Send several calls in one round trip: a pipeline up to its sync is one transaction."""
    if len(calls) == 1:
        return [(await (await connection.execute(*_spelled(calls[0]), binary=True)).fetchone())[0]]
    async with connection.pipeline():
        cursors = [await connection.execute(*_spelled(call), binary=True) for call in calls]
    return [(await cursor.fetchone())[0] for cursor in cursors]


def _spelled(call: S.Call) -> tuple[str, tuple[Any, ...]]:
    """Return a call as the driver's adapters take it."""
    if call.raw is None:
        return S.COMMIT, call.parameters
    rows = [row for job in call.jobs for row in job.batch.records]
    place = call.jobs[0].place
    columns = [S.raw(row[0]) for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    return "SELECT clew_records(%s, %s, %b::bytea[], %b::bigint[], %b::bytea[])", (
        place.key,
        place.token,
        *columns,
    )


def refuse(face: str) -> StorageError:
    """Return the error of a face that the given connection can't serve."""
    return StorageError(f"this saver was given a connection that can't be used {face}", backend="postgres")
