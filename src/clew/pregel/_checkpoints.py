"""Checkpoints in mid-run, as graphs write one after every step."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import IDLE, RUNNING, Batch, Row
from clew.pregel._begin import START, Deferred

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.pregel._begin import Start
    from clew.pregel._flow import Flow
    from clew.pregel._root import Root


async def load(flow: Flow) -> dict[str, Any]:
    """Return the values of the checkpoint that the attempt starts from, without the input."""
    start = flow.start
    if start is None:
        return {}
    return {name: await start.values.value(ref) for name, ref in start.body.values.items() if name != START}


async def write(
    flow: Flow,
    values: dict[str, Any],
    *,
    changed: Iterable[str] | None = None,
    source: str = "loop",
    step: int | None = None,
    private: bytes | None = None,
    metadata: dict[str, Any] | None = None,
    last: bool = False,
) -> str | None:
    """Write the state after a step; what the step's tasks recorded is obsolete then. Returns the checkpoint's id.

    values: all of them. changed: the names that may differ from the last checkpoint, all by default. private: the
    position of the body, in bytes of its own. last: the run ends here and gives the thread back, in the same commit.
    Nothing is written in a run without a saver or inside another run; with durability "exit" only the last is.
    """
    root, start = flow.root, flow.start
    if start is None:
        return None
    older = start.body
    body = R.Body(
        time.time(), source, older.step + 1 if step is None else step, {}, flow.workflow.name,
        root.codec.encode(metadata) if metadata else older.metadata, private, run=root.run_id or "",
    )  # fmt: skip
    names = set(values) if changed is None else set(changed)
    new_id = sortable_id()
    backlog = root.take_backlog()
    if root.durability == "exit":
        _defer(root, start, body, values, names, new_id)
        if last:
            await _close(root, start, Batch(state=(IDLE, root.name, b""), release=True))
    else:
        rows = _references(root, start, body, values, names)
        row = Row(new_id, root.at, root.codec.seal(root.thread_id or "", R.pack(body)))
        state = (IDLE if last else RUNNING, root.name, b"")
        batch = Batch(checkpoint=row, values=rows, records=backlog, state=state if last else None, release=last)
        if last:
            await _close(root, start, batch)
        else:
            await start.io.commit(start.place, batch)
    start.body = body
    root.at = root.done = new_id
    root.numbers = itertools.count()
    root.records = {}
    root.attempts = {}
    root.met.clear()
    root.errors.clear()
    root.sights.clear()
    root.failed.clear()
    root.step = body.step
    root.dirty = True
    return new_id


async def _close(root: Root, start: Start, batch: Batch) -> None:
    from clew.pregel._end import close

    await close(root, start, batch)


def _references(
    root: Root, start: Start, body: R.Body, values: dict[str, Any], names: set[str]
) -> list[tuple[int, int, bytes]]:
    """Fill in the references of a body; returns the rows of values to write."""
    rows: list[tuple[int, int, bytes]] = []
    older = start.body.values
    for name, value in values.items():
        base = older.get(name)
        if name in names or base is None:
            raw = root.encode(value, f"the value of {name!r} in {root.name!r}")
            body.values[name], more = start.values.write(raw, base)
            rows += more
        else:
            body.values[name] = base
    return rows


def _defer(root: Root, start: Start, body: R.Body, values: dict[str, Any], names: set[str], new_id: str) -> None:
    """Keep a checkpoint until the run ends; values are encoded then, but what can't be saved is refused now."""
    for name in names:
        if name in values:
            root.encode(values[name], f"the value of {name!r} in {root.name!r}")
    held = start.deferred
    if held is None:
        head = start.place.head
        first = root.at or ""
        parent = None if head is None or head.id == first else head.id
        if not start.fresh and head is not None:
            parent = head.parent
        held = start.deferred = Deferred(new_id, parent, [first])
        held.body = start.body
        held.body.values = {name: ref for name, ref in start.body.values.items() if name != START}
    base = held.body.values
    held.id = new_id
    held.changed |= names
    held.values = values
    body.values = base
    held.body = body


def undefer(root: Root, start: Start, batch: Batch) -> None:
    """Add the deferred checkpoint to the last batch of the run."""
    held = start.deferred
    assert held is not None
    start.deferred = None
    base = held.body.values
    held.body.values = {}
    older, start.body = start.body, held.body
    start.body = R.Body(0.0, "", 0, base)
    rows = _references(root, start, held.body, held.values, held.changed)
    start.body = older
    batch.checkpoint = Row(held.id, held.parent, root.codec.seal(root.thread_id or "", R.pack(held.body)))
    batch.values = [*batch.values, *rows]
    batch.drops = [*batch.drops, *held.drops]
