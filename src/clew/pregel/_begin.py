"""How an attempt begins: take the thread, see what its last run came to, decide what this call means there.

One body for both faces. Nothing is written before everything that can be refused has been looked at; a refusal gives
the
thread back as it was.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, cast

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import RUNNING, Batch, Busy, Fenced, Place, Row, live, new_owner
from clew.checkpoint._views import records_of
from clew.errors import (
    Cancelled,
    EmptyInputError,
    NonDeterminismError,
    PendingInterruptError,
    SerializationError,
    ThreadBusyError,
    UnknownInterruptError,
)
from clew.pregel import _answers, _lease
from clew.pregel._thread import Known, Values, body_of, rewound, shared
from clew.types import MISSING, Command

if TYPE_CHECKING:
    from clew.checkpoint._io import Io
    from clew.pregel._pregel import Pregel
    from clew.pregel._root import Root

START, END, PREVIOUS = "__start__", "__end__", "__previous__"
VERSION = "~version"


class Finished(Exception):
    """The value is known already."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Start:
    """What an attempt starts from. body: that of the checkpoint `root.at`. input: MISSING unless given with this call.

    fresh: a new run, not the next attempt of one. command: the Command of this call, or None.
    """

    __slots__ = ("body", "command", "fresh", "idempotency", "input", "io", "known", "place", "values")

    def __init__(self, io: Io, place: Place, values: Values) -> None:
        self.io = io
        self.place = place
        self.values = values
        self.body = R.Body(0.0, "input", -1, {})
        self.input: Any = MISSING
        self.command: Command[Any] | None = None
        self.fresh = True
        self.known = Known()
        self.idempotency: str | None = None


async def begin(workflow: Pregel, root: Root, io: Io, thread_id: str, ns: str, input: Any, config: Any) -> Start:
    """Take the thread and write down what begins.

    Raises: ThreadBusyError, PendingInterruptError, UnknownInterruptError, EmptyInputError, SerializationError, the
    storage's errors; Finished when the idempotency key has a result.
    """
    options: dict[str, Any] = (config.get("configurable") if config else None) or dict[str, Any]()
    key = options.get("idempotency_key")
    note = None if key is None else f"key:{workflow.name}:{key}"
    checkpoint_id = options.get("checkpoint_id") or None
    owner = new_owner()
    live.add(owner)
    try:
        place = await _acquire(workflow, root, io, thread_id, ns, owner, note)
    except BaseException:
        live.discard(owner)
        raise
    before = (place.state, place.name, place.info)
    root.place = place
    root.thread_id = thread_id
    try:
        start = Start(io, place, Values(io, root.codec, place))
        start.idempotency = note
        await _decide(workflow, root, start, input, config, checkpoint_id, note)
    except BaseException:
        try:
            await io.commit(place, Batch(state=before, release=True))
        except Fenced:  # another run stole the thread meanwhile; it is its own
            pass
        finally:
            live.discard(owner)  # not before: an owner that is not alive may be superseded
        raise
    _lease.hold(root, owner, workflow.lease)
    return start


# -- taking the thread ------------------------------------------------------------------------------

_lines: dict[tuple[int, str, str], list[object]] = {}  # who waits for a thread in this process, in order


async def _acquire(
    workflow: Pregel, root: Root, io: Io, thread_id: str, ns: str, owner: str, note: str | None
) -> Place:
    line_key = (id(root.journal), thread_id, ns)
    strategy = "enqueue" if note is not None else workflow.multitask
    try:
        if strategy != "enqueue" or line_key not in _lines:
            return await io.acquire(thread_id, ns, owner, workflow.lease)
    except Busy as busy:
        if strategy == "reject":
            raise ThreadBusyError(
                f"thread {thread_id!r} has a run of {busy.place.name or workflow.name!r} in progress; wait, or say "
                'what should happen with @entrypoint(multitask_strategy="enqueue" | "interrupt" | "rollback")'
            ) from None
        if strategy != "enqueue":
            return await _take_over(root, io, thread_id, ns, owner, workflow)
    ticket = object()
    line = _lines.setdefault(line_key, [])
    line.append(ticket)
    pause = 0.0005
    try:
        while True:
            if line[0] is ticket:
                try:
                    return await io.acquire(thread_id, ns, owner, workflow.lease)
                except Busy:
                    pass
            await io.sleep(pause)
            pause = min(pause * 1.5, 0.01)
    finally:
        line.remove(ticket)
        if not line:
            _lines.pop(line_key, None)


