"""Keeping leases alive: one daemon thread per process, the only background thread of the library.

A run that lasts gets its lease extended at a third of its length. A run whose lease was taken over is stopped at its
next
task; its next commit would be refused anyway.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from clew.checkpoint._journal import live
from clew.errors import Cancelled

if TYPE_CHECKING:
    from clew.pregel._root import Root

_held: dict[str, tuple[Root, float, float]] = {}  # owner -> (run, seconds, when to extend)
_wake = threading.Event()
_period = 1e9
_thread: threading.Thread | None = None


def hold(root: Root, owner: str, seconds: float) -> None:
    """Keep this lease alive until `drop`."""
    global _period, _thread
    _held[owner] = (root, seconds, time.monotonic() + seconds / 3)
    if _thread is None:
        _period = seconds / 3
        _thread = threading.Thread(target=_renew, name="clew-leases", daemon=True)
        _thread.start()
    elif seconds / 3 < _period:
        _period = seconds / 3
        _wake.set()


def drop(owner: str) -> None:
    """Forget a lease that was given back or lost."""
    _held.pop(owner, None)
    live.discard(owner)


def holder(journal: Any, thread_id: str, ns: str) -> Root | None:
    """Return the run of this process that is at work on the thread, if any."""
    for root, _, _ in list(_held.values()):
        place = root.place
        if root.journal is journal and place is not None and (place.thread_id, place.ns) == (thread_id, ns):
            return root
    return None


def _renew() -> None:
    while True:
        _wake.wait(_period)
        _wake.clear()
        now = time.monotonic()
        for owner, (root, seconds, due) in list(_held.items()):
            if now < due - 0.05:
                continue
            try:
                kept = _extend(root, seconds)
            except Exception:  # the storage is away: tried again next time, and the next commit tells
                continue
            if owner not in _held:
                continue
            if kept:
                _held[owner] = (root, seconds, now + seconds / 3)
            else:
                root.stop = root.stop if isinstance(root.stop, BaseException) else Cancelled()
                _held.pop(owner, None)


def _extend(root: Root, seconds: float) -> bool:
    place = root.place
    if place is None:
        return True
    if hasattr(root.journal, "renew"):
        return root.journal.renew(place, seconds)
    import asyncio

    return asyncio.run_coroutine_threadsafe(root.journal.arenew(place, seconds), root.loop).result(timeout=seconds)


def _forked() -> None:
    global _thread
    _thread = None
    _held.clear()
    _wake.__init__()


os.register_at_fork(after_in_child=_forked)
