"""The journal on Redis or Valkey: one script, so one round trip, per step; commits that meet share one."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from clew._redis import fail, is_redis_error
from clew.checkpoint._journal import Batch, Busy, GroupCommit, Job, Place, Row, is_dead
from clew.checkpoint.redis import _scripts as L
from clew.checkpoint.redis import _statements as S
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST = 1000  # commits in one script: bounds how long the server serves nobody else
_FSYNC_MS = 10_000


class _Shared:
    """prefix: what all keys begin with. fsync: wait for the server's append-only file after each commit."""

    def __init__(self, client: Any, prefix: str, *, fsync: bool) -> None:
        self.client = client
        self.prefix = prefix.encode()
        self.fsync = fsync

    def _key(self, kind: str, name: bytes) -> bytes:
        return self.prefix + kind.encode() + name


def _synced(answer: Any) -> None:
    if not answer or not answer[0]:
        raise StorageError("Redis did not confirm its append-only file in time (fsync=True)", backend="redis")


class RedisJournal(_Shared):
    """The blocking face. Commits of all threads that arrive while one is under way share the next script."""

    def __init__(self, client: Any, prefix: str, *, fsync: bool = False) -> None:
        super().__init__(client, prefix, fsync=fsync)
        self._group = GroupCommit(self._write)
        self._pid = os.getpid()

    def _ask(self, doing: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            if is_redis_error(error):
                fail(error, doing)
            raise

    def _run(self, doing: str, script: L.Script, *arguments: Any) -> Any:
        def call() -> Any:
            try:
                return self.client.evalsha(script.sha, 0, self.prefix, *arguments)
            except Exception as error:
                if type(error).__name__ != "NoScriptError":
                    raise
            return self.client.eval(script.source, 0, self.prefix, *arguments)

        return self._ask(doing, call)

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        """Take the lease and read the place: one round trip, a second one when the holder must be looked at."""
        dead = ""
        while True:
            arguments = (S.spell(thread_id, ns), S.raw(thread_id), owner, seconds, "1" if steal else "", dead)
            try:
                return S.to_place(thread_id, ns, self._run("taking a lease", L.ACQUIRE, *arguments))
            except Busy as busy:
                if dead == busy.place.owner or not is_dead(busy.place.owner):
                    raise
                dead = busy.place.owner

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        """Read a place at one checkpoint; one round trip."""
        found = self._run("reading", L.LOAD, S.spell(thread_id, ns), S.raw(checkpoint_id))
        return S.to_place(thread_id, ns, found) if found else None

    def commit(self, place: Place, batch: Batch) -> None:
        """Apply a batch, alone or with others."""
        if self._pid != os.getpid():  # a forked child: the lock may be held by a thread that is not here
            self._group, self._pid = GroupCommit(self._write), os.getpid()
        self._group.commit(place, batch)

    def _write(self, jobs: list[Job]) -> None:
        for at in range(0, len(jobs), _LARGEST):
            some = jobs[at : at + _LARGEST]
            S.settle(some, self._commit(S.pack_jobs(some)))

    def _commit(self, packed: list[Any]) -> Any:
        if not self.fsync:
            return self._run("saving", L.COMMIT, *packed)

        def call() -> Any:  # on one connection: the server waits for that connection's writes
            with self.client.pipeline(transaction=False) as pipe:
                pipe.eval(L.COMMIT.source, 0, self.prefix, *packed)
                pipe.execute_command("WAITAOF", 1, 0, _FSYNC_MS)
                answers, synced = pipe.execute()
            _synced(synced)
            return answers

        return self._ask("saving", call)

    def renew(self, place: Place, seconds: float) -> bool:
        """Extend the lease."""
        return bool(self._run("renewing", L.RENEW, S.spell(place.thread_id, place.ns), place.token, seconds))

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        """Return the bodies 0 … n of a chain of values."""
        key = self._key("v:", S.spell(place.thread_id, place.ns) + b":%d" % chain)
        return S.whole(self._ask("reading", lambda: self.client.hmget(key, list(range(n + 1)))), chain)

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        """Return checkpoints, newest first."""
        if thread_id is not None and ns is not None:
            names = [S.spell(thread_id, ns)]
        elif thread_id is not None:
            names = self._ask("listing", lambda: self.client.smembers(self._key("t:", S.raw(thread_id))))
        else:
            names = self._ask("listing", lambda: self.client.zrange(self._key("all", b""), 0, -1))
        rows: list[tuple[str, str, Row]] = []
        for name in S.chosen(list(names), thread_id, ns):
            found = self._run("listing", L.CHECKPOINTS, name, S.raw(before), "" if limit is None else limit)
            rows += S.to_checkpoints(name, found)
        return S.newest(rows, limit)

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        """Return the bodies of a checkpoint's records."""
        key = self._key("r:", S.spell(thread_id, ns) + b":" + S.raw(checkpoint_id))
        found = self._ask("reading", lambda: self.client.hgetall(key))
        return S.in_order([one for pair in found.items() for one in pair])

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        """Return the notes whose key begins with prefix."""
        found = self._ask("reading", lambda: self.client.hgetall(self._key("n:", S.spell(thread_id, ns))))
        return {key: body for raw, body in found.items() if (key := S.text(raw)).startswith(prefix)}

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        """Return places, last changed first; one round trip."""
        chosen = "all" if state is None else f"s{state}"
        found = self._run("listing", L.PLACES, chosen, S.raw(name), "" if limit is None else limit)
        return [S.to_listed(one) for one in found]

    def delete(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        self._run("deleting", L.DELETE, S.raw(thread_id))

    def copy(self, source: str, target: str) -> None:
        """Copy a thread under another id, over whatever is there."""
        self._run("copying", L.COPY, S.raw(source), S.raw(target), S.start(source), S.start(target))


class _Queue:
    """The commits of one event loop that wait, and the task that writes them."""

    __slots__ = ("__weakref__", "waiting", "writer")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Job, Any]] = deque()
        self.writer: Any = None


