"""The journal: what our savers keep, and what a backend must offer to be one.

A backend stores bytes and knows nothing about workflows. It keeps, for each *place* (thread_id, checkpoint_ns):

    the place   token, lease (owner, expires), state, name, info (bytes), head (id of the newest checkpoint)
    checkpoints id, parent id, body (bytes)                      append-only
    records     (checkpoint id, n) -> body (bytes)               append-only: task outcomes, questions, answers,
    attempts
    values      (chain, n) -> body (bytes)                       append-only: n = 0 is a snapshot, the rest are
    deltas on it
    notes       key (text) -> bytes                              the few things that change: idempotency keys,
    events, schedules

One writer: `acquire` gives a lease and a token one higher than the last; every `commit` names its token and is refused
with `Fenced`, changing nothing, when another holds the place by now. `commit` is one atomic transaction, on disk
when it
returns; commits that arrive while one is under way go together into the next (`GroupCommit`). Token 0 is a commit
without a fence (imports, and the documented `put`), which creates the place when it is missing.

`Journal` is the blocking face, `AsyncJournal` the awaitable one; a backend may have either or both. Savers derive from
`clew.checkpoint._views.JournalSaver`, which makes the documented interface out of this one.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

IDLE, RUNNING, WAITING, FAILED = 0, 1, 2, 3  # states of a place, for lists and recovery; the records are the truth


class Row(NamedTuple):
    """A checkpoint as it is stored."""

    id: str
    parent: str | None
    body: bytes


class Place:
    """A (thread_id, checkpoint_ns) as it was read; after `acquire` also the right to write there.

    token: 0 when only read. head: the checkpoint that was asked for (the newest by default), or None when there is
    none;
    latest: id of the newest. changed: when its state last changed. records: the bodies of that checkpoint's records,
    by n. key: for the backend's own use.
    """

    __slots__ = (
        "changed",
        "expires",
        "head",
        "info",
        "key",
        "latest",
        "name",
        "ns",
        "owner",
        "records",
        "state",
        "thread_id",
        "token",
    )

    def __init__(self, thread_id: str, ns: str) -> None:
        self.thread_id = thread_id
        self.ns = ns
        self.token = 0
        self.owner = ""
        self.expires = 0.0
        self.state = IDLE
        self.name = ""
        self.info = b""
        self.latest: str | None = None
        self.head: Row | None = None
        self.records: list[bytes] = []
        self.changed = 0.0
        self.key: Any = None


class Batch:
    """What one commit changes; applied in this order, all or nothing.

    drops: ids of checkpoints to delete with their records. checkpoint: appended, becomes the head unless head is set.
    records: (checkpoint id, n, body), read back in the order they were written. n grows over all attempts, with
    gaps, and
    is unique, so a backend that commits again after a lost connection can tell; n = -1 means after the last one.
    values: (chain, n, body), replacing what an abandoned run left there; n = -1 deletes the chain. notes: (key,
    bytes or None to delete).
    state: (state, name, info) of the place. release: gives the lease back. A head of "" means none.
    """

    __slots__ = ("checkpoint", "drops", "head", "notes", "records", "release", "state", "values")

    def __init__(
        self,
        *,
        checkpoint: Row | None = None,
        records: Sequence[tuple[str, int, bytes]] = (),
        values: Sequence[tuple[int, int, bytes]] = (),
        notes: Sequence[tuple[str, bytes | None]] = (),
        drops: Sequence[str] = (),
        head: str | None = None,
        state: tuple[int, str, bytes] | None = None,
        release: bool = False,
    ) -> None:
        self.checkpoint = checkpoint
        self.records = records
        self.values = values
        self.notes = notes
        self.drops = drops
        self.head = head
        self.state = state
        self.release = release


class Busy(Exception):
    """Another run holds the place. place: as far as it was read."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.thread_id)
        self.place = place


class Fenced(Exception):
    """The token is no longer the place's: another run took over; nothing was changed."""


