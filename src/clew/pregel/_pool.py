"""One pool of threads per process, which grows with what is blocked and never starves.

A task that is called goes into the queue at once. Whoever asks for its result first, a worker or the caller, claims
and runs it, so sequential code pays no thread switch. A worker that finds nothing lingers a millisecond before it
sleeps:
calls in quick succession wake nobody. A worker that takes a task while more are waiting wakes the next one first.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Any, Protocol

LIMIT = 256
_LINGER = 0.001


class Job(Protocol):
    """What the pool runs."""

    def take(self) -> Any:
        """Claim the job; returns what to call, or None when somebody else has it."""
        ...


class Pool:
    """Threads that end with the process. limit: how many at most."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._queue: deque[Job] = deque()
        self._idle: list[threading.Lock] = []
        self._workers = 0
        self._hot = False  # a worker is on its way or lingering: it will look into the queue

    def submit(self, job: Job) -> None:
        """Queue a job."""
        self._queue.append(job)
        if not self._hot:
            self._wake()

    def _wake(self) -> None:
        self._hot = True
        try:
            self._idle.pop().release()
        except IndexError:
            if self._workers < self.limit:
                self._workers += 1
                threading.Thread(target=self._work, name=f"clew-{self._workers}", daemon=True).start()
            else:
                self._hot = False  # all are busy: each looks again when it is done

    def _work(self) -> None:
        mine = threading.Lock()
        mine.acquire()
        queue = self._queue
        while True:
            self._hot = False
            while queue:
                try:
                    job = queue.popleft()
                except IndexError:
                    break
                call = job.take()
                if call is not None:
                    if queue and not self._hot:
                        self._wake()
                    call()
                job = call = None
            if not self._hot:
                self._hot = True
                mine.acquire(timeout=_LINGER)
                if queue:
                    continue
                self._hot = False
            self._idle.append(mine)
            if queue:
                try:
                    self._idle.remove(mine)
                except ValueError:  # somebody is waking this worker
                    mine.acquire()
                continue
            mine.acquire()


pool = Pool()


def _forked() -> None:
    pool.__init__(pool.limit)


os.register_at_fork(after_in_child=_forked)


class Call:
    """A plain call as a job."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def take(self) -> Any:
        """Return the function."""
        return self.function
