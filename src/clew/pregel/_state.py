"""Reading and changing the state of threads, beside any run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._io import Awaiting, Blocking
from clew.checkpoint._journal import IDLE, Batch, Busy, Place, Row, live, new_owner
from clew.checkpoint._views import config_of, metadata_of, records_of
from clew.checkpoint.base import get_checkpoint_id, timestamp
from clew.errors import PendingInterruptError, ThreadBusyError
from clew.pregel._config import thread_of
from clew.pregel._foreign import journal_of
from clew.pregel._root import show
from clew.pregel._thread import Known, Values, body_of
from clew.types import PregelTask, StateSnapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from clew.checkpoint._codec import Codec
    from clew.checkpoint._io import Io
    from clew.pregel._pregel import Pregel


class Reader:
    """A journal with its codec, for one face."""

    __slots__ = ("codec", "io", "journal", "saver")

    def __init__(self, io: Io, codec: Codec, journal: Any, saver: Any) -> None:
        self.io = io
        self.codec = codec
        self.journal = journal
        self.saver = saver


def blocking(workflow: Pregel) -> Reader:
    """Return the blocking reader of a workflow's saver."""
    saver = workflow.must_have_saver()
    if getattr(saver, "_loop_only", False):
        from clew.checkpoint._views import _refuse_in_loop  # pyright: ignore[reportPrivateUsage] - one rule

        _refuse_in_loop(type(saver).__name__)
    journal, codec = journal_of(saver)
    return Reader(Blocking(journal), codec, journal, saver)


def awaiting(workflow: Pregel) -> Reader:
    """Return the awaited reader of a workflow's saver."""
    saver = workflow.must_have_saver()
    journal, codec = journal_of(saver)
    return Reader(Awaiting(journal) if hasattr(journal, "aacquire") else Blocking(journal), codec, journal, saver)


async def get(workflow: Pregel, reader: Reader, config: Any) -> StateSnapshot:
    """Return the state at the checkpoint that the config names, or now."""
    thread_id, ns = thread_of(config)
    place = await reader.io.load(thread_id, ns, get_checkpoint_id(config))
    if place is None or place.head is None:
        return StateSnapshot(workflow.no_values(), (), config, None, None, None, (), ())
    return await snapshot(workflow, reader, place, place.head, place.records)


async def snapshot(workflow: Pregel, reader: Reader, place: Place, row: Row, bodies: Sequence[bytes]) -> StateSnapshot:
    """Return one checkpoint as the documented snapshot."""
    codec, thread_id = reader.codec, place.thread_id
    body = body_of(codec, thread_id, row)
    known = Known(records_of(codec, thread_id, bodies))
    values = Values(reader.io, codec, place)
    tasks = () if known.ended else await workflow.tasks_of(values, row, body, known)
    questions = tuple(one for task in tasks for one in task.interrupts)
    parent = config_of(thread_id, place.ns, row.parent) if row.parent else None
    return StateSnapshot(
        await workflow.values_of(values, body),
        tuple(task.name for task in tasks),
        config_of(thread_id, place.ns, row.id),
        metadata_of(body, codec),
        body.ts or timestamp(body.at),
        parent,
        tasks,
        questions,
    )


def questions_of(codec: Codec, known: Known) -> tuple[Any, ...]:
    """Return the questions that wait, as clients see them."""
    return tuple(show(one, codec) for one in known.waiting())


def body_task(workflow: Pregel, values: Values, row: Row, known: Known) -> PregelTask:
    """Return the body of a workflow as a task of a snapshot."""
    failed = [one for one in known.failures if one.how == "error"]
    error: Any = RuntimeError(failed[-1].text) if failed else None
    return PregelTask(
        R.task_id(values.place.thread_id, row.id, ""), workflow.name, ("__pregel_pull", workflow.name), error,
        questions_of(values.codec, known),
    )  # fmt: skip


async def history(
    workflow: Pregel, reader: Reader, config: Any, filter: dict[str, Any] | None, before: Any, limit: int | None
) -> AsyncIterator[StateSnapshot]:
    """Yield the states of a thread, newest first."""
    thread_id, ns = thread_of(config)
    older = get_checkpoint_id(before) if before is not None else None
    left = -1 if limit is None else limit
    pages = limit if not filter else None
    for _, _, row in await reader.io.checkpoints(thread_id, ns, before=older, limit=pages):
        if left == 0:
            return
        if filter:
            found = metadata_of(body_of(reader.codec, thread_id, row), reader.codec)
            if any(key not in found or found[key] != value for key, value in filter.items()):
                continue
        place = await reader.io.load(thread_id, ns, row.id)
        if place is not None and place.head is not None:
            left -= 1
            yield await snapshot(workflow, reader, place, row, place.records)


async def update(workflow: Pregel, reader: Reader, config: Any, values: Any, as_node: str | None) -> Any:
    """Write a checkpoint with changed values; returns its config."""
    thread_id, ns = thread_of(config)
    io, codec = reader.io, reader.codec
    owner = new_owner()
    live.add(owner)
    try:
        try:
            place = await io.acquire(thread_id, ns, owner, workflow.lease)
        except Busy:
            raise ThreadBusyError(
                f"thread {thread_id!r} has a run in progress; its state can be changed when that ends"
            ) from None
        state = (place.state, place.name, place.info)
        try:
            head, bodies = place.head, place.records
            wanted, forks = get_checkpoint_id(config), False
            if wanted is not None and (head is None or head.id != wanted):
                found = await io.load(thread_id, ns, wanted)
                if found is None or found.head is None:
                    raise ValueError(f"thread {thread_id!r} has no checkpoint {wanted!r}")
                head, bodies, forks = found.head, found.records, True
            body = None if head is None else body_of(codec, thread_id, head)
            known = Known(records_of(codec, thread_id, bodies))
            if workflow.refuses_input and body is not None and not forks and workflow.is_open(body) and known.waiting():
                asked = codec.decode(known.waiting()[0].value)
                raise PendingInterruptError(
                    f"thread {thread_id!r} waits for an answer to {asked!r}: answer it or cancel it first"
                )
            held = Values(io, codec, place)
            refs, rows, private = await workflow.updated(held, body, known, values, as_node, forks=forks)
            new = R.Body(
                time.time(), "update", -1 if body is None else body.step + 1, refs, workflow.name, None, private
            )
            row = Row(sortable_id(), None if head is None else head.id, codec.seal(thread_id, R.pack(new)))
            await io.commit(place, Batch(checkpoint=row, values=rows, state=(IDLE, workflow.name, b""), release=True))
        except BaseException:
            await io.commit(place, Batch(state=state, release=True))
            raise
    finally:
        live.discard(owner)
    return config_of(thread_id, ns, row.id)