class Journal(Protocol):
    """What a backend offers to blocking callers. All of it may be called from any thread.

    Raises: StorageError (or the error of the user's own backend) when the storage fails; Busy, Fenced as above.
    """

    def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        """Take the lease for `seconds` and read head and records, in one transaction; makes the place if missing.

        Free is what `may_take(owner, expires, now)` says; otherwise Busy, unless steal. The state becomes RUNNING in
        the store; the returned place still holds the state from before.
        """
        ...

    def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        """Read a place at one checkpoint (the newest by default), or None when there is no such place.

        A place whose checkpoint_id does not exist comes back with head None.
        """
        ...

    def commit(self, place: Place, batch: Batch) -> None:
        """Apply the batch atomically, fenced by place.token; on disk when it returns."""
        ...

    def renew(self, place: Place, seconds: float) -> bool:
        """Extend the lease; False when another run holds the place."""
        ...

    def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        """Return the bodies 0 … n of a chain of values."""
        ...

    def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        """Return (thread_id, ns, row), newest id first; None stands for any. before: ids smaller than this."""
        ...

    def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        """Return the bodies of a checkpoint's records, by n."""
        ...

    def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        """Return the notes whose key begins with prefix."""
        ...

    def places(self, *, state: int | None = None, name: str | None = None, limit: int | None = None) -> list[Place]:
        """Return places (no head, no records), last changed first; one query however many there are."""
        ...

    def delete(self, thread_id: str) -> None:
        """Delete everything of a thread, all its namespaces."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy all of a thread (not its lease) under another id, byte for byte."""
        ...


class AsyncJournal(Protocol):
    """The awaitable face: the same methods with an `a` before their names (`aacquire`, `acommit` …), same meaning."""

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place: ...
    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None: ...
    async def acommit(self, place: Place, batch: Batch) -> None: ...
    async def arenew(self, place: Place, seconds: float) -> bool: ...
    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]: ...
    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]: ...
    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]: ...
    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]: ...
    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]: ...
    async def adelete(self, thread_id: str) -> None: ...
    async def acopy(self, source: str, target: str) -> None: ...


# -- leases -----------------------------------------------------------------------------------------

_process = ""
_process_id = 0
_naming = threading.Lock()
live: set[str] = set()  # owners of this process whose run is in progress


def _start_time(pid: int) -> str | None:
    """Return when a process of this machine began, in clock ticks since boot, or None when it is no more."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _identity() -> str:
    """Return boot id, pid namespace, pid and start time of this process; "?" where the system doesn't tell."""
    pid = os.getpid()
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, space = "?", "?"
    return f"{boot} {space} {pid} {_start_time(pid) or '?'}"


def process() -> str:
    """Return the part of an owner that names this process; made anew after a fork."""
    global _process, _process_id
    if _process_id != os.getpid():
        with _naming:  # threads that come here first, together, must not take each other's runs for dead
            if _process_id != os.getpid():
                live.clear()
                _process = _identity()
                _process_id = os.getpid()
    return _process


def _forked() -> None:
    global _naming
    _naming = threading.Lock()  # whoever held it is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def new_owner() -> str:
    """Return a name for the holder of a lease: this process and a number of its own."""
    return f"{process()} {os.urandom(6).hex()}"


def is_dead(owner: str) -> bool:
    """Say whether the owner is provably gone; False when it may live (another machine, another pid namespace)."""
    theirs, _, _ = owner.rpartition(" ")
    mine = process()
    if theirs == mine:
        return owner not in live
    if theirs.split(" ")[:2] != mine.split(" ")[:2] or mine.startswith("?"):
        return False
    _, _, pid, start = theirs.split(" ")
    return _start_time(int(pid)) != start


def may_take(owner: str, expires: float, now: float | None = None) -> bool:
    """Say whether a place with this lease may be taken: it has none, it ran out, or its owner is provably dead."""
    return not owner or expires <= (time.time() if now is None else now) or is_dead(owner)


# -- group commit -----------------------------------------------------------------------------------


class Job:
    """One commit that waits for its turn. error: why it was refused, once done."""

    __slots__ = ("batch", "done", "error", "place")

    def __init__(self, place: Place, batch: Batch) -> None:
        self.place = place
        self.batch = batch
        self.done = False
        self.error: BaseException | None = None


class GroupCommit:
    """Lets commits that arrive together share one transaction.

    write: applies jobs in order in one transaction, sets `error` on those that are fenced, and raises when the storage
    fails, in which case nothing of the group is kept and every caller gets the error. Called by one thread at a time.
    """

    __slots__ = ("_jobs", "_write", "lock")

    def __init__(self, write: Callable[[list[Job]], None]) -> None:
        self._write = write
        self._jobs: list[Job] = []
        self.lock = threading.RLock()

    def commit(self, place: Place, batch: Batch, *, alone: bool = False) -> None:
        """Return when the batch is on disk. alone: in a transaction of its own, leaving the others waiting."""
        job = Job(place, batch)
        if not alone:
            self._jobs.append(job)
        with self.lock:
            if not job.done:
                if alone:
                    jobs = [job]
                else:
                    jobs = self._jobs[:]  # others append meanwhile: take what is there, leave what comes
                    del self._jobs[: len(jobs)]
                try:
                    self._write(jobs)
                except BaseException as error:
                    for one in jobs:
                        one.error = one.error or error
                finally:
                    for one in jobs:
                        one.done = True
        if job.error is not None:
            raise job.error
