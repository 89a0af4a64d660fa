"""`max_concurrency`: how many tasks of one run are at work at the same time.

A task that waits for another one lends it its slot or gives it back, so nested tasks never wait for each other.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Slots:
    """`free` slots, handed over in the order they were asked for."""

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, free: int) -> None:
        if free < 1:
            raise ValueError(f"max_concurrency is a positive number, not {free}")
        self._free = free
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], Any]] = deque()

    def enter(self, then: Callable[[], Any]) -> None:
        """Call `then` as soon as there is a slot for it: now, or from the thread that gives one back.

        It returns False when it needs none any more; the slot goes on to the next.
        """
        with self._lock:
            if self._free == 0:
                self._waiting.append(then)
                return
            self._free -= 1
        if then() is False:
            self.leave()

    def wait(self) -> None:
        """Take a slot, blocking until there is one."""
        gate = threading.Lock()
        gate.acquire()
        self.enter(gate.release)
        gate.acquire()

    def leave(self) -> None:
        """Give a slot back."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                then = self._waiting.popleft()
            if then() is not False:
                return
