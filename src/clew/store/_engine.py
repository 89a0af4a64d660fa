"""Operations on a store, the same for every backend.

A batch is prepared without touching storage (validated, encoded, its texts embedded), then run in order over a `Shelf`:
the few primitives that a backend has inside one transaction. Written once as a coroutine; blocking stores drive it.
"""

from __future__ import annotations

import time
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clew._serde import decode, encode
from clew.errors import SerializationError, StorageConflictError
from clew.store._filter import compile_filter
from clew.store._paths import get_text_at_path
from clew.store._rank import bm25, cosines
from clew.store._types import GetOp, Item, ListNamespacesOp, Op, PutOp, SearchItem, SearchOp, SearchResults

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

    from clew.store._index import Index

MINUTE = 60_000_000_000  # nanoseconds
_NO_VECTORS: list[bytes] = []


class Record(NamedTuple):
    """A stored item. Times are nanoseconds since the epoch; expires and ttl are 0 for items that stay."""

    namespace: tuple[str, ...]
    key: str
    data: bytes
    created: int
    updated: int
    version: int
    expires: int = 0
    ttl: int = 0


class Write(NamedTuple):
    """A put that is ready to be made. now and ttl: nanoseconds; expected: a version, 0 for none there, None for any."""

    namespace: tuple[str, ...]
    key: str
    data: bytes
    vectors: Sequence[bytes]
    now: int
    ttl: int
    expected: int | None


class Shelf(Protocol):
    """What a backend does inside one transaction. Expired records may be returned: the engine leaves them out."""

    async def get(self, namespace: tuple[str, ...], key: str) -> Record | None:
        """Return one record. With a write ahead, it stays locked until the transaction ends."""
        ...

    async def swap(self, write: Write) -> int | None:
        """Write over the expected version. Returns: None, or the version that is there when it is another."""
        ...

    async def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Remove a record and its vectors."""
        ...

    def scan(self, prefix: tuple[str, ...]) -> AsyncGenerator[Record, None]:
        """Yield the records at or below a namespace, latest change first."""
        ...

    def vectors(self, prefix: tuple[str, ...]) -> AsyncGenerator[tuple[Record, Sequence[bytes]], None]:
        """Yield the records at or below a namespace that have vectors, with them."""
        ...

    async def namespaces(self, now: int) -> list[tuple[str, ...]]:
        """Return the namespaces that hold a record which lives at `now`, in any order."""
        ...


class Parts:
    """`swap` out of `get` and `put`, for backends that hold their lock for the whole batch anyway."""

    async def get(self, namespace: tuple[str, ...], key: str) -> Record | None:
        """Return one record."""
        raise NotImplementedError

    async def put(self, record: Record, vectors: Sequence[bytes]) -> None:
        """Write a record and its vectors over whatever is there."""
        raise NotImplementedError

    async def swap(self, write: Write) -> int | None:
        """Write over the expected version; see Shelf."""
        there, now = await self.get(write.namespace, write.key), write.now
        if there is not None and not alive(there, now):
            there = None
        if write.expected is not None and write.expected != (there.version if there else 0):
            return there.version if there else 0
        created, version = (there.created, max(now, there.version + 1)) if there else (now, now)
        expires = now + write.ttl if write.ttl else 0
        updated = max(now, created)
        record = Record(write.namespace, write.key, write.data, created, updated, version, expires, write.ttl)
        await self.put(record, write.vectors)
        return None


class Plan(NamedTuple):
    """A prepared batch. texts: what must be embedded, in order; then per op: the slice of them that is its own."""

    ops: list[Op]
    data: list[bytes | None]
    texts: list[str]
    spans: list[tuple[int, int]]
    writes: bool


def prepare(ops: Iterable[Op], index: Index | None) -> Plan:
    """Check and encode a batch. Raises: ValueError for a bad namespace, SerializationError for a bad value."""
    listed = list(ops)
    data: list[bytes | None] = []
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for op in listed:
        start = len(texts)
        encoded = None
        if isinstance(op, PutOp):
            check_namespace(op.namespace)
            if op.value is not None:
                encoded = _encode(op)
                if index is not None and op.index is not False:
                    texts.extend(index.texts(op.value, op.index))
        elif isinstance(op, SearchOp) and op.query and index is not None:
            texts.append(op.query)
        elif not isinstance(op, (GetOp, SearchOp, ListNamespacesOp)):  # pyright: ignore[reportUnnecessaryIsInstance] - users' ops
            raise TypeError(f"{op!r} is no operation of a store")
        data.append(encoded)
        spans.append((start, len(texts)))
    return Plan(listed, data, texts, spans, any(isinstance(op, PutOp) for op in listed))


def check_namespace(namespace: tuple[str, ...]) -> None:
    """Refuse namespaces that could be mistaken for another. Raises: ValueError."""
    if not namespace:
        raise ValueError("a namespace needs at least one label, as in ('users', 'ada')")
    for label in namespace:
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise ValueError(f"the label {label!r} of {namespace} is no text")
        if not label or "." in label:
            raise ValueError(f"the label {label!r} of {namespace} must not be empty or contain '.'")


def _encode(op: PutOp) -> bytes:
    value: Any = op.value
    if not hasattr(value, "keys"):
        raise SerializationError(f"a stored value is a mapping, not {type(value).__name__} ({value!r:.80})")
    return encode(value if type(value) is dict else dict(value))


async def run(plan: Plan, shelf: Shelf, vectors: Sequence[bytes], has_index: bool, refresh: bool) -> Outcome:
    """Run a prepared batch over a backend. refresh: whether reads restart a time to live unless an op says."""
    now = time.time_ns()
    outcome = Outcome([], [])
    for op, data, (start, end) in zip(plan.ops, plan.data, plan.spans, strict=True):
        answer: Any = None
        if isinstance(op, GetOp):
            record = await shelf.get(op.namespace, op.key)
            if record is not None and alive(record, now):
                answer = to_item(record)
                _touch(outcome, record, op.refresh_ttl, refresh)
        elif isinstance(op, PutOp):
            await _put(op, data, vectors[start:end], shelf, now)
        elif isinstance(op, SearchOp):
            found = await _search(op, shelf, vectors[start] if end > start else None, has_index, now)
            answer = SearchResults(item for _, item in found)
            limit = len(answer) if op.limit is None else op.limit
            if len(answer) > limit:
                del answer[limit:]
                answer.next_offset = op.offset + limit
            for record, _ in found[: len(answer)]:
                _touch(outcome, record, op.refresh_ttl, refresh)
        else:
            answer = choose_namespaces(await shelf.namespaces(now), op)
        outcome.answers.append(answer)
    return outcome


class Outcome(NamedTuple):
    """Answers of a batch, and the records whose time to live starts anew: (namespace, key, expires)."""

    answers: list[Any]
    touched: list[tuple[tuple[str, ...], str, int]]


def alive(record: Record, now: int) -> bool:
    """Whether a record's time to live has not run out."""
    return not record.expires or record.expires > now


