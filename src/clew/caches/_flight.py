"""Equal requests that run at the same time share one call.

The first to `join` a key leads and must end the flight: `land` with the value, `fail` with the error, or `abandon` when
it was cancelled. The others wait: they get the value or the error, or, after an abandoned flight, may try to lead.

Invariant: a flight leaves the register before its end is told, so nobody joins one that has ended.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Abandoned(Exception):
    """The leader was cancelled before it had an outcome: those who wait try again."""


class Flights:
    """The requests of one cache that are on their way."""

    __slots__ = ("_flying", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[Hashable, Flight] = {}

    def join(self, key: Hashable) -> tuple[Flight, bool]:
        """Return the flight of this key and whether the caller leads it."""
        with self._lock:
            flight = self._flying.get(key)
            if flight is not None:
                return flight, False
            flight = self._flying[key] = Flight(self, key)
            return flight, True

    def leave(self, flight: Flight) -> None:
        """Take a flight that ends out of the register."""
        with self._lock:
            self._flying.pop(flight.key, None)

    def __reduce__(self) -> tuple[type[Flights], tuple[()]]:
        """Copies and pickles of a cache start with nothing on its way."""
        return Flights, ()


class Flight:
    """One request on its way."""

    __slots__ = ("_error", "_flights", "_lock", "_told", "_value", "_waiters", "key", "thread")

    def __init__(self, flights: Flights, key: Hashable) -> None:
        self.key = key
        self.thread = threading.get_ident()
        self._flights = flights
        self._lock = threading.Lock()
        self._told = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._waiters: list[Callable[[], object]] = []

    def land(self, value: Any) -> None:
        """End with a value; those who wait must copy it before they change it."""
        self._end(value, None)

    def fail(self, error: BaseException) -> None:
        """End with an error, raised to all who wait."""
        self._end(None, error)

    def abandon(self) -> None:
        """End without an outcome, unless there is one."""
        self._end(None, Abandoned())

    def wait(self) -> Any:
        """Block until the end; return the value or raise the error (`Abandoned` included)."""
        gate = threading.Lock()
        gate.acquire()
        if self._on_end(gate.release):
            gate.acquire()
        return self._outcome()

    async def await_end(self) -> Any:
        """Wait for the end without blocking the event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def settle() -> None:
            if not ended.done():
                ended.set_result(None)

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # its loop is closed: nobody waits any more
                return

        if self._on_end(tell):
            await ended
        return self._outcome()

    def _on_end(self, tell: Callable[[], object]) -> bool:
        with self._lock:
            if not self._told:
                self._waiters.append(tell)
            return not self._told

    def _outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def _end(self, value: Any, error: BaseException | None) -> None:
        self._flights.leave(self)
        with self._lock:
            if self._told:
                return
            self._told, self._value, self._error = True, value, error
            waiters, self._waiters = self._waiters, []
        for tell in waiters:
            tell()
