"""How an attempt ends: with a result, with questions, with an error, or because somebody stopped it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import FAILED, IDLE, WAITING, Batch, Fenced, Row
from clew.errors import Cancelled, GraphDrained, NonDeterminismError, RunCancelledError
from clew.pregel import _lease
from clew.pregel._begin import END, PREVIOUS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.pregel._begin import Start
    from clew.pregel._root import Root
    from clew.types import Interrupt


class Drained(Cancelled):
    """The run stops at its next task because somebody asked for it; raised as GraphDrained to the caller."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def finish(root: Root, start: Start, value: Any, save: Any) -> None:
    """Write the result of a workflow down as a checkpoint and give the thread back."""
    body = start.body
    kept = root.encode(save, f"what {root.name!r} saves")
    base = body.values.get(PREVIOUS)
    if base is None:
        base = body.values.get(END)
    saved, rows = start.values.write(kept, base)
    if value is save:
        shown = saved
    else:
        shown, more = start.values.write(root.encode(value, f"the result of {root.name!r}"), body.values.get(END))
        rows = [*rows, *more]
    done = R.Body(time.time(), "loop", body.step + 1, {END: shown, PREVIOUS: saved}, root.name, body.metadata, None)
    row = Row(sortable_id(), root.at, root.codec.seal(root.thread_id or "", R.pack(done)))
    notes: list[tuple[str, bytes | None]] = []
    if start.idempotency is not None:
        notes.append((start.idempotency, root.codec.seal(root.thread_id or "", root.codec.encode((root.at, row.id)))))
    await close(root, start, Batch(
        checkpoint=row, values=rows, records=root.take_backlog(), notes=notes, state=(IDLE, root.name, b""),
        release=True,
    ))  # fmt: skip
    root.done = row.id
    start.body = done
    start.values.remember(saved)


async def pause(root: Root, start: Start, questions: Sequence[Interrupt]) -> None:
    """Write down that the run waits for answers, and give the thread back."""
    shown = [(one.id, one.key, str(one.value)[:80]) for one in questions]
    info = root.codec.seal(root.thread_id or "", root.codec.encode(shown))
    if not root.dirty and start.place.state == WAITING:
        state = (start.place.state, start.place.name, start.place.info)
    else:
        state = (WAITING, root.name, info)
    rows = root.take_backlog() if root.dirty else ()
    await close(root, start, Batch(records=rows, state=state, release=True))


async def fail(root: Root, start: Start, error: BaseException) -> None:
    """Write down why the run ended, and give the thread back; `invoke(None)` tries again what failed."""
    if isinstance(error, NonDeterminismError) and not root.dirty:
        place = start.place
        await close(root, start, Batch(state=(place.state, place.name, place.info), release=True))
        return
    stopped = isinstance(error, Cancelled)
    how = "drained" if isinstance(error, Drained) else "stopped" if stopped else "error"
    end = R.End(how, time.time(), f"{type(error).__name__}: {error}"[:500], _to_retry(root, error))
    rows = root.take_backlog()
    rows.append((root.at or "", next(root.numbers), root.codec.seal(root.thread_id or "", R.pack(end))))
    info = root.codec.seal(root.thread_id or "", root.codec.encode(end.text))
    await close(root, start, Batch(records=rows, state=(FAILED, root.name, info), release=True))


async def close(root: Root, start: Start, batch: Batch) -> None:
    """Commit the last batch of an attempt. Raises: RunCancelledError when another run took the thread."""
    owner = start.place.owner
    if root.durability == "async":
        while root.flush.locked():  # what it carries comes before the end
            await start.io.sleep(0.0002)
        if root.broken is not None and (batch.state is None or batch.state[0] != FAILED):
            raise root.broken
    try:
        await start.io.commit(start.place, batch)
    except Fenced:
        raise stopped(root) from None
    finally:
        _lease.drop(owner)


def stopped(root: Root) -> RunCancelledError:
    """Return the error for the caller of a run that another call ended."""
    return RunCancelledError(f"this run of {root.name!r} on thread {root.thread_id!r} was ended by another call")


def for_caller(root: Root, error: BaseException) -> BaseException:
    """Return what the caller of the run sees: signals of the runtime become errors."""
    if isinstance(error, Drained):
        return GraphDrained(error.reason)
    if isinstance(error, Cancelled):
        return stopped(root)
    return error


def _to_retry(root: Root, error: BaseException) -> list[tuple[str, str, int]]:
    """Return the tasks whose failure led to this error; none when the program was stopped (Ctrl-C): no failure."""
    if not isinstance(error, (Exception, BaseExceptionGroup)):
        return []
    culprits = {id(one): None for one in _family(cast("BaseException", error), set())}
    found: list[tuple[str, str, int]] = []
    for path, one in root.errors.items():
        if id(one) in culprits:
            parent = path.rpartition(".")[0]
            prefix, calls = root.sights.get(path, (f"{parent}." if parent else "", 1 << 30))
            found.append((path, prefix, calls))
    return found


def _family(error: BaseException, seen: set[int]) -> list[BaseException]:
    """Return an error and all that it came from: causes, contexts, members of groups."""
    if id(error) in seen:
        return []
    seen.add(id(error))
    found = [error]
    for one in (error.__cause__, None if error.__suppress_context__ else error.__context__):
        if one is not None:
            found += _family(one, seen)
    if isinstance(error, BaseExceptionGroup):
        members: tuple[BaseException, ...] = error.exceptions  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType] - of any kind
        for one in members:
            found += _family(one, seen)
    return found
