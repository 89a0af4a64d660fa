"""What can be done to a thread from outside its run: cancel, take over, fork, send events to, and look through it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from clew._ids import new_id, sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import IDLE, RUNNING, Batch, Place, Row, live, may_take, new_owner
from clew.checkpoint._views import records_of
from clew.checkpoint.base import get_checkpoint_id
from clew.errors import Cancelled, EmptyInputError, ThreadBusyError
from clew.pregel import _lease
from clew.pregel._config import thread_of
from clew.pregel._state import awaiting, blocking
from clew.pregel._thread import Known, Values, body_of, event_notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clew.pregel._pregel import Pregel
    from clew.pregel._state import Reader

_log = logging.getLogger("clew")
WHAT_IF = "~what-if"


async def cancel(workflow: Pregel, reader: Reader, config: Any) -> bool:
    """End the unfinished run of a thread; returns whether there was one."""
    thread_id, ns = thread_of(config)
    io, codec = reader.io, reader.codec
    found = await io.load(thread_id, ns)
    if found is None or found.head is None:
        return False
    known = Known(records_of(codec, thread_id, found.records))
    if known.ended or not workflow.is_open(body_of(codec, thread_id, found.head)):
        return False
    holder = _lease.holder(reader.journal, thread_id, ns)
    owner = new_owner()
    live.add(owner)
    try:
        place = await io.acquire(thread_id, ns, owner, workflow.lease, steal=True)
        if holder is not None:
            holder.stop = Cancelled()
        head = place.head
        if head is None or not workflow.is_open(body_of(codec, thread_id, head)):
            await io.commit(place, Batch(state=(IDLE, place.name, b""), release=True))
            return False
        end = codec.seal(thread_id, R.pack(R.End("cancelled", time.time())))
        await io.commit(
            place, Batch(records=((head.id, -1, end),), state=(IDLE, place.name or workflow.name, b""), release=True)
        )
    finally:
        live.discard(owner)
    return True


async def recover(workflow: Pregel, reader: Reader, go_on: Callable[[Any], Awaitable[Any]]) -> list[str]:
    """Finish the runs of this workflow whose lease has run out or whose process is gone."""
    taken: list[str] = []
    for place in await reader.io.places(state=RUNNING, name=workflow.name):
        if not may_take(place.owner, place.expires):
            continue
        config = {"configurable": {"thread_id": place.thread_id, **({"checkpoint_ns": place.ns} if place.ns else {})}}
        try:
            await go_on(config)
        except (ThreadBusyError, EmptyInputError):  # somebody was faster
            continue
        except Exception:
            _log.warning("the run that was taken over on thread %r failed again", place.thread_id, exc_info=True)
        taken.append(place.thread_id)
    return taken


async def fork(
    workflow: Pregel, reader: Reader, config: Any, before: int | None, results: dict[int, Any], *, what_if: bool
) -> Any:
    """Make a thread that stands inside a run of this one; returns its config."""
    if not workflow.is_task:
        raise TypeError(
            "fork(before=) is for workflows of functions; a graph forks when it is invoked with an older config"
        )
    thread_id, ns = thread_of(config)
    io, codec = reader.io, reader.codec
    place = await io.load(thread_id, ns, get_checkpoint_id(config))
    if (
        place is not None
        and place.head is not None
        and body_of(codec, thread_id, place.head).source == "loop"
        and place.head.parent
    ):
        place = await io.load(thread_id, ns, place.head.parent)
    if place is None or place.head is None:
        raise EmptyInputError(f"thread {thread_id!r} has no run to fork")
    body = body_of(codec, thread_id, place.head)
    known = Known(records_of(codec, thread_id, place.records))
    new_thread, row_id = new_id(), sortable_id()
    kept = _kept(known, before, results, codec, keep_all=what_if)
    records: list[R.Record] = [R.Begin(time.time(), 1)]
    for record in kept:
        if isinstance(record, R.Question):
            answer = known.answers.get(record.id)
            if answer is None:
                continue
            record.id = R.question_id(new_thread, row_id, record.path)
            records += [record, R.Answer(record.id, answer, time.time())]
        else:
            records.append(record)
    if what_if:
        records.append(R.Mark(WHAT_IF, codec.encode(True)))
    target = Place(new_thread, ns)
    old, new = Values(io, codec, place), Values(io, codec, target)
    refs: dict[str, R.Ref] = {}
    rows: list[tuple[int, int, bytes]] = []
    for name, ref in body.values.items():
        refs[name], more = new.write(bytes(await old.raw(ref)))
        rows += more
    forked = R.Body(time.time(), "fork", body.step, refs, body.workflow, body.metadata, body.private)
    await io.commit(target, Batch(
        checkpoint=Row(row_id, None, codec.seal(new_thread, R.pack(forked))),
        values=rows,
        records=[(row_id, n, codec.seal(new_thread, R.pack(one))) for n, one in enumerate(records)],
        state=(IDLE, workflow.name, b""),
    ))  # fmt: skip
    given: dict[str, Any] = config.get("configurable") or {}
    configurable: dict[str, Any] = {k: v for k, v in given.items() if k not in ("checkpoint_id", "idempotency_key")}
    return {**config, "configurable": {**configurable, "thread_id": new_thread}}


def _kept(known: Known, before: int | None, results: dict[int, Any], codec: Any, *, keep_all: bool) -> list[R.Record]:
    """Return the outcomes that a fork keeps, in call order, with their edits."""
    from clew.pregel._root import order

    top = sorted((path for path in known.outcomes if "." not in path), key=order)
    kept: list[R.Record] = []
    number = 0
    for path in top:
        record = known.outcomes[path]
        if isinstance(record, (R.Result, R.Failure)):
            if before is not None and number >= before and not keep_all:
                break
            if number in results:
                record = R.Result(path, record.name, record.args, codec.encode(results[number]), how="edited")
            number += 1
        kept.append(record)
    missing = [one for one in results if one >= number or one < 0]
    if missing:
        raise ValueError(f"results names task {missing[0]}, and the fork keeps {number} task results")
    return kept


async def send(
    workflow: Pregel, reader: Reader, config: Any, event: str, value: Any, resume: Callable[[Any], Awaitable[Any]]
) -> Any:
    """Keep an event for a thread, and wake the run that waits for it."""
    thread_id, ns = thread_of(config)
    raw = reader.codec.seal(thread_id, reader.codec.encode(value))
    await reader.io.commit(Place(thread_id, ns), Batch(notes=((f"{event_notes(event)}{sortable_id()}", raw),)))
    place = await reader.io.load(thread_id, ns)
    if place is None or place.head is None:
        return None
    known = Known(records_of(reader.codec, thread_id, place.records))
    if known.ended or not workflow.is_open(body_of(reader.codec, thread_id, place.head)):
        return None
    if any(one.key == f"event:{event}" for one in known.waiting()):
        try:
            return await resume(None)
        except (ThreadBusyError, EmptyInputError):  # the run is at work, or went on meanwhile: it looks by itself
            return None
    return None


__all__ = ["awaiting", "blocking", "cancel", "fork", "recover", "send"]
