"""SQLite files that are locked, full, damaged, shared, forked, or no databases at all."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from clew.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from clew.errors import StorageCorruptError, StorageError
from clew.func import entrypoint, task

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def adder(saver: Any) -> Any:
    @task
    def work(n: int) -> int:
        return n

    @entrypoint(checkpointer=saver)
    def add(n: int, *, previous: Any = None) -> int:
        return (previous or 0) + work(n).result()

    return add


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but a long enough text to be read as one" * 20)
    before = file.read_bytes()
    with (
        pytest.raises(StorageCorruptError, match="not a sound SQLite database"),
        SqliteSaver.from_conn_string(file) as saver,
    ):
        adder(saver).invoke(1, CONFIG)
    assert file.read_bytes() == before


def test_a_locked_file_is_waited_for_and_then_told(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    with SqliteSaver.from_conn_string(file, timeout=0.05) as saver:
        add = adder(saver)
        assert add.invoke(1, CONFIG) == 1
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="lock"):
            add.invoke(1, CONFIG)
        other.execute("ROLLBACK")
        other.close()
        assert add.invoke(1, CONFIG) == 2


def test_an_async_saver_leaves_the_loop_while_the_file_is_locked(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"

    async def main() -> tuple[int, int]:
        async with AsyncSqliteSaver.from_conn_string(file) as saver:
            add = adder(saver)
            await add.ainvoke(1, CONFIG)
            other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            ticks = 0
            running = asyncio.ensure_future(add.ainvoke(1, CONFIG))
            for _ in range(10):
                await asyncio.sleep(0.005)
                ticks += not running.done()
            other.execute("ROLLBACK")
            other.close()
            return await running, ticks

    value, ticks = asyncio.run(main())
    assert value == 2 and ticks == 10


def test_a_full_disk_is_told_and_what_was_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    with SqliteSaver.from_conn_string(file) as saver:
        add = adder(saver)
        assert add.invoke(1, CONFIG) == 1
        pages = saver.conn.execute("PRAGMA page_count").fetchone()[0]
        saver.conn.execute(f"PRAGMA max_page_count={pages}")

        @entrypoint(checkpointer=saver)
        def big(_: int) -> str:
            return "x" * 100_000

        with pytest.raises(StorageError, match="full"):
            big.invoke(1, {"configurable": {"thread_id": "big"}})
        saver.conn.execute("PRAGMA max_page_count=1000000")
        assert add.get_state(CONFIG).values == 1
        assert add.invoke(1, CONFIG) == 2
        assert big.invoke(None, {"configurable": {"thread_id": "big"}}) == "x" * 100_000


def test_a_closed_saver_says_so(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(tmp_path / "state.sqlite") as saver:
        add = adder(saver)
    with pytest.raises(StorageError):
        add.invoke(1, CONFIG)


def test_case_121_many_connections_to_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "shared.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
    errors: list[BaseException] = []

    def worker(number: int) -> None:
        try:
            connection = sqlite3.connect(path, timeout=0.01, check_same_thread=False)
            add = adder(SqliteSaver(connection))
            for _ in range(15):
                add.invoke(1, {"configurable": {"thread_id": str(number)}})
            connection.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_case_122_blocking_calls_of_the_async_saver_in_the_loop_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(tmp_path / "state.sqlite") as saver:
            for call in (
                lambda: saver.get_tuple(CONFIG), lambda: list(saver.list(CONFIG)), lambda: saver.delete_thread("t"),
            ):  # fmt: skip
                with pytest.raises(RuntimeError, match="awaitable"):
                    call()

    asyncio.run(main())


def test_a_forked_child_opens_the_file_anew(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(tmp_path / "state.sqlite") as saver:
        add = adder(saver)
        add.invoke(1, CONFIG)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if add.invoke(1, CONFIG) == 2 else 2
            finally:
                os._exit(code)
        end = time.monotonic() + 20
        while (found := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.005)
        assert os.waitstatus_to_exitcode(found[1]) == 0
        assert add.invoke(1, CONFIG) == 3


def test_parallel_results_share_transactions(tmp_path: Path) -> None:
    from clew.checkpoint import _journal as J

    with SqliteSaver.from_conn_string(tmp_path / "state.sqlite") as saver:
        journal = saver.journal
        owner = J.new_owner()
        J.live.add(owner)
        place = journal.acquire("t", "", owner, 30.0)
        journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"x")))
        groups: list[int] = []
        write = journal._group._write
        journal._group._write = lambda jobs: (groups.append(len(jobs)), time.sleep(0.01), write(jobs))[-1]
        threads = [
            threading.Thread(target=lambda n=n: journal.commit(place, J.Batch(records=(("c", n, b"r"),))))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(groups) == 20 and len(groups) < 20
        assert len(journal.records("t", "", "c")) == 20
        J.live.discard(owner)


def test_row_numbers_of_a_write_that_failed_are_not_used_again(tmp_path: Path) -> None:
    from clew.checkpoint import _journal as J

    with SqliteSaver.from_conn_string(tmp_path / "state.sqlite") as saver:
        journal = saver.journal
        mine, other = J.new_owner(), J.new_owner()
        J.live.update((mine, other))
        place = journal.acquire("mine", "", mine, 30.0)
        journal.commit(place, J.Batch(checkpoint=J.Row("first", None, b"1")))
        pages = saver.conn.execute("PRAGMA page_count").fetchone()[0]
        saver.conn.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StorageError, match="full"):
            journal.commit(
                place, J.Batch(checkpoint=J.Row("lost", "first", b"x" * 100_000), records=(("lost", 0, b"r"),))
            )
        saver.conn.execute("PRAGMA max_page_count=1000000")
        theirs = journal.acquire("theirs", "", other, 30.0)
        journal.commit(theirs, J.Batch(checkpoint=J.Row("c", None, b"2"), records=(("c", 0, b"theirs"),)))
        bad, good = J.Job(place, J.Batch(records=(("lost", 1, b"mine"),))), J.Job(theirs, J.Batch())
        journal._write([good, bad])
        assert isinstance(bad.error, StorageError) and good.error is None
        journal.commit(place, J.Batch(records=(("first", 2, b"mine"),)))
        assert journal.records("theirs", "", "c") == [b"theirs"]
        assert journal.records("mine", "", "first") == [b"mine"]
        J.live.difference_update((mine, other))
