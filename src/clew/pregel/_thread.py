"""What a thread's newest (or a named) checkpoint and its records say about the run there."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any

from clew.checkpoint import _delta
from clew.checkpoint import _records as R
from clew.checkpoint._views import INLINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.checkpoint._codec import Codec
    from clew.checkpoint._io import Io
    from clew.checkpoint._journal import Place, Row

WASTE = 2  # a chain may hold this many times the bytes of its value; one that only grows holds about once
LENGTH = 5000  # deltas after which a chain begins anew, so that reading one stays quick


def event_notes(key: str) -> str:
    """Return how the notes of an event begin. key: of the question that waits for it, "event:<name>"."""
    name = key.removeprefix("event:")
    return f"event:{len(name)}:{name}:"


def goes_on(ref: tuple[int, int, bool], held: int, size: int) -> bool:
    """Say whether a chain takes another delta, or the value begins a new one.

    ref: its last place. held: bytes that the chain would hold then. size: bytes of the value.
    """
    return not ref[2] and ref[1] < LENGTH and held <= WASTE * size + 2000


class Known:
    """The records of one run, sorted out.

    outcomes: results, failures, questions and sleeps by path. ended: somebody cancelled it. begins: attempts so far.
    """

    __slots__ = ("answers", "attempts", "begins", "ended", "failures", "marks", "outcomes", "questions", "writes")

    def __init__(self, records: Sequence[R.Record] = ()) -> None:
        self.outcomes: dict[str, R.Record] = {}
        self.questions: dict[str, R.Question] = {}
        self.answers: dict[str, bytes] = {}
        self.attempts: dict[str, int] = {}
        self.marks: dict[str, bytes] = {}
        self.failures: list[R.End] = []
        self.writes: list[R.Write] = []
        self.ended = False
        self.begins = 0
        for record in records:
            self._add(record)

    def _add(self, record: R.Record) -> None:
        if isinstance(record, (R.Result, R.Failure, R.Wake)):
            self.outcomes[record.path] = record
        elif isinstance(record, R.Question):
            self.outcomes[record.path] = record
            self.questions[record.id] = record
        elif isinstance(record, R.Answer):
            self.answers[record.id] = record.value
        elif isinstance(record, R.Attempt):
            self.attempts[record.path] = record.number
        elif isinstance(record, R.Mark):
            self.marks[record.name] = record.value
        elif isinstance(record, R.Begin):
            self.begins += 1
        elif isinstance(record, R.Write):
            self.writes.append(record)
        else:
            self.failures.append(record)
            self.ended = record.how == "cancelled"
            for path, prefix, calls in record.retry:
                self._again(path, prefix, calls)

    def _again(self, path: str, prefix: str, calls: int) -> None:
        """Forget a failure that is to be tried again, and what was called because of it."""
        if isinstance(self.outcomes.get(path), R.Failure):
            del self.outcomes[path]
        self.attempts.pop(path, None)
        for other in [one for one in self.outcomes if one.startswith(prefix)]:
            number = other[len(prefix) :].split(".")[0]
            if number.isdigit() and int(number) >= calls:
                del self.outcomes[other]

    def waiting(self) -> list[R.Question]:
        """Return the questions that have no answer, in the order of their places."""
        from clew.pregel._root import order

        found = [
            one for one in self.questions.values() if one.id not in self.answers and self.outcomes.get(one.path) is one
        ]
        return sorted(found, key=lambda one: order(one.path))


def rewound(records: Sequence[R.Record], *, results: bool) -> list[R.Record]:
    """Return what a fork of a run keeps: what was known when its first question was put; nothing when there was none.

    results: whether finished tasks count, or the questions only.
    """
    if not any(isinstance(one, R.Question) for one in records):
        return []
    kept: list[R.Record] = []
    for record in records:
        if isinstance(record, R.Answer):
            break
        if isinstance(record, R.Question) or (results and isinstance(record, (R.Result, R.Wake, R.Mark))):
            kept.append(record)
    return kept


class _Recent:
    """Values read or written lately, so a conversation that goes on here is not read again. At most `limit` bytes.

    A (chain, n) of a thread never changes its meaning: forks, rollbacks and pruning begin new chains.
    """

    __slots__ = ("_kept", "_limit", "_size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._kept: dict[tuple[int, str, str, int], tuple[int, bytes | bytearray, int, int, Any]] = {}

    def get(self, place: Place, journal: Any, ref: tuple[int, int, bool]) -> tuple[bytes | bytearray, int, int] | None:
        """Return (raw, bytes of the snapshot, bytes of deltas) when just this value is kept."""
        found = self._kept.get((id(journal), place.thread_id, place.ns, ref[0]))
        if found is None or found[0] != ref[1] or found[4]() is not journal:
            return None
        return found[1], found[2], found[3]

    def put(
        self, place: Place, journal: Any, ref: tuple[int, int, bool], value: tuple[bytes | bytearray, int, int]
    ) -> None:
        """Keep a value in place of an older one of its chain."""
        key = (id(journal), place.thread_id, place.ns, ref[0])
        older = self._kept.pop(key, None)
        if older is not None:
            self._size -= len(older[1])
        if len(value[0]) * 4 > self._limit:
            return
        self._kept[key] = (ref[1], *value, weakref.ref(journal))
        self._size += len(value[0])
        while self._size > self._limit:
            try:
                first = next(iter(self._kept))
                self._size -= len(self._kept.pop(first)[1])
            except (StopIteration, RuntimeError, KeyError):  # another thread is at it
                break


_recent = _Recent(4_000_000)


class Values:
    """The values of a checkpoint: read when asked for, written as what changed."""

    __slots__ = ("_next", "codec", "io", "known", "place")

    def __init__(self, io: Io, codec: Codec, place: Place) -> None:
        self.io = io
        self.codec = codec
        self.place = place
        self.known: dict[R.Ref, tuple[bytes | bytearray, int, int]] = {}  # raw, bytes of the snapshot, bytes of deltas
        self._next = 0

    async def raw(self, ref: R.Ref) -> bytes | bytearray:
        """Return the encoded value."""
        if isinstance(ref, bytes):
            return ref
        found = self.known.get(ref)
        if found is None:
            found = _recent.get(self.place, self.io.journal, ref)
            if found is not None:
                self.known[ref] = found
        if found is None:
            thread = self.place.thread_id
            bodies = [self.codec.unseal(thread, one) for one in await self.io.chain(self.place, ref[0], ref[1])]
            found = (_delta.join(bodies), len(bodies[0]), sum(map(len, bodies)) - len(bodies[0]))
            self.known[ref] = found
            self.remember(ref)
        return found[0]

    def remember(self, ref: R.Ref | None) -> None:
        """Keep a value for the next run on this thread; only what is committed."""
        if isinstance(ref, tuple) and ref in self.known:
            _recent.put(self.place, self.io.journal, ref, self.known[ref])

    async def value(self, ref: R.Ref | None) -> Any:
        """Return the value, a fresh copy each time; None when there is none."""
        return None if ref is None else self.codec.decode(await self.raw(ref))

    def new_chain(self) -> int:
        """Return the number of a chain that this place does not have."""
        self._next = max(self._next + 1, time.time_ns())
        return self._next

    def write(self, raw: bytes, base: R.Ref | None = None) -> tuple[R.Ref, list[tuple[int, int, bytes]]]:
        """Return (reference, rows to write) of a new value; a delta on `base` when that has been read and is alike."""
        if len(raw) <= INLINE:
            return raw, []
        seal, thread = self.codec.seal, self.place.thread_id
        if isinstance(base, tuple) and base in self.known:
            old, snapshot, deltas = self.known[base]
            if old == raw:
                return base, []
            splices = _delta.diff(old, raw)
            body = _delta.pack(splices)
            if len(body) < len(raw) and goes_on(base, snapshot + deltas + len(body), len(raw)):
                ref = (base[0], base[1] + 1, False)
                self.known[ref] = (raw, snapshot, deltas + len(body))
                return ref, [(ref[0], ref[1], seal(thread, body))]
        ref = (self.new_chain(), 0, False)
        self.known[ref] = (raw, len(raw), 0)
        return ref, [(ref[0], 0, seal(thread, raw))]


def shared(values: dict[str, R.Ref]) -> dict[str, R.Ref]:
    """Return references for a fork: it must not go on with chains that the original goes on with."""
    return {name: (ref[0], ref[1], True) if isinstance(ref, tuple) else ref for name, ref in values.items()}


def body_of(codec: Codec, thread_id: str, row: Row) -> R.Body:
    """Return the body of a checkpoint."""
    return R.unpack_body(codec.unseal(thread_id, row.body))