class AsyncRedisJournal(_Shared):
    """The awaited face, for one event loop. Commits that arrive while one is under way share the next script."""

    def __init__(self, client: Any, prefix: str, *, fsync: bool = False) -> None:
        super().__init__(client, prefix, fsync=fsync)
        self._queues: WeakKeyDictionary[Any, _Queue] = WeakKeyDictionary()

    async def _ask(self, doing: str, call: Any) -> Any:
        try:
            return await call
        except Exception as error:
            if is_redis_error(error):
                fail(error, doing)
            raise

    async def _run(self, doing: str, script: L.Script, *arguments: Any) -> Any:
        async def call() -> Any:
            try:
                return await self.client.evalsha(script.sha, 0, self.prefix, *arguments)
            except Exception as error:
                if type(error).__name__ != "NoScriptError":
                    raise
            return await self.client.eval(script.source, 0, self.prefix, *arguments)

        return await self._ask(doing, call())

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        """Take the lease and read the place; see RedisJournal.acquire."""
        dead = ""
        while True:
            arguments = (S.spell(thread_id, ns), S.raw(thread_id), owner, seconds, "1" if steal else "", dead)
            try:
                return S.to_place(thread_id, ns, await self._run("taking a lease", L.ACQUIRE, *arguments))
            except Busy as busy:
                if dead == busy.place.owner or not is_dead(busy.place.owner):
                    raise
                dead = busy.place.owner

    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        """Read a place at one checkpoint; one round trip."""
        found = await self._run("reading", L.LOAD, S.spell(thread_id, ns), S.raw(checkpoint_id))
        return S.to_place(thread_id, ns, found) if found else None

    async def acommit(self, place: Place, batch: Batch) -> None:
        """Apply a batch, alone or with others. A caller's cancellation does not undo it."""
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
                    S.settle(jobs, await self._commit(S.pack_jobs(jobs)))
                except BaseException as error:
                    for job in jobs:
                        job.error = job.error or error
                for _, done in waiting:
                    if not done.done():
                        done.set_result(None)
        finally:
            queue.writer = None

    async def _commit(self, packed: list[Any]) -> Any:
        if not self.fsync:
            return await self._run("saving", L.COMMIT, *packed)
        async with self.client.pipeline(transaction=False) as pipe:
            pipe.eval(L.COMMIT.source, 0, self.prefix, *packed)
            pipe.execute_command("WAITAOF", 1, 0, _FSYNC_MS)
            answers, synced = await self._ask("saving", pipe.execute())
        _synced(synced)
        return answers

    async def arenew(self, place: Place, seconds: float) -> bool:
        """Extend the lease."""
        return bool(await self._run("renewing", L.RENEW, S.spell(place.thread_id, place.ns), place.token, seconds))

    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]:
        """Return the bodies 0 … n of a chain of values."""
        key = self._key("v:", S.spell(place.thread_id, place.ns) + b":%d" % chain)
        return S.whole(await self._ask("reading", self.client.hmget(key, list(range(n + 1)))), chain)

    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        """Return checkpoints, newest first."""
        if thread_id is not None and ns is not None:
            names = [S.spell(thread_id, ns)]
        elif thread_id is not None:
            names = await self._ask("listing", self.client.smembers(self._key("t:", S.raw(thread_id))))
        else:
            names = await self._ask("listing", self.client.zrange(self._key("all", b""), 0, -1))
        rows: list[tuple[str, str, Row]] = []
        for name in S.chosen(list(names), thread_id, ns):
            found = await self._run("listing", L.CHECKPOINTS, name, S.raw(before), "" if limit is None else limit)
            rows += S.to_checkpoints(name, found)
        return S.newest(rows, limit)

    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        """Return the bodies of a checkpoint's records."""
        key = self._key("r:", S.spell(thread_id, ns) + b":" + S.raw(checkpoint_id))
        found = await self._ask("reading", self.client.hgetall(key))
        return S.in_order([one for pair in found.items() for one in pair])

    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        """Return the notes whose key begins with prefix."""
        found = await self._ask("reading", self.client.hgetall(self._key("n:", S.spell(thread_id, ns))))
        return {key: body for raw, body in found.items() if (key := S.text(raw)).startswith(prefix)}

    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        """Return places, last changed first; one round trip."""
        chosen = "all" if state is None else f"s{state}"
        found = await self._run("listing", L.PLACES, chosen, S.raw(name), "" if limit is None else limit)
        return [S.to_listed(one) for one in found]

    async def adelete(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        await self._run("deleting", L.DELETE, S.raw(thread_id))

    async def acopy(self, source: str, target: str) -> None:
        """Copy a thread under another id, over whatever is there."""
        await self._run("copying", L.COPY, S.raw(source), S.raw(target), S.start(source), S.start(target))
