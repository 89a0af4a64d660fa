"""What the runtime may cost: calls, threads, rows, bytes, memory. Counts and growth, never a clock."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

from clew.checkpoint._journal import WAITING
from clew.checkpoint.memory import InMemorySaver
from clew.checkpoint.sqlite import SqliteSaver
from clew.func import entrypoint, task
from clew.types import interrupt

_threads = iter(range(10**9))


def config(name: str | None = None) -> Any:
    return {"configurable": {"thread_id": name or f"t{next(_threads)}"}}


@task
def step(n: int) -> int:
    return n + 1


def sequence(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    def flow(n: int) -> int:
        value = 0
        for _ in range(n):
            value = step(value).result()
        return value

    return flow


def calls(function: Any) -> int:
    """Python calls that a function makes in this thread."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_an_entrypoint_with_one_task_makes_at_most_150_calls_and_no_thread() -> None:
    flow = sequence(InMemorySaver())
    for _ in range(5):
        flow.invoke(3, config())
    before = threading.active_count()
    place = config()
    assert calls(lambda: flow.invoke(1, place)) <= 150
    assert threading.active_count() == before


def test_a_further_task_makes_few_calls() -> None:
    for saver, limit in ((None, 16), (InMemorySaver(), 36)):
        flow = sequence(saver)
        flow.invoke(3, config())
        few, many = config(), config()
        assert (calls(lambda: flow.invoke(110, many)) - calls(lambda: flow.invoke(10, few))) / 100 <= limit  # noqa: B023


def test_a_replayed_task_makes_fewer_calls_still() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> Any:
        for i in range(n):
            step(i).result()
        return interrupt("?")

    few, many = config(), config()
    flow.invoke(10, few)
    flow.invoke(110, many)
    assert (calls(lambda: flow.invoke(None, many)) - calls(lambda: flow.invoke(None, few))) / 100 <= 14


def test_a_conversation_costs_what_was_said(tmp_path: Path) -> None:
    import base64
    import random

    file = tmp_path / "state.sqlite"

    def text(seed: int) -> str:
        return base64.b64encode(random.Random(seed).randbytes(48)).decode()

    statements: list[int] = []
    written: list[int] = []
    with SqliteSaver.from_conn_string(file) as saver:

        @entrypoint(checkpointer=saver)
        def chat(line: str, *, previous: Any = None) -> Any:
            kept = [*(previous or []), {"role": "user", "content": line}, {"role": "ai", "content": text(len(line))}]
            return entrypoint.final(value=len(kept), save=kept)

        place = config("one")
        for turn in range(400):
            count = 0

            def see(_: str) -> None:
                nonlocal count
                count += 1

            before = saver.conn.total_changes
            saver.conn.set_trace_callback(see)
            chat.invoke(text(turn), place)
            saver.conn.set_trace_callback(None)
            statements.append(count)
            written.append(saver.conn.total_changes - before)
    with sqlite3.connect(file) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    assert os.path.getsize(file) <= 0.3e6
    assert max(statements[10:]) <= min(statements[10:]) + 3
    assert max(written[10:]) <= min(written[10:]) + 1


def test_a_thousand_turns_take_at_most_three_times_the_text(tmp_path: Path) -> None:
    file, said = tmp_path / "state.sqlite", 0
    with SqliteSaver.from_conn_string(file) as saver:

        @entrypoint(checkpointer=saver)
        def chat(line: str, *, previous: Any = None) -> list[str]:
            return [*(previous or []), line]

        place = config("one")
        for turn in range(1000):
            line = f"{turn:04} " + os.urandom(300).hex()
            said += len(line)
            chat.invoke(line, place)
    with sqlite3.connect(file) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    assert os.path.getsize(file) <= 3 * said


def test_a_thousand_waiting_threads_are_small_and_listed_by_one_query(tmp_path: Path) -> None:
    def ask(n: int) -> Any:
        return step(n).result() + interrupt({"q": "approve?"})

    saver = InMemorySaver()
    flow = entrypoint(checkpointer=saver)(ask)
    for _ in range(20):
        flow.invoke(1, config())
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        flow.invoke(1, config())
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown / 1000 <= 2000
    assert len(saver.journal.places(state=WAITING)) == 1020

    with SqliteSaver.from_conn_string(tmp_path / "state.sqlite") as kept:
        flow = entrypoint(checkpointer=kept)(ask)
        for _ in range(50):
            flow.invoke(1, config())
        seen: list[str] = []
        kept.conn.set_trace_callback(seen.append)
        assert len(kept.journal.places(state=WAITING)) == 50
        kept.conn.set_trace_callback(None)
        assert len(seen) == 1


def test_case_118_pending_saves_do_not_pile_up() -> None:
    @task
    def big(n: int) -> str:
        return str(n) * 10_000

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        return sum(len(big(i).result()) for i in range(n))

    flow.invoke(5, config(), durability="async")
    place = config()

    peak = 0

    class Watching(InMemorySaver):
        pass

    saver = Watching()
    commit = saver.journal.commit

    def see(place: Any, batch: Any) -> None:
        nonlocal peak
        peak = max(peak, len(batch.records))
        commit(place, batch)

    saver.journal.commit = see  # type: ignore[method-assign] - a spy
    entrypoint(checkpointer=saver)(flow.func).invoke(300, place, durability="async")
    assert peak < 300
