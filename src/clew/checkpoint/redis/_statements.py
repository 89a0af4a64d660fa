"""What the journal says to Redis, and how it reads the answers: no I/O, shared by both faces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clew.checkpoint._journal import Busy, Fenced, Job, Place, Row
from clew.errors import StorageCorruptError

if TYPE_CHECKING:
    from collections.abc import Sequence

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


def raw(text: str | None) -> bytes:
    """Return text as bytes; None is empty."""
    return b"" if text is None else text.encode("utf-8", "surrogatepass")


def text(stored: bytes) -> str:
    """Undo `raw`."""
    return stored.decode("utf-8", "surrogatepass")


def spell(thread_id: str, ns: str) -> bytes:
    """Return the name of a place in keys."""
    thread = raw(thread_id)
    return b"%d:%b%b" % (len(thread), thread, raw(ns))


def unspell(name: bytes) -> tuple[str, str]:
    """Undo `spell`."""
    length, _, rest = name.partition(b":")
    return text(rest[: int(length)]), text(rest[int(length) :])


def start(thread_id: str) -> bytes:
    """Return what the names of all places of a thread begin with."""
    return spell(thread_id, "")


def to_job(job: Job) -> list[Any]:
    """Return a commit as the script reads it: name, token, thread, then each list as its length and its columns."""
    place, batch = job.place, job.batch
    out: list[Any] = [spell(place.thread_id, place.ns), place.token, raw(place.thread_id), len(batch.drops)]
    out.extend(raw(one) for one in batch.drops)
    row = batch.checkpoint
    if row is None:
        out.append(0)
    else:
        out += (1, raw(row.id), _pack([None if row.parent is None else raw(row.parent), row.body]))
    out += (0,) if batch.head is None else (1, raw(batch.head))
    out.append(len(batch.records))
    for checkpoint_id, n, body in batch.records:
        out += (raw(checkpoint_id), n, body)
    out.append(len(batch.values))
    for chain, n, body in batch.values:
        out += (chain, n, body)
    out.append(len(batch.notes))
    for key, body in batch.notes:
        out += (raw(key), 0 if body is None else 1, body or b"")
    out += (0,) if batch.state is None else (1, batch.state[0], raw(batch.state[1]), batch.state[2])
    out.append(1 if batch.release else 0)
    return out


def pack_jobs(jobs: Sequence[Job]) -> list[Any]:
    """Return commits as the arguments of the script."""
    return [len(jobs), *(one for job in jobs for one in to_job(job))]


def settle(jobs: Sequence[Job], answers: Sequence[bytes]) -> None:
    """Tell each job how it ended."""
    for job, answer in zip(jobs, answers, strict=True):
        if not answer:
            job.error = Fenced()


def _row(checkpoint_id: bytes, stored: bytes) -> Row:
    try:
        parent, body = _unpack(stored)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise StorageCorruptError(f"checkpoint {checkpoint_id!r} is damaged: {error}", backend="redis") from error
    return Row(text(checkpoint_id), None if parent is None else text(parent), body)


def in_order(flat: Sequence[bytes]) -> list[bytes]:
    """Return the values of a hash in the order of its numbers."""
    pairs = sorted((int(flat[at]), flat[at + 1]) for at in range(0, len(flat), 2))
    return [body for _, body in pairs]


def to_place(thread_id: str, ns: str, found: Sequence[Any]) -> Place:
    """Return what LOAD or ACQUIRE answered as a place. Raises: Busy when the lease is another's."""
    place = Place(thread_id, ns)
    _fill(place, found)
    if found[9] is not None:
        place.head = _row(found[8], found[9])
        place.records = in_order(found[10])
    if len(found) > 11:
        if not found[11]:
            raise Busy(place)
        place.token = int(found[0])
    return place


def _fill(place: Place, found: Sequence[Any]) -> None:
    place.owner, place.expires, place.state = text(found[1]), float(found[2]), int(found[3])
    place.name, place.info, place.changed = text(found[4]), found[5], float(found[7])
    place.latest = text(found[6]) if found[6] is not None else None


def to_listed(found: Sequence[Any]) -> Place:
    """Return one of what PLACES answered."""
    place = Place(*unspell(found[0]))
    _fill(place, found[1:])
    return place


def to_checkpoints(name: bytes, flat: Sequence[bytes]) -> list[tuple[str, str, Row]]:
    """Return what CHECKPOINTS answered."""
    thread_id, ns = unspell(name)
    return [(thread_id, ns, _row(flat[at], flat[at + 1])) for at in range(0, len(flat), 2)]


def whole(bodies: Sequence[bytes | None], chain: int) -> list[bytes]:
    """Return the bodies of a chain. Raises: StorageCorruptError when one is missing."""
    kept = [body for body in bodies if body is not None]
    if len(kept) != len(bodies):
        raise StorageCorruptError(
            f"the chain {chain} of values has {len(kept)} parts of {len(bodies)}: keys are missing",
            backend="redis",
        )
    return kept


def chosen(names: Sequence[bytes], thread_id: str | None, ns: str | None) -> list[bytes]:
    """Return the names of places of a thread or a namespace."""
    return [
        name
        for name in names
        if (thread_id is None or unspell(name)[0] == thread_id) and (ns is None or unspell(name)[1] == ns)
    ]


def newest(rows: list[tuple[str, str, Row]], limit: int | None) -> list[tuple[str, str, Row]]:
    """Return rows of several places, newest id first."""
    rows.sort(key=lambda row: raw(row[2].id), reverse=True)
    return rows if limit is None else rows[:limit]