async def _take_over(root: Root, io: Io, thread_id: str, ns: str, owner: str, workflow: Pregel) -> Place:
    """Stop the run that holds the thread at its next task, and go on from where it stood or from before it."""
    other = _lease.holder(root.journal, thread_id, ns)
    place = await io.acquire(thread_id, ns, owner, workflow.lease, steal=True)
    if other is not None:
        other.stop = Cancelled()
    if workflow.multitask == "rollback" and place.head is not None:
        await rollback(io, root, place)
    return place


async def rollback(io: Io, root: Root, place: Place) -> None:
    """Delete the checkpoints of an unfinished run; the thread is as before it."""
    root.rolled_back = True
    drops: list[str] = []
    row = place.head
    while row is not None:
        body = body_of(root.codec, place.thread_id, row)
        if not drops and body.source in ("loop", "update") and not body.run:
            return
        drops.append(row.id)
        parent = row.parent
        last = body.source in ("input", "fork")
        found = None if parent is None else await io.load(place.thread_id, place.ns, parent)
        row = None if found is None else found.head
        if last:
            break
    await io.commit(place, Batch(drops=drops, head=row.id if row is not None else ""))
    place.head = row
    place.latest = row.id if row is not None else None
    place.records = [] if row is None else await io.records(place.thread_id, place.ns, row.id)


# -- deciding ---------------------------------------------------------------------------------------


async def _decide(
    workflow: Pregel, root: Root, start: Start, input: Any, config: Any, checkpoint_id: str | None, note: str | None
) -> None:
    io, place, codec = start.io, start.place, root.codec
    head, bodies = place.head, place.records
    forks = False
    if checkpoint_id is not None and (head is None or head.id != checkpoint_id):
        found = await io.load(place.thread_id, place.ns, checkpoint_id)
        if found is None or found.head is None:
            raise ValueError(f"thread {place.thread_id!r} has no checkpoint {checkpoint_id!r}")
        head, bodies, forks = found.head, found.records, True
        if place.key is None or found.key is not None:
            place.key = found.key if place.key is None else place.key
    records = records_of(codec, place.thread_id, bodies)
    known = Known(records)
    body = None if head is None else body_of(codec, place.thread_id, head)
    is_open = body is not None and not known.ended and workflow.is_open(body)
    if note is not None:
        input = await _idempotent(workflow, root, start, note, input, body, is_open=is_open)
    command: Command[Any] | None = cast("Command[Any]", input) if isinstance(input, Command) else None
    start.command = command
    _refuse(workflow, root, place, input, command, known, records, is_open=is_open, forks=forks)
    if input is None or command is not None:
        if body is None or head is None:
            raise EmptyInputError(f"nothing to continue on thread {place.thread_id!r}: give an input")
        if not is_open and command is None:
            raise EmptyInputError(
                f"nothing to continue on thread {place.thread_id!r}: its last run ended; give an input"
            )
        await _continue(workflow, root, start, head, body, known, records, forks=forks)
    else:
        await _fresh(workflow, root, start, input, config, head, body)


