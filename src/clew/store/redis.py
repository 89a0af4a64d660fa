"""A store on Redis or Valkey, shared by any number of machines."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from clew._redis import aconnect, connect, fail, is_redis_error
from clew.errors import StorageCorruptError, StorageError
from clew.store._embedded import AwaitedStore, BlockingStore
from clew.store._engine import Parts, Record
from clew.store._rows import span, spell, to_bytes, to_text, unspell

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from clew.store._engine import Plan
    from clew.store.base import IndexConfig, TTLConfig

__all__ = ["AsyncRedisStore", "RedisStore"]

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_TRIES = 100
_MILLISECOND = 1_000_000


class _Names:
    """Keys of a store: an item is a string that expires by itself; `index` lists spelling + key in text order."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix.encode()
        self.index = self.prefix + b"index"

    def item(self, member: bytes) -> bytes:
        return self.prefix + b"item:" + member


def _escaped(spelled: bytes) -> bytes:
    return spelled.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1")


def _member(namespace: tuple[str, ...], key: str) -> bytes:
    """Return an item's entry in the index: the spelling of its namespace without NUL, a NUL, its key."""
    return _escaped(spell(namespace)) + b"\0" + to_bytes(key)


def _dump(record: Record, vectors: Sequence[bytes]) -> bytes:
    return _pack([record.data, *record[3:], list(vectors)])


def _load(member: bytes, raw: bytes) -> tuple[Record, list[bytes]]:
    spelled, _, key = member.partition(b"\0")
    namespace = unspell(spelled.replace(b"\1\1", b"\0").replace(b"\1\2", b"\1"))
    try:
        data, created, updated, version, _, ttl, vectors = _unpack(raw)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise StorageCorruptError(f"the stored item {member!r} is damaged: {error}", backend="redis") from error
    return Record(
        namespace, to_text(key), data, created, updated, version, 0, ttl
    ), vectors  # the server drops it in time


