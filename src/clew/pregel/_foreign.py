"""Savers that other people wrote: the journal played on the documented interface.

Outcomes go through `put_writes` as they happen, checkpoints through `put`; both see every save. There is no lease in
the
interface: runs of a thread are serialised within this process only.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

from clew.checkpoint import _records as R
from clew.checkpoint._codec import Codec
from clew.checkpoint._journal import Batch, Busy, Fenced, Place, Row
from clew.checkpoint._views import config_of, is_native
from clew.checkpoint.base import VERSION, BaseCheckpointSaver, timestamp
from clew.errors import WorkflowError

RECORD = "__clew__"
_known: weakref.WeakKeyDictionary[Any, ForeignJournal] = weakref.WeakKeyDictionary()


def journal_of(saver: Any) -> tuple[Any, Codec]:
    """Return the journal and codec to use with a saver."""
    if is_native(saver):
        return saver.journal, saver.codec
    try:
        journal = _known.get(saver)
        if journal is None:
            journal = _known[saver] = ForeignJournal(saver)
    except TypeError:  # can't be weakly referenced
        journal = ForeignJournal(saver)
    return journal, _CODEC


_CODEC = Codec()


class ForeignJournal:
    """Both faces over a saver's documented methods."""

    quick = False

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver = saver
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, str], int] = {}
        self._held: dict[tuple[str, str], int] = {}
        self._notes: dict[tuple[str, str], dict[str, bytes]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        if not self._own("get_tuple"):
            self.acquire = self.load = self.commit = None  # type: ignore[assignment] - only the awaitable face
            del self.acquire, self.load, self.commit

    def _own(self, name: str) -> bool:
        return getattr(type(self.saver), name, None) is not getattr(BaseCheckpointSaver, name)

    # -- blocking ------------------------------------------------------------------------------------

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        token = self._take(thread_id, ns, steal=steal)
        try:
            found = self.saver.get_tuple(config_of(thread_id, ns, None))
        except BaseException:
            self._release(thread_id, ns, token)
            raise
        return self._place(thread_id, ns, token, owner, found)

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        found = self.saver.get_tuple(config_of(thread_id, ns, checkpoint_id))
        return None if found is None else self._place(thread_id, ns, 0, "", found)

    def commit(self, place: Place, batch: Batch) -> None:
        try:
            self._check(place)
            for call, arguments in self._calls(place, batch):
                getattr(self.saver, call)(*arguments)
        finally:
            if batch.release:
                self._release(place.thread_id, place.ns, place.token)

    def renew(self, place: Place, seconds: float) -> bool:
        return self._held.get((place.thread_id, place.ns)) == place.token

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        raise WorkflowError("a saver with the documented interface keeps values whole")

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        config: Any = (
            None if thread_id is None else {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns or ""}}
        )
        older = None if before is None else config_of(thread_id or "", ns or "", before)
        return [self._listed(found) for found in self.saver.list(config, before=older, limit=limit)]

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        found = self.load(thread_id, ns, checkpoint_id)
        return [] if found is None else found.records

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return {key: one for key, one in self._notes.get((thread_id, ns), {}).items() if key.startswith(prefix)}

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        return []

    def delete(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)

    def copy(self, source: str, target: str) -> None:
        self.saver.copy_thread(source, target)

    # -- awaitable -----------------------------------------------------------------------------------

    async def _call(self, name: str, *arguments: Any) -> Any:
        if self._own("a" + name):
            return await getattr(self.saver, "a" + name)(*arguments)
        import asyncio

        return await asyncio.to_thread(getattr(self.saver, name), *arguments)

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        token = self._take(thread_id, ns, steal=steal)
        try:
            found = await self._call("get_tuple", config_of(thread_id, ns, None))
        except BaseException:
            self._release(thread_id, ns, token)
            raise
        return self._place(thread_id, ns, token, owner, found)

    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        found = await self._call("get_tuple", config_of(thread_id, ns, checkpoint_id))
        return None if found is None else self._place(thread_id, ns, 0, "", found)

    async def acommit(self, place: Place, batch: Batch) -> None:
        try:
            self._check(place)
            for call, arguments in self._calls(place, batch):
                await self._call(call, *arguments)
        finally:
            if batch.release:
                self._release(place.thread_id, place.ns, place.token)

    async def arenew(self, place: Place, seconds: float) -> bool:
        return self.renew(place, seconds)

    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]:
        return self.chain(place, chain, n)

    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        config: Any = (
            None if thread_id is None else {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns or ""}}
        )
        older = None if before is None else config_of(thread_id or "", ns or "", before)
        if not self._own("alist"):
            return self.checkpoints(thread_id, ns, before=before, limit=limit)
        return [self._listed(found) async for found in self.saver.alist(config, before=older, limit=limit)]

    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        found = await self.aload(thread_id, ns, checkpoint_id)
        return [] if found is None else found.records

    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return self.notes(thread_id, ns, prefix)

    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        return []

    async def adelete(self, thread_id: str) -> None:
        await self._call("delete_thread", thread_id)

    async def acopy(self, source: str, target: str) -> None:
        await self._call("copy_thread", source, target)

    # -- one run at a time in this process -----------------------------------------------------------

    def _take(self, thread_id: str, ns: str, *, steal: bool) -> int:
        key = (thread_id, ns)
        with self._lock:
            if key in self._held and not steal:
                raise Busy(Place(thread_id, ns))
            token = self._tokens[key] = self._tokens.get(key, 0) + 1
            self._held[key] = token
            return token

    def _release(self, thread_id: str, ns: str, token: int) -> None:
        with self._lock:
            if self._held.get((thread_id, ns)) == token:
                del self._held[thread_id, ns]

    def _check(self, place: Place) -> None:
        if place.token and self._held.get((place.thread_id, place.ns)) != place.token:
            raise Fenced

    # -- to and fro ----------------------------------------------------------------------------------

    def _place(self, thread_id: str, ns: str, token: int, owner: str, found: Any) -> Place:
        place = Place(thread_id, ns)
        place.token, place.owner = token, owner
        place.expires = time.time() + 1e6
        place.key = self
        if found is not None:
            _, _, row = self._listed(found)
            place.head = row
            place.latest = row.id
            place.records = self._read(found)
        return place

    @staticmethod
    def _listed(found: Any) -> tuple[str, str, Row]:
        names = found.config["configurable"]
        checkpoint, metadata = found.checkpoint, dict(found.metadata or {})
        source, step = metadata.pop("source", "loop"), metadata.pop("step", 0)
        private, run = metadata.pop("clew_private", None), metadata.pop("clew_run", "")
        metadata.pop("parents", None)
        for key in ("thread_id", "checkpoint_ns", "checkpoint_id"):
            metadata.pop(key, None)
        values: dict[str, R.Ref] = {
            name: _CODEC.encode(value) for name, value in checkpoint.get("channel_values", {}).items()
        }
        names_of_parent: dict[str, Any] = found.parent_config["configurable"] if found.parent_config else {}
        parent = names_of_parent.get("checkpoint_id")
        ts = checkpoint.get("ts")
        body = R.Body(
            0.0,
            source,
            step,
            values,
            metadata=_CODEC.encode(metadata) if metadata else None,
            private=private,
            ts=ts,
            run=run,
        )
        row = Row(names.get("checkpoint_id") or checkpoint["id"], parent, R.pack(body))
        return str(names["thread_id"]), str(names.get("checkpoint_ns") or ""), row

    @staticmethod
    def _read(found: Any) -> list[bytes]:
        """Return records in the order they were written: each carries its number."""
        values = {task: value for task, channel, value in found.pending_writes or () if channel == "__return__"}
        numbered: list[tuple[int, bytes]] = []
        for task, channel, value in found.pending_writes or ():
            if channel == RECORD:
                number, raw = value
                record = R.unpack(raw)
                if isinstance(record, R.Result) and task in values:
                    record.value = _CODEC.encode(values[task])
                numbered.append((number, R.pack(record)))
            elif channel not in ("__return__", "__interrupt__", "__resume__", "__error__"):
                numbered.append((1 << 40, R.pack(R.Write(task, len(numbered), channel, _CODEC.encode(value)))))
        numbered.sort(key=lambda one: one[0])
        return [raw for _, raw in numbered]

    def _calls(self, place: Place, batch: Batch) -> list[tuple[str, tuple[Any, ...]]]:
        calls: list[tuple[str, tuple[Any, ...]]] = []
        thread_id, ns = place.thread_id, place.ns
        if batch.checkpoint is None:
            calls += self._writes(place, batch)
        else:
            older = [one for one in batch.records if one[0] != batch.checkpoint.id]
            if older:
                calls += self._writes(place, Batch(records=older))
            calls.append(("put", self._put(place, batch)))
            newer = [one for one in batch.records if one[0] == batch.checkpoint.id]
            calls += self._writes(place, Batch(records=newer))
        if batch.notes:
            kept = self._notes.setdefault((thread_id, ns), {})
            for key, value in batch.notes:
                if value is None:
                    kept.pop(key, None)
                else:
                    kept[key] = value
        return calls

    def _put(self, place: Place, batch: Batch) -> tuple[Any, ...]:
        row = batch.checkpoint
        assert row is not None
        body = R.unpack_body(row.body)
        whole = {(chain, n): raw for chain, n, raw in batch.values}
        values = {
            name: _CODEC.decode(ref if isinstance(ref, bytes) else whole[ref[0], ref[1]])
            for name, ref in body.values.items()
        }
        version = f"{body.step + 2:032}.0"
        versions = dict.fromkeys(values, version)
        checkpoint = {
            "v": VERSION, "id": row.id, "ts": body.ts or timestamp(body.at), "channel_values": values,
            "channel_versions": versions, "versions_seen": body.seen or {}, "updated_channels": None,
        }  # fmt: skip
        metadata: dict[str, Any] = {"source": body.source, "step": body.step, "parents": {}}
        if body.metadata is not None:
            metadata.update(_CODEC.decode(body.metadata))
        if body.private is not None:
            metadata["clew_private"] = body.private
        if body.run:
            metadata["clew_run"] = body.run
        return config_of(place.thread_id, place.ns, row.parent), checkpoint, metadata, versions

    def _writes(self, place: Place, batch: Batch) -> list[tuple[str, tuple[Any, ...]]]:
        calls: list[tuple[str, tuple[Any, ...]]] = []
        for checkpoint_id, n, raw in batch.records:
            record = R.unpack(raw)
            config = config_of(place.thread_id, place.ns, checkpoint_id)
            task = R.task_id(place.thread_id, checkpoint_id, f"#{n}")
            writes: list[tuple[str, Any]] = []
            if isinstance(record, R.Result):
                task = R.task_id(place.thread_id, checkpoint_id, record.path)
                writes.append(("__return__", _CODEC.decode(record.value)))
                record.value = b"\xc0"
                raw = R.pack(record)
            writes.append((RECORD, (n, raw)))
            calls.append(("put_writes", (config, writes, task)))
        return calls