def _refuse(
    workflow: Pregel,
    root: Root,
    place: Place,
    input: Any,
    command: Command[Any] | None,
    known: Known,
    records: list[R.Record],
    *,
    is_open: bool,
    forks: bool,
) -> None:
    """Match the answers of this call to the questions that wait, and refuse what fits no state of the thread."""
    codec = root.codec
    waiting = known.waiting() if is_open and not forks else []
    if command is not None and command.resume is not MISSING:
        if forks and is_open:
            waiting = Known(rewound(records, results=False)).waiting()
        if not is_open:
            raise UnknownInterruptError(
                f"nothing waits for an answer on thread {place.thread_id!r}; {command.resume!r} was not used",
                reason="not_pending",
            )
        root.given.update(_answers.match(codec, place.thread_id, waiting, command.resume))
    elif command is not None and not workflow.takes_command(command):
        raise EmptyInputError("this Command has no resume=, and a workflow of functions takes no update or goto")
    elif input is not None and command is None and waiting and workflow.refuses_input:
        asked = "; ".join(f"{codec.decode(one.value)!r} (id {one.id})" for one in waiting)
        raise PendingInterruptError(
            f"thread {place.thread_id!r} waits for an answer to {asked}: give it with Command(resume=...), "
            "or withdraw the question with cancel(config)"
        )


async def _idempotent(
    workflow: Pregel, root: Root, start: Start, note: str, input: Any, body: R.Body | None, *, is_open: bool
) -> Any:
    """Return the input, or None to go on with the run that this key started; raises Finished with its result.

    A run that failed is gone on with as well, unless its input was another one.
    """
    place = start.place
    stored = (await start.io.notes(place.thread_id, place.ns, note)).get(note)
    if stored is None:
        return input
    run, done = root.codec.decode(root.codec.unseal(place.thread_id, stored))
    if isinstance(input, Command):
        return cast("Any", input)  # an answer is never dropped for a result
    if done is None and not is_open:
        done = await _end_of(start, root, run)
    if done is not None:
        found = await start.io.load(place.thread_id, place.ns, done)
        if found is not None and found.head is not None:
            raise Finished(await workflow.result_at(start.values, body_of(root.codec, place.thread_id, found.head)))
    elif body is not None and is_open:
        head = place.head
        if run == body.run or (head is not None and run == head.id):
            recorded = body.values.get(START)
            if recorded is None or bytes(await start.values.raw(recorded)) == root.codec.encode(input):
                return None
    return input


async def _end_of(start: Start, root: Root, run: str) -> str | None:
    """Return the checkpoint that a run ended with, when a call without its key brought it there; else None."""
    place, codec = start.place, root.codec
    rows = {row.id: row for _, _, row in await start.io.checkpoints(place.thread_id, place.ns)}
    for row in rows.values():
        body, parent = body_of(codec, place.thread_id, row), rows.get(row.parent or "")
        if body.source != "loop" or body.run or parent is None:
            continue
        if parent.id == run or body_of(codec, place.thread_id, parent).run == run:
            return row.id
    return None


async def _continue(
    workflow: Pregel,
    root: Root,
    start: Start,
    head: Row,
    body: R.Body,
    known: Known,
    records: list[R.Record],
    *,
    forks: bool,
) -> None:
    """Go on with an unfinished run: at its checkpoint, or at a copy of an older one with what preceded a question."""
    place, codec, now = start.place, root.codec, time.time()
    _check_version(workflow, root, known)
    start.fresh = False
    if forks:
        kept = rewound(records, results=workflow.is_task) if workflow.is_task or root.given else []
        known = Known(kept)
        body = R.Body(
            now, "fork", body.step + (0 if root.given else 1), shared(body.values), body.workflow, body.metadata,
            body.private,
            body.versions, body.seen, None, body.run,
        )  # fmt: skip
        row = Row(sortable_id(), head.parent, codec.seal(place.thread_id, R.pack(body)))
        begin = R.Begin(now, 1)
        rows = [(row.id, n, codec.seal(place.thread_id, R.pack(one))) for n, one in enumerate([*kept, begin])]
        await start.io.commit(place, Batch(checkpoint=row, records=rows, state=(RUNNING, workflow.name, b"")))
        root.numbers = itertools.count(len(rows))
    else:
        row = head
        root.numbers = itertools.count(place.token << 24)  # above those of all attempts before, whatever they lost
        for question in known.waiting():
            if question.expires is not None and question.default is not None and question.expires <= now:
                if question.id in root.given:
                    raise UnknownInterruptError(
                        f"the time to answer {codec.decode(question.value)!r} is over; its default is the answer",
                        interrupt_ids=[question.id],
                    )
                root.given[question.id] = question.default
        begin = R.Begin(now, known.begins + 1)  # goes with the first thing that this attempt writes down
        root.backlog.append((row.id, next(root.numbers), codec.seal(place.thread_id, R.pack(begin))))
    root.at = row.id
    root.run_id = body.run or row.id
    root.records = known.outcomes
    root.answers = known.answers
    root.attempts = known.attempts
    root.marks = known.marks
    if "~what-if" in known.marks:
        root.policy = "rerun"
    start.body = body
    start.known = known
    root.attempt = known.begins + 1