class _Batch(Parts):
    """The shelf of one batch: reads watch what they read, writes are queued and go out in one MULTI/EXEC.

    When a watched key changed meanwhile, the batch is run again from the start.
    """

    def __init__(self, pipe: Any, names: _Names, *, awaited: bool) -> None:
        self._pipe = pipe
        self._names = names
        self._awaited = awaited
        self._written: dict[bytes, tuple[Record, Sequence[bytes]] | None] = {}

    async def _ask(self, call: Any) -> Any:
        return await call if self._awaited else call

    async def get(self, namespace: tuple[str, ...], key: str) -> Record | None:
        member = _member(namespace, key)
        if member in self._written:
            found = self._written[member]
            return found[0] if found else None
        name = self._names.item(member)
        await self._ask(self._pipe.watch(name))
        raw = await self._ask(self._pipe.get(name))
        return None if raw is None else _load(member, raw)[0]

    async def put(self, record: Record, vectors: Sequence[bytes]) -> None:
        self._written[_member(record.namespace, record.key)] = (record, vectors)

    async def delete(self, namespace: tuple[str, ...], key: str) -> None:
        self._written[_member(namespace, key)] = None

    async def scan(self, prefix: tuple[str, ...]) -> AsyncGenerator[Record, None]:
        for record, _ in await self._below(prefix):
            yield record

    async def vectors(self, prefix: tuple[str, ...]) -> AsyncGenerator[tuple[Record, Sequence[bytes]], None]:
        for record, own in await self._below(prefix):
            if own:
                yield record, own

    async def namespaces(self, now: int) -> list[tuple[str, ...]]:
        return list({record.namespace: None for record, _ in await self._below(())})

    async def _below(self, prefix: tuple[str, ...]) -> list[tuple[Record, Sequence[bytes]]]:
        first, end = (_escaped(one) for one in span(prefix))
        members = await self._ask(self._pipe.zrangebylex(self._names.index, b"[" + first, b"(" + end))
        raws: list[Any] = (
            await self._ask(self._pipe.mget([self._names.item(one) for one in members])) if members else []
        )
        found: dict[bytes, Any] = {
            member: _load(member, raw) for member, raw in zip(members, raws, strict=True) if raw is not None
        }
        for member, written in self._written.items():
            found.pop(member, None)
            if written is not None and first <= member < end:
                found[member] = written
        return sorted(found.values(), key=lambda one: one[0].updated, reverse=True)

    def queue(self) -> None:
        """Put the writes of the batch on the pipe, after MULTI."""
        self._pipe.multi()
        for member, written in self._written.items():
            if written is None:
                self._pipe.delete(self._names.item(member))
                self._pipe.zrem(self._names.index, member)
                continue
            record, vectors = written
            until = max(1, record.expires // _MILLISECOND) if record.expires else None
            self._pipe.set(self._names.item(member), _dump(record, vectors), pxat=until)
            self._pipe.zadd(self._names.index, {member: 0})


def _is_race(error: BaseException) -> bool:
    return type(error).__name__ == "WatchError"


def _touched(names: _Names, touched: Any) -> list[tuple[bytes, int]]:
    return [(names.item(_member(namespace, key)), expires // _MILLISECOND) for namespace, key, expires in touched]


def _contended() -> StorageError:
    return StorageError(f"items changed under every one of {_TRIES} tries of a batch", backend="redis")


class RedisStore(BlockingStore):
    """A store on a server; items with a time to live are removed by the server.

    redis: a URL or a blocking client. index: {"dims", "embed", "fields"} to search by meaning. ttl: see TTLConfig.
    prefix: what all keys begin with. One server, not a cluster.
    """

    def __init__(
        self,
        redis: Any,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        prefix: str = "clew:store:",
    ) -> None:
        super().__init__(index, ttl)
        self._client, self._ours = connect(redis, "RedisStore")
        self._names = _Names(prefix)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Generator[RedisStore]:
        """Connect for a `with` block. options: as for the class."""
        store = cls(conn_string, **options)
        try:
            yield store
        finally:
            store.close()

    def setup(self) -> None:
        """Nothing to create; asks the server whether it is there."""
        with self._errors():
            self._client.ping()

    def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            self._client.close()

    def sweep_ttl(self) -> int:
        """Take items that the server removed out of the index; return how many there were."""
        with self._errors():
            members = self._client.zrange(self._names.index, 0, -1)
            raws: list[Any] = self._client.mget([self._names.item(one) for one in members]) if members else []
            gone = [one for one, raw in zip(members, raws, strict=True) if raw is None]
            return self._client.zrem(self._names.index, *gone) if gone else 0

    def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> Any:
        for _ in range(_TRIES):
            try:
                with self._errors():
                    return super()._apply(plan, vectors)
            except _Race:
                continue
        raise _contended()

    @contextlib.contextmanager
    def _shelf(self, plan: Plan) -> Generator[_Batch]:
        with self._client.pipeline() as pipe:
            pipe.watch(self._names.prefix)  # from here on commands are answered at once
            batch = _Batch(pipe, self._names, awaited=False)
            yield batch
            if plan.writes:
                batch.queue()
                pipe.execute()

    def _touch(self, touched: Any) -> None:
        with self._errors(), self._client.pipeline(transaction=False) as pipe:
            for name, until in _touched(self._names, touched):
                pipe.pexpireat(name, until)
            pipe.execute()

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        with _sorted_errors():
            yield


class AsyncRedisStore(AwaitedStore):
    """Like RedisStore, awaited. redis: a URL or a redis.asyncio client."""

    def __init__(
        self,
        redis: Any,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        prefix: str = "clew:store:",
    ) -> None:
        super().__init__(index, ttl)
        self._client, self._ours = aconnect(redis, "AsyncRedisStore")
        self._names = _Names(prefix)

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncGenerator[AsyncRedisStore]:
        """Connect for an `async with` block. options: as for the class."""
        store = cls(conn_string, **options)
        try:
            yield store
        finally:
            await store.close()

    async def setup(self) -> None:
        """Nothing to create; asks the server whether it is there."""
        with _sorted_errors():
            await self._client.ping()

    async def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            await self._client.aclose()

    async def sweep_ttl(self) -> int:
        """Take items that the server removed out of the index; return how many there were."""
        with _sorted_errors():
            members = await self._client.zrange(self._names.index, 0, -1)
            raws: list[Any] = await self._client.mget([self._names.item(one) for one in members]) if members else []
            gone = [one for one, raw in zip(members, raws, strict=True) if raw is None]
            return await self._client.zrem(self._names.index, *gone) if gone else 0

    async def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> Any:
        for _ in range(_TRIES):
            try:
                with _sorted_errors():
                    return await super()._apply(plan, vectors)
            except _Race:
                continue
        raise _contended()

    @contextlib.asynccontextmanager
    async def _shelf(self, plan: Plan) -> AsyncGenerator[_Batch]:
        async with self._client.pipeline() as pipe:
            await pipe.watch(self._names.prefix)  # from here on commands are answered at once
            batch = _Batch(pipe, self._names, awaited=True)
            yield batch
            if plan.writes:
                batch.queue()
                await pipe.execute()

    async def _touch(self, touched: Any) -> None:
        with _sorted_errors():
            async with self._client.pipeline(transaction=False) as pipe:
                for name, until in _touched(self._names, touched):
                    pipe.pexpireat(name, until)
                await pipe.execute()


class _Race(Exception):
    """A watched key changed: run the batch again."""


@contextlib.contextmanager
def _sorted_errors() -> Generator[None]:
    try:
        yield
    except Exception as error:
        if _is_race(error):
            raise _Race from error
        if is_redis_error(error):
            fail(error, "reading or writing the store")
        raise