def _touch(outcome: Outcome, record: Record, asked: bool | None, refresh: bool) -> None:
    if record.ttl and (refresh if asked is None else asked):
        outcome.touched.append((record.namespace, record.key, time.time_ns() + record.ttl))


async def _put(op: PutOp, data: bytes | None, vectors: Sequence[bytes], shelf: Shelf, now: int) -> None:
    if data is not None:
        ttl = int(op.ttl * MINUTE) if op.ttl is not None else 0
        found = await shelf.swap(Write(op.namespace, op.key, data, vectors, now, ttl, op.expected_version))
        if found is not None:
            raise _conflict(op, found)
        return
    if op.expected_version is not None:
        there = await shelf.get(op.namespace, op.key)
        version = there.version if there is not None and alive(there, now) else 0
        if version != op.expected_version:
            raise _conflict(op, version)
    await shelf.delete(op.namespace, op.key)


def _conflict(op: PutOp, version: int) -> StorageConflictError:
    return StorageConflictError(
        f"{op.key!r} in {op.namespace} is at version {version} and not {op.expected_version}: "
        "another writer was first; read it again"
    )


async def _search(op: SearchOp, shelf: Shelf, wanted: bytes | None, has_index: bool, now: int) -> list[Any]:
    """Return (record, item) of the page, and one more when there is one."""
    passes = compile_filter(op.filter)
    last = None if op.limit is None else op.offset + op.limit + 1
    if op.query and has_index and wanted is not None:
        return await _by_meaning(op, shelf, wanted, passes, now, last)
    kept: list[tuple[Record, dict[str, Any]]] = []
    async with aclosing(shelf.scan(op.namespace_prefix)) as records:
        async for record in records:
            if not alive(record, now):
                continue
            value = decode(record.data)
            if passes is None or passes(value):
                kept.append((record, value))
                if last is not None and len(kept) == last and not op.query:
                    break
    if not op.query:
        return [(record, to_item(record, value, SearchItem)) for record, value in kept[op.offset : last]]
    texts = [" ".join(get_text_at_path(value, "$")) for _, value in kept]
    ranked = sorted(zip(bm25(op.query, texts), range(len(kept)), strict=True), key=lambda one: (-one[0], one[1]))
    return [
        (kept[place][0], to_item(*kept[place], SearchItem, score))
        for score, place in ranked[op.offset : last]
        if score > 0
    ]


async def _by_meaning(op: SearchOp, shelf: Shelf, wanted: bytes, passes: Any, now: int, last: int | None) -> list[Any]:
    records: list[Record] = []
    owners: list[int] = []
    vectors: list[bytes] = []
    async for record, own in shelf.vectors(op.namespace_prefix):
        if alive(record, now):
            owners.extend([len(records)] * len(own))
            vectors.extend(own)
            records.append(record)
    best = [-2.0] * len(records)
    for owner, score in zip(owners, cosines(wanted, vectors), strict=True):
        best[owner] = max(best[owner], score)
    order = sorted(range(len(records)), key=lambda place: -best[place])
    found: list[Any] = []
    for place in order:
        value = decode(records[place].data)
        if passes is None or passes(value):
            found.append((records[place], to_item(records[place], value, SearchItem, best[place])))
            if last is not None and len(found) == last:
                break
    return found[op.offset : last]


def to_item(record: Record, value: Any = None, cls: Any = Item, score: float | None = None) -> Any:
    """Return a record as the item that users see, with a value of its own."""
    more: Mapping[str, Any] = {"score": score} if cls is SearchItem else {}
    return cls(
        value=decode(record.data) if value is None else value,
        key=record.key,
        namespace=record.namespace,
        created_at=datetime.fromtimestamp(record.created / 1e9, UTC),
        updated_at=datetime.fromtimestamp(record.updated / 1e9, UTC),
        version=record.version,
        **more,
    )


def choose_namespaces(there: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the page of namespaces that an operation asks for, sorted, each once."""
    kept: set[tuple[str, ...]] = set()
    for namespace in there:
        if all(_matches(namespace, one.match_type, one.path) for one in op.match_conditions or ()):
            kept.add(namespace[: op.max_depth] if op.max_depth is not None else namespace)
    return sorted(kept)[op.offset : None if op.limit is None else op.offset + op.limit]


def _matches(namespace: tuple[str, ...], kind: str, path: tuple[str, ...]) -> bool:
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"a match condition is 'prefix' or 'suffix', not {kind!r}")
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
