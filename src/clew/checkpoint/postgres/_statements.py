"""What the journal says to Postgres, and how it reads the answers: no I/O, shared by both faces.

The commonest commit (one record under a known token) is encoded by hand for libpq, which saves half of its client time.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from clew.checkpoint._journal import Batch, Busy, Fenced, Job, Place, Row

_int8 = struct.Struct("!q").pack
_int4 = struct.Struct("!i").pack
_array_head = struct.Struct("!iIIii").pack
BYTEA, INT8, INT4 = 17, 20, 23

LOAD = "SELECT * FROM clew_load(%b, %b, %b)"
ACQUIRE = "SELECT * FROM clew_acquire(%b, %b, %s, %s, %s, %s)"
RENEW = (
    "UPDATE clew_places SET expires = extract(epoch FROM clock_timestamp()) + %s "
    "WHERE id = %s AND token = %s RETURNING 1"
)
CHAIN = "SELECT body FROM clew_values WHERE place = %s AND chain = %s AND n <= %s ORDER BY n"
CHAIN_BY_NAME = (
    "SELECT v.body FROM clew_values v JOIN clew_places p ON p.id = v.place "
    "WHERE p.thread = %b AND p.ns = %b AND v.chain = %s AND v.n <= %s ORDER BY v.n"
)
RECORDS = (
    "SELECT r.body FROM clew_records r JOIN clew_places p ON p.id = r.place "
    "WHERE p.thread = %b AND p.ns = %b AND r.checkpoint = %b ORDER BY r.n"
)
NOTES = (
    "SELECT o.key, o.body FROM clew_notes o JOIN clew_places p ON p.id = o.place "
    "WHERE p.thread = %b AND p.ns = %b AND o.key >= %b AND o.key < %b"
)
DELETE = "SELECT clew_delete(%b)"
COPY = "SELECT clew_copy(%b, %b)"
COMMIT = (
    "SELECT clew_commit(%s, %b, %b, %s, %b::bytea[], %b, %b, %b, %b, %b::bytea[], %b::bigint[], %b::bytea[], "
    "%b::bigint[], %b::int[], %b::bytea[], %b::bytea[], %b::bytea[], %s::int, %b, %b, %s)"
)
RECORD = b"SELECT clew_record($1, $2, $3, $4, $5)"
# the same in the form that is fastest when the session keeps its plan
RECORD_PREPARED = (
    b"WITH ok AS (SELECT id FROM clew_places WHERE id = $1 AND token = $2 FOR NO KEY UPDATE), "
    b"ins AS (INSERT INTO clew_records SELECT id, $3, $4, $5 FROM ok ON CONFLICT DO NOTHING) "
    b"SELECT coalesce((SELECT id FROM ok), 0)"
)
RECORD_NAME = b"clew_record_1"  # a new text needs a new name
RECORD_TYPES = (INT8, INT8, BYTEA, INT8, BYTEA)
MANY = b"SELECT clew_records($1, $2, $3, $4, $5)"
MANY_TYPES = (INT8, INT8, 1001, 1016, 1001)


def raw(text: str | None) -> bytes | None:
    """Return text as it is stored."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def text(stored: Any) -> str:
    """Undo `raw`."""
    return bytes(stored).decode("utf-8", "surrogatepass")


class Raw(NamedTuple):
    """A call that is sent past the driver's adapters: SQL, encoded parameters, their types."""

    sql: bytes
    parameters: list[bytes]
    types: tuple[int, ...]


class Call(NamedTuple):
    """One statement of a group commit, and the jobs that it settles."""

    jobs: list[Job]
    raw: Raw | None
    parameters: tuple[Any, ...]


def plan(jobs: list[Job]) -> list[Call]:
    """Return the statements that apply jobs in order: neighbours that only add records to one place share one."""
    calls: list[Call] = []
    for job in jobs:
        if _only_records(job):
            last = calls[-1] if calls else None
            if last is not None and last.raw is not None and _same_place(last.jobs[0].place, job.place):
                last.jobs.append(job)
            else:
                calls.append(Call([job], Raw(b"", [], ()), ()))
        else:
            calls.append(Call([job], None, _everything(job.place, job.batch)))
    return [call if call.raw is None else Call(call.jobs, _records(call.jobs), ()) for call in calls]


def _same_place(one: Place, other: Place) -> bool:
    return one.key == other.key and one.token == other.token


def _only_records(job: Job) -> bool:
    batch = job.batch
    return bool(
        job.place.token and batch.records and batch.checkpoint is None and batch.state is None and not batch.values
        and not batch.notes and not batch.drops and not batch.release and batch.head is None
    )  # fmt: skip


def _records(jobs: list[Job]) -> Raw:
    place = jobs[0].place
    rows = [row for job in jobs for row in job.batch.records]
    head = [_int8(place.key), _int8(place.token)]
    if len(rows) == 1 and rows[0][1] >= 0:
        checkpoint_id, n, body = rows[0]
        return Raw(RECORD, [*head, raw(checkpoint_id) or b"", _int8(n), body], RECORD_TYPES)
    ids = _array(BYTEA, [raw(row[0]) or b"" for row in rows])
    numbers = _array(INT8, [_int8(row[1]) for row in rows])
    return Raw(MANY, [*head, ids, numbers, _array(BYTEA, [row[2] for row in rows])], MANY_TYPES)


