"""Requests that fly together: one leads, the others get its end."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import Any

import pytest

from clew.caches import InMemoryCache
from clew.caches._flight import Abandoned, Flights


def test_the_first_leads_and_the_others_get_its_value() -> None:
    flights = Flights()
    flight, leads = flights.join("k")
    assert leads
    got: list[Any] = []
    threads = [threading.Thread(target=lambda: got.append(flights.join("k")[0].wait())) for _ in range(5)]
    for thread in threads:
        thread.start()
    while len(flight._waiters) < 5:
        pass
    flight.land("value")
    for thread in threads:
        thread.join()
    assert got == ["value"] * 5
    assert flights.join("k")[1], "a flight that ended is not joined any more"


def test_an_error_reaches_all_and_an_abandoned_flight_says_so() -> None:
    flights = Flights()
    failed, _ = flights.join("a")
    failed.fail(ValueError("down"))
    with pytest.raises(ValueError, match="down"):
        failed.wait()
    left, _ = flights.join("b")
    left.abandon()
    with pytest.raises(Abandoned):
        left.wait()


def test_an_end_is_told_once() -> None:
    flight, _ = Flights().join("k")
    flight.land(1)
    flight.abandon()
    assert flight.wait() == 1


def test_coroutines_of_several_loops_wait_for_one_thread() -> None:
    flights = Flights()
    flight, _ = flights.join("k")
    got: list[Any] = []

    def loop() -> None:
        async def many() -> None:
            got.extend(await asyncio.gather(*[flight.await_end() for _ in range(3)]))

        asyncio.run(many())

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(flight._waiters) < 6:
        pass
    flight.land("v")
    for thread in threads:
        thread.join()
    assert got == ["v"] * 6


def test_a_copied_cache_has_nothing_on_its_way() -> None:
    flights = Flights()
    flights.join("k")
    assert copy.deepcopy(flights).join("k")[1] and pickle.loads(pickle.dumps(flights)).join("k")[1]
    assert InMemoryCache().flights is not InMemoryCache().flights
