"""Forgetting: what is kept is first made independent of what goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew.checkpoint import _records as R
from clew.checkpoint._journal import Batch, Place, Row, new_owner

if TYPE_CHECKING:
    from clew.checkpoint._codec import Codec
    from clew.checkpoint._io import Io


async def keep_newest(io: Io, codec: Codec, thread_id: str, *, keep: int = 1, older_than: float | None = None) -> int:
    """Forget all but the newest `keep` checkpoints of a thread (and those younger than older_than, epoch seconds).

    Returns: how many went. The kept ones get values of their own first, in the same transaction.
    """
    rows = await io.checkpoints(thread_id, "", limit=None)
    kept: list[Row] = []
    gone: list[Row] = []
    for index, (_, _, row) in enumerate(rows):
        at = R.unpack_body(codec.unseal(thread_id, row.body)).at
        young = older_than is not None and at >= older_than
        (kept if index < keep or young else gone).append(row)
    if gone:
        await _rewrite(io, codec, thread_id, kept, gone)
    return len(gone)


async def _rewrite(io: Io, codec: Codec, thread_id: str, kept: list[Row], gone: list[Row]) -> None:
    """Delete `gone`; `kept` (newest first) stand on snapshots of their own afterwards."""
    from clew.checkpoint._views import Refs

    place = await io.acquire(thread_id, "", new_owner(), 30.0)
    state = (place.state, place.name, place.info)
    try:
        refs = Refs(io, codec, place)
        ids = {row.id for row in kept}
        old_chains: dict[tuple[int, int], R.Ref] = {}
        used: set[int] = set()
        values: list[tuple[int, int, bytes]] = []
        bodies: list[tuple[Row, R.Body]] = []
        for row in reversed(kept):
            body = R.unpack_body(codec.unseal(thread_id, row.body))
            for name, ref in body.values.items():
                if not isinstance(ref, tuple):
                    continue
                known = old_chains.get(ref[:2])
                if known is None:
                    chain = time.time_ns() + len(values)
                    values.append((chain, 0, codec.seal(thread_id, bytes(await refs.raw(ref)))))
                    known = old_chains[ref[:2]] = (chain, 0, False)
                used.add(ref[0])
                body.values[name] = known
            bodies.append((row, body))
        for row in gone:
            used.update(
                ref[0]
                for ref in R.unpack_body(codec.unseal(thread_id, row.body)).values.values()
                if isinstance(ref, tuple)
            )
        forget = [(chain, -1, b"") for chain in used]
        for number, (row, body) in enumerate(bodies):
            records = await io.records(thread_id, "", row.id)
            await io.commit(
                place,
                Batch(
                    drops=[row.id],
                    checkpoint=Row(
                        row.id, row.parent if row.parent in ids else None, codec.seal(thread_id, R.pack(body))
                    ),
                    records=[(row.id, n, one) for n, one in enumerate(records)],
                    values=() if number else values,
                ),
            )
        head = None if bodies else ""
        drops = [row.id for row in gone]
        await io.commit(place, Batch(drops=drops, values=forget, head=head, state=state, release=True))
    except BaseException:
        await io.commit(place, Batch(state=state, release=True))
        raise


async def drop_runs(io: Io, codec: Codec, run_ids: frozenset[str]) -> None:
    """Delete the checkpoints that these runs wrote, in all threads."""
    threads: dict[str, tuple[list[Row], list[Row]]] = {}
    for thread_id, _, row in await io.checkpoints(None, ""):
        body = R.unpack_body(codec.unseal(thread_id, row.body))
        metadata: dict[str, Any] = codec.decode(body.metadata) if body.metadata is not None else {}
        kept, gone = threads.setdefault(thread_id, ([], []))
        (gone if metadata.get("run_id") in run_ids else kept).append(row)
    for thread_id, (kept, gone) in threads.items():
        if gone:
            await _rewrite(io, codec, thread_id, kept, gone)


async def copy_thread(io: Io, codec: Codec, source: str, target: str) -> None:
    """Copy a thread; rows that are bound to their thread's id are bound to the new one."""
    from clew.checkpoint._codec import SealedCodec

    if not isinstance(codec, SealedCodec):
        await io.copy(source, target)
        return

    def move(body: bytes) -> bytes:
        return codec.seal(target, codec.unseal(source, body))

    place = await io.load(source, "")
    if place is None:
        return
    new = Place(target, "")
    chains: set[tuple[int, int]] = set()
    for _, _, row in reversed(await io.checkpoints(source, "")):
        for ref in R.unpack_body(codec.unseal(source, row.body)).values.values():
            if isinstance(ref, tuple):
                chains.add((ref[0], ref[1]))
        records = await io.records(source, "", row.id)
        await io.commit(new, Batch(
            checkpoint=Row(row.id, row.parent, move(row.body)),
            records=[(row.id, n, move(one)) for n, one in enumerate(records)],
        ))  # fmt: skip
    longest: dict[int, int] = {}
    for chain, n in chains:
        longest[chain] = max(n, longest.get(chain, 0))
    for chain, n in longest.items():
        bodies = await io.chain(place, chain, n)
        await io.commit(new, Batch(values=[(chain, i, move(body)) for i, body in enumerate(bodies)]))
    await io.commit(new, Batch(state=(place.state, place.name, move(place.info) if place.info else b"")))