def _check_version(workflow: Pregel, root: Root, known: Known) -> None:
    """Refuse to go on with a run that another version of the code began, as the workflow's policy says."""
    raw = known.marks.get(VERSION)
    began = None if raw is None else root.codec.decode(raw)
    if began == workflow.version or workflow.nondeterminism == "rerun":
        return
    text = (
        f"the run on thread {root.thread_id!r} was begun by version {began!r} of {workflow.name!r} and this is version "
        f"{workflow.version!r}; nothing was run or saved. Let that version finish it, or fork or cancel it"
    )
    if workflow.nondeterminism == "raise":
        raise NonDeterminismError(text)
    import warnings

    warnings.warn(text, RuntimeWarning, stacklevel=2)


async def _fresh(
    workflow: Pregel, root: Root, start: Start, input: Any, config: Any, head: Row | None, body: R.Body | None
) -> None:
    """Begin a new run with its input."""
    place, codec, now = start.place, root.codec, time.time()
    root.given.clear()
    values: dict[str, R.Ref] = {} if body is None else dict(body.values)
    values.pop(START, None)
    if (head is not None and head.id != place.latest) or root.rolled_back:
        values = shared(values)
    try:
        raw = codec.encode(input)
    except SerializationError as error:
        raise SerializationError(f"the input of {workflow.name!r} can't be saved: {error}", path=error.path) from error
    values[START] = raw  # inline whatever its size: no later checkpoint refers to it
    metadata = _metadata(config, codec)
    start.body = R.Body(
        now, "input", -1 if body is None else body.step + 1, values, workflow.name, metadata,
        workflow.private_of_input(body),
    )  # fmt: skip
    row = Row(sortable_id(), None if head is None else head.id, codec.seal(place.thread_id, R.pack_input(start.body)))
    begin = codec.seal(place.thread_id, R.pack(R.Begin(now, 1)))
    notes: list[tuple[str, bytes | None]] = []
    if start.idempotency is not None:
        notes.append((start.idempotency, codec.seal(place.thread_id, codec.encode((row.id, None)))))
    records = [(row.id, 0, begin)]
    if workflow.version is not None:
        mark = R.Mark(VERSION, codec.encode(workflow.version))
        records.append((row.id, 1, codec.seal(place.thread_id, R.pack(mark))))
    batch = Batch(checkpoint=row, records=records, notes=notes, state=(RUNNING, workflow.name, b""))
    await start.io.commit(place, batch)
    root.at = root.run_id = row.id
    root.numbers = itertools.count(2)
    root.dirty = True
    start.input = input


def _metadata(config: Any, codec: Any) -> bytes | None:
    """Return what the caller says about the run, encoded: simple values only."""
    given: dict[str, Any] | None = config.get("metadata") if config else None
    if not given:
        return None
    kept = {k: v for k, v in given.items() if isinstance(v, (str, int, float, bool)) or v is None}
    return codec.encode(kept) if kept else None
