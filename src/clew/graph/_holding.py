"""Where a run without checkpoints of its own has got to, written down when it stops.

So a pause or failure with durability "exit" is found by whoever looks, and gone on with in any durability.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import Batch, Row

if TYPE_CHECKING:
    from clew.graph._steps import Steps


async def hold(steps: Steps) -> None:
    """Make the position of a run a checkpoint, with what the step in progress has on record."""
    start, root = steps.start, steps.root
    if start is None or steps.saves or steps.step == start.body.step:
        return
    prefix, seal, thread = f"s{steps.step + 1}-", root.codec.seal, root.thread_id or ""
    backlog = [R.unpack(root.codec.unseal(thread, row)) for _, _, row in root.take_backlog()]
    asked = {one.id: one.path for one in root.records.values() if isinstance(one, R.Question)}
    asked |= {one.id: one.path for one in backlog if isinstance(one, R.Question)}
    kept: list[R.Record] = [R.Begin(time.time(), root.attempt)]
    for one in backlog:
        path = asked.get(one.id, "") if isinstance(one, R.Answer) else getattr(one, "path", "")
        if path.startswith(prefix) or isinstance(one, R.Mark):
            kept.append(one)
    body, rows = steps.body_of("loop", steps.step, root.run_id or "")
    fresh = start.fresh
    parent = (None if start.place.head is None else start.place.head.id) if fresh else root.at
    row = Row(sortable_id(), parent, seal(thread, R.pack(body)))
    records = [(row.id, number, seal(thread, R.pack(one))) for number, one in enumerate(kept)]
    drops = (root.at or "",) if fresh else ()
    await start.io.commit(start.place, Batch(checkpoint=row, values=rows, records=records, drops=drops))
    root.at, root.numbers = row.id, itertools.count(len(records))
    start.body = body