def _array(kind: int, items: list[bytes]) -> bytes:
    """Return a one-dimensional array without NULLs in Postgres's binary form."""
    parts = [_array_head(1, 0, kind, len(items), 1)]
    for item in items:
        parts += (_int4(len(item)), item)
    return b"".join(parts)


def _everything(place: Place, batch: Batch) -> tuple[Any, ...]:
    row = batch.checkpoint
    state = batch.state or (None, None, None)
    records, values, notes = batch.records, batch.values, batch.notes
    return (
        place.key, raw(place.thread_id), raw(place.ns), place.token, [raw(one) for one in batch.drops],
        raw(row.id) if row else None, raw(row.parent) if row else None, row.body if row else None, raw(batch.head),
        [raw(one[0]) for one in records], [one[1] for one in records], [one[2] for one in records],
        [one[0] for one in values], [one[1] for one in values], [one[2] for one in values],
        [raw(one[0]) for one in notes], [one[1] for one in notes],
        state[0], raw(state[1]), state[2], batch.release,
    )  # fmt: skip


def is_about_data(error: BaseException) -> bool:
    """Whether the server refused what it was given, rather than failed: the rest of a group can still be written."""
    kinds = {cls.__name__ for cls in type(error.__cause__).__mro__}
    return not kinds.isdisjoint({"DataError", "IntegrityError", "ProgramLimitExceeded", "OutOfMemory"})


def settle(call: Call, place_id: int) -> None:
    """Tell the jobs of a statement how it ended. place_id: what the function returned, 0 when fenced."""
    for job in call.jobs:
        if not place_id:
            job.error = Fenced()
        elif job.place.key is None:
            job.place.key = place_id


def to_place(thread_id: str, ns: str, row: tuple[Any, ...]) -> Place:
    """Return the row of clew_load or clew_acquire as a place."""
    place = Place(thread_id, ns)
    place.key, place.owner, place.expires, place.state = row[0], row[2], row[3], row[4]
    place.name, place.info, place.changed = text(row[5]), bytes(row[6]), row[8]
    place.latest = text(row[7]) if row[7] is not None else None
    if row[9] is not None:
        place.head = Row(text(row[9]), text(row[10]) if row[10] is not None else None, bytes(row[11]))
        place.records = [bytes(body) for body in row[12] or ()]
    if row[13]:
        place.token = row[1]
    return place


def to_taken(place: Place, row: tuple[Any, ...]) -> Place:
    """Return an acquired place. Raises: Busy when the lease is another's."""
    if not row[13]:
        raise Busy(place)
    return place


def checkpoints(thread_id: str | None, ns: str | None, before: str | None, limit: int | None) -> tuple[str, list[Any]]:
    """Return the statement that lists checkpoints, newest id first."""
    where: list[str] = []
    parameters: list[Any] = []
    for clause, value in (("p.thread = %b", thread_id), ("p.ns = %b", ns), ("c.id < %b", before)):
        if value is not None:
            where.append(clause)
            parameters.append(raw(value))
    sql = (
        "SELECT p.thread, p.ns, c.id, c.parent, c.body FROM clew_checkpoints c JOIN clew_places p ON p.id = c.place"
        + (f" WHERE {' AND '.join(where)}" if where else "")
        + " ORDER BY c.id DESC"
    )
    if limit is not None:
        sql += " LIMIT %s"
        parameters.append(limit)
    return sql, parameters


def to_checkpoint(row: tuple[Any, ...]) -> tuple[str, str, Row]:
    """Return one row of `checkpoints`."""
    parent = text(row[3]) if row[3] is not None else None
    return text(row[0]), text(row[1]), Row(text(row[2]), parent, bytes(row[4]))


def places(state: int | None, name: str | None, limit: int | None) -> tuple[str, list[Any]]:
    """Return the statement that lists places, last changed first."""
    where: list[str] = []
    parameters: list[Any] = []
    if state is not None:
        where.append("state = %s" + (" AND state <> 0" if state else ""))  # as the partial index says it
        parameters.append(state)
    if name is not None:
        where.append("name = %b")
        parameters.append(raw(name))
    sql = "SELECT id, token, owner, expires, state, name, info, latest, changed, thread, ns FROM clew_places"
    sql += f" WHERE {' AND '.join(where)}" if where else ""
    sql += " ORDER BY changed DESC"
    if limit is not None:
        sql += " LIMIT %s"
        parameters.append(limit)
    return sql, parameters


def to_listed(row: tuple[Any, ...]) -> Place:
    """Return one row of `places`."""
    return to_place(text(row[9]), text(row[10]), (*row[:9], None, None, None, None, False))


def notes_span(prefix: str) -> tuple[bytes, bytes]:
    """Return (first, end) of the keys that begin with prefix."""
    first = raw(prefix) or b""
    return first, first + b"\xff"
