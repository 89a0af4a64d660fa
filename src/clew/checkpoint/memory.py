"""A saver that keeps threads in this process: for tests, notebooks and workflows that need pauses but no disk.

Everything is kept as bytes, so what is read back is a copy, exactly as from a file.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from clew.checkpoint._io import Inline
from clew.checkpoint._journal import IDLE, RUNNING, Batch, Busy, Fenced, Place, Row, may_take
from clew.checkpoint._views import JournalSaver

__all__ = ["InMemorySaver", "MemorySaver"]


class _Thread:
    """All of one place."""

    __slots__ = (
        "chains", "changed", "checkpoints", "expires", "info", "latest", "name", "notes", "owner", "records", "state",
        "token",
    )  # fmt: skip

    def __init__(self) -> None:
        self.token = 0
        self.owner = ""
        self.expires = 0.0
        self.state = IDLE
        self.name = ""
        self.info = b""
        self.latest: str | None = None
        self.changed = 0.0
        self.checkpoints: dict[str, Row] = {}
        self.records: dict[str, dict[int, bytes]] = {}
        self.chains: dict[int, list[bytes]] | None = None
        self.notes: dict[str, bytes] | None = None


def _in_order(records: dict[int, bytes]) -> list[bytes]:
    return [records[n] for n in sorted(records)]


class MemoryJournal(Inline):
    """The journal in dicts. One lock; nothing in it waits."""

    __slots__ = ("_lock", "_threads")
    instant = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[tuple[str, str], _Thread] = {}

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        with self._lock:
            found = self._threads.get((thread_id, ns))
            if found is None:
                found = self._threads[thread_id, ns] = _Thread()
            now = time.time()
            if found.owner and not steal and not may_take(found.owner, found.expires, now):
                raise Busy(self._read(thread_id, ns, found, None))
            place = self._read(thread_id, ns, found, None)
            found.token += 1
            place.token = found.token
            place.owner = found.owner = owner
            place.expires = found.expires = now + seconds
            found.state = RUNNING
            found.changed = now
            return place

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        with self._lock:
            found = self._threads.get((thread_id, ns))
            return None if found is None else self._read(thread_id, ns, found, checkpoint_id)

    def _read(self, thread_id: str, ns: str, found: _Thread, checkpoint_id: str | None) -> Place:
        place = Place(thread_id, ns)
        place.key = found
        place.owner = found.owner
        place.expires = found.expires
        place.state = found.state
        place.name = found.name
        place.info = found.info
        latest = place.latest = found.latest
        wanted = checkpoint_id or latest
        if wanted is not None:
            row = found.checkpoints.get(wanted)
            if row is not None:
                place.head = row
                records = found.records.get(wanted)
                if records:
                    place.records = _in_order(records)
        return place

    def commit(self, place: Place, batch: Batch) -> None:
        with self._lock:
            found: _Thread | None = place.key
            if found is None:
                found = place.key = self._threads.setdefault((place.thread_id, place.ns), _Thread())
            if place.token and found.token != place.token:
                raise Fenced
            for dropped in batch.drops:
                found.checkpoints.pop(dropped, None)
                found.records.pop(dropped, None)
            if batch.checkpoint is not None:
                row = batch.checkpoint
                found.checkpoints[row.id] = row
                found.latest = row.id
            if batch.head is not None:
                found.latest = batch.head or None
            for checkpoint_id, n, body in batch.records:
                bodies = found.records.setdefault(checkpoint_id, {})
                bodies.setdefault(n if n >= 0 else max(bodies, default=-1) + 1, body)
            self._rest(found, batch)

    def _rest(self, found: _Thread, batch: Batch) -> None:
        """Apply what most batches lack."""
        if batch.values:
            self._extend(found, batch)
        if batch.notes:
            self._note(found, batch)
        if batch.state is not None:
            found.state, found.name, found.info = batch.state
            found.changed = time.time()
        if batch.release:
            found.owner = ""

    @staticmethod
    def _extend(found: _Thread, batch: Batch) -> None:
        if found.chains is None:
            found.chains = {}
        for chain, n, body in batch.values:
            if n < 0:
                found.chains.pop(chain, None)
                continue
            bodies = found.chains.setdefault(chain, [])
            del bodies[n:]
            bodies.append(body)

    @staticmethod
    def _note(found: _Thread, batch: Batch) -> None:
        if found.notes is None:
            found.notes = {}
        for key, value in batch.notes:
            if value is None:
                found.notes.pop(key, None)
            else:
                found.notes[key] = value

    def renew(self, place: Place, seconds: float) -> bool:
        with self._lock:
            found: _Thread = place.key
            if found.token != place.token:
                return False
            found.expires = time.time() + seconds
            return True

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        with self._lock:
            found: _Thread = place.key or self._threads[place.thread_id, place.ns]
            return (found.chains or {})[chain][: n + 1]

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        with self._lock:
            if thread_id is not None and ns is not None:
                one = self._threads.get((thread_id, ns))
                chosen = [(thread_id, ns, one)] if one is not None else []
            else:
                chosen = [
                    (thread, space, one)
                    for (thread, space), one in self._threads.items()
                    if (thread_id is None or thread == thread_id) and (ns is None or space == ns)
                ]
            rows = [
                (thread, space, row)
                for thread, space, one in chosen
                for row in one.checkpoints.values()
                if before is None or row.id < before
            ]
        rows.sort(key=lambda item: item[2].id, reverse=True)
        return rows if limit is None else rows[:limit]

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        with self._lock:
            found = self._threads.get((thread_id, ns))
            return _in_order(found.records.get(checkpoint_id, {})) if found is not None else []

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        with self._lock:
            found = self._threads.get((thread_id, ns))
            if found is None or not found.notes:
                return {}
            return {key: value for key, value in found.notes.items() if key.startswith(prefix)}

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        with self._lock:
            chosen = [
                (thread, ns, one)
                for (thread, ns), one in self._threads.items()
                if (state is None or one.state == state) and (name is None or one.name == name)
            ]
            chosen.sort(key=lambda item: item[2].changed, reverse=True)
            places: list[Place] = []
            for thread, ns, one in chosen[:limit]:
                place = Place(thread, ns)
                place.owner, place.expires, place.state = one.owner, one.expires, one.state
                place.name, place.info, place.latest = one.name, one.info, one.latest
                place.changed = one.changed
                places.append(place)
            return places

    def delete(self, thread_id: str) -> None:
        with self._lock:
            for key in [key for key in self._threads if key[0] == thread_id]:
                self._threads[key].token += 1  # whoever still runs there is fenced
                del self._threads[key]

    def copy(self, source: str, target: str) -> None:
        with self._lock:
            for (thread, ns), one in list(self._threads.items()):
                if thread == source:
                    other = self._threads[target, ns] = _Thread()
                    other.state, other.name, other.info = one.state, one.name, one.info
                    other.latest, other.changed = one.latest, one.changed
                    other.checkpoints = dict(one.checkpoints)
                    other.records = {key: dict(bodies) for key, bodies in one.records.items()}
                    other.chains = {key: list(bodies) for key, bodies in (one.chains or {}).items()}
                    other.notes = dict(one.notes or {})


class InMemorySaver(JournalSaver):
    """Keeps threads as long as this object lives. serde: turns values into bytes; clew's own when None."""

    _journal_home = True

    def __init__(self, *, serde: Any = None) -> None:
        super().__init__(MemoryJournal(), serde=serde)


MemorySaver = InMemorySaver
