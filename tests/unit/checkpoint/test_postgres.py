"""The saver on Postgres: dead connections, poolers, migrations, forks, and how often it talks to the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.checkpoint import _journal as J
from clew.checkpoint.postgres import AsyncPostgresSaver, PostgresSaver
from clew.errors import StorageError
from clew.func import entrypoint, task


def config(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def cut(url: str) -> None:
    """End every session of the database but the one that does it."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_case_119_a_dead_connection_is_replaced(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()

        @entrypoint(checkpointer=saver)
        def add(n: int, *, previous: int | None = None) -> int:
            return (previous or 0) + n

        assert add.invoke(1, config("t")) == 1
        for expected in (3, 5):
            cut(pg_url)
            assert add.invoke(2, config("t")) == expected


def test_case_079_a_connection_that_dies_under_a_run_is_replaced(pg_url: str) -> None:
    ran: list[int] = []

    @task
    def step(n: int) -> int:
        ran.append(n)
        cut(pg_url)
        return n

    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()

        @entrypoint(checkpointer=saver)
        def flow(n: int) -> list[int]:
            return [step(i).result() for i in range(n)]

        assert flow.invoke(4, config("t")) == [0, 1, 2, 3]
        assert flow.get_state(config("t")).values == [0, 1, 2, 3]
    assert ran == [0, 1, 2, 3]


def test_case_119_awaited_too(pg_url: str) -> None:
    async def main() -> None:
        async with AsyncPostgresSaver.from_conn_string(pg_url) as saver:
            await saver.setup()

            @entrypoint(checkpointer=saver)
            async def add(n: int, *, previous: int | None = None) -> int:
                return (previous or 0) + n

            assert await add.ainvoke(1, config("t")) == 1
            await asyncio.to_thread(cut, pg_url)
            assert await add.ainvoke(2, config("t")) == 3

    asyncio.run(main())


def test_sessions_that_forget_what_was_prepared_are_no_trouble(pg_url: str) -> None:
    """A pooler in transaction mode hands out another session each time."""
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()
        place = saver.journal.acquire("t", "", J.new_owner(), 30.0)
        saver.journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"b")))
        for n in range(6):
            saver.journal.commit(place, J.Batch(records=[("c", n, b"%d" % n)]))
            saver.journal.pool.run("forgetting", lambda connection: connection.execute("DEALLOCATE ALL"))
        assert saver.journal.load("t", "").records == [b"%d" % n for n in range(6)]
        assert not saver.journal._sender.prepares


def test_nothing_is_left_in_the_session(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()
        place = saver.journal.acquire("t", "", J.new_owner(), 30.0)
        batch = J.Batch(checkpoint=J.Row("c", None, b"b"), values=[(1, 0, b"v")], state=(0, "f", b""), release=True)
        saver.journal.commit(place, batch)
        state = "SELECT pg_current_xact_id_if_assigned(), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
        assert saver.journal.pool.fetch("looking", state) == [(None, 0)]


def test_many_processes_may_set_up_at_once(pg_url: str) -> None:
    code = (
        "import sys; from clew.checkpoint.postgres import PostgresSaver\n"
        "with PostgresSaver.from_conn_string(sys.argv[1]) as saver: saver.setup()"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, pg_url], stderr=subprocess.PIPE) for _ in range(4)]
    assert [one.communicate()[1] for one in running] == [b""] * 4
    with PostgresSaver.from_conn_string(pg_url) as saver:
        assert saver.get_tuple(config("t")) is None


def test_errors_say_what_to_do(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url) as saver, pytest.raises(StorageError, match=r"setup\(\)") as caught:
        saver.get_tuple(config("t"))
    assert caught.value.backend == "postgres"
    nowhere = PostgresSaver("postgresql://127.0.0.1:1/none")
    with pytest.raises(StorageError, match="connecting"):
        nowhere.setup()
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()
    with pytest.raises(StorageError, match="closed"):
        saver.get_tuple(config("t"))


def test_connections_of_the_caller_are_used_and_left_open(pg_url: str) -> None:
    import psycopg
    import psycopg_pool

    with psycopg.connect(pg_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        saver.put(config("t"), {"id": "1", "channel_values": {"a": 1}}, {"source": "loop", "step": 0}, {})
        saver.close()
        assert not connection.closed
    with psycopg.connect(pg_url) as connection, pytest.raises(StorageError, match="autocommit=True"):
        PostgresSaver(connection).setup()
    with psycopg_pool.ConnectionPool(pg_url, min_size=1, kwargs={"autocommit": True}, open=True) as pool:
        found = PostgresSaver(pool).get_tuple(config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": 1}


def test_a_forked_child_has_connections_of_its_own(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()
        place = saver.journal.acquire("t", "", J.new_owner(), 30.0)
        saver.journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"b")))
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                saver.journal.commit(place, J.Batch(records=[("c", 0, b"child")]))
                code = 0
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        saver.journal.commit(place, J.Batch(records=[("c", 1, b"parent")]))
        assert saver.journal.load("t", "").records == [b"child", b"parent"]


def test_a_small_pool_is_shared_by_many_threads(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url, pool_size=2) as saver:
        saver.setup()
        seen: list[Any] = []
        threads = [threading.Thread(target=lambda: seen.append(saver.journal.load("t", ""))) for _ in range(20)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)
        assert seen == [None] * 20
        (count,) = saver.journal.pool.fetch(
            "counting", "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        )[0]
        assert count <= 2


class Wire:
    """A proxy that counts how often the client spoke after the server had."""

    def __init__(self, url: str) -> None:
        self.target = urlsplit(url)
        self.trips = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.open: list[socket.socket] = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        user = self.target.username
        return f"postgresql://{user}@127.0.0.1:{self.listener.getsockname()[1]}{self.target.path}?sslmode=disable&gssencmode=disable"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.target.hostname or "", self.target.port or 0))
                self.open += [client, server]
                turn = ["server"]
                for pair in ((client, server, "client"), (server, client, "server")):
                    threading.Thread(target=self._pump, args=(*pair, turn), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, who: str, turn: list[str]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if who == "client" and turn[0] == "server":
                    self.trips += 1
                turn[0] = who
                sink.sendall(data)

    def close(self) -> None:
        for one in self.open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def wire(pg_url: str) -> Iterator[Wire]:
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()
    wire = Wire(pg_url)
    yield wire
    wire.close()


def test_one_round_trip_per_task_and_few_per_turn(wire: Wire) -> None:
    @task
    def step(n: int) -> int:
        return n

    with PostgresSaver.from_conn_string(wire.url) as saver:

        @entrypoint(checkpointer=saver)
        def flow(n: int, *, previous: Any = None) -> list[str]:
            for i in range(n):
                step(i).result()
            return [*(previous or []), "x" * 300]

        def trips(n: int) -> int:
            before = wire.trips
            flow.invoke(n, config("t"))
            return wire.trips - before

        for _ in range(3):
            trips(2)  # connected, prepared
        counts = [trips(n) for n in (0, 1, 10, 20)]
        assert [count - counts[0] for count in counts] == [0, 1, 10, 20]
        assert counts[0] <= 4, counts
        for _ in range(12):
            assert trips(0) <= 4  # flat, however long the thread is


def test_parallel_results_share_round_trips(wire: Wire) -> None:
    @task
    async def step(n: int) -> int:
        return n

    async def main() -> None:
        async with AsyncPostgresSaver.from_conn_string(wire.url) as saver:

            @entrypoint(checkpointer=saver)
            async def flow(n: int) -> int:
                return sum(await asyncio.gather(*[step(i) for i in range(n)]))

            assert await flow.ainvoke(10, config("warm")) == 45
            before = wire.trips
            assert await flow.ainvoke(500, config("t")) == sum(range(500))
            assert wire.trips - before <= 50

    asyncio.run(main())


def test_a_group_is_one_transaction_in_one_round_trip(wire: Wire) -> None:
    """Commits of several kinds that meet travel together; one that the server refuses fails alone."""
    with PostgresSaver.from_conn_string(wire.url) as saver:
        places = [saver.journal.acquire(f"t{n}", "", J.new_owner(), 30.0) for n in range(8)]
        before = wire.trips
        saver.journal._write([J.Job(one, J.Batch(checkpoint=J.Row("c1", None, b"1"))) for one in places])
        assert wire.trips - before == 1
        jobs = [J.Job(one, J.Batch(checkpoint=J.Row("c2", None, b"2"), records=[("c2", 0, b"r")])) for one in places]
        jobs[5].batch.checkpoint = J.Row("c2", None, None)  # type: ignore[arg-type]
        saver.journal._write(jobs)
        assert [type(job.error) for job in jobs] == [type(None)] * 5 + [StorageError] + [type(None)] * 2
        assert [saver.journal.load(f"t{n}", "").latest for n in range(8)] == ["c2"] * 5 + ["c1"] + ["c2"] * 2
        assert saver.journal.records("t5", "", "c2") == []  # all or nothing


def test_case_122_blocking_calls_of_the_awaited_saver_inside_the_loop_are_refused(pg_url: str) -> None:
    async def main() -> None:
        async with AsyncPostgresSaver.from_conn_string(pg_url) as saver:
            await saver.setup()
            place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
            for call in (
                lambda: saver.get_tuple(place),
                lambda: list(saver.list(place)),
                lambda: saver.put(place, {"id": "2", "channel_values": {}}, {"source": "loop", "step": 0}, {}),
                lambda: saver.put_writes(place, [("a", 1)], "task"),
                lambda: saver.delete_thread("t"),
            ):
                with pytest.raises(RuntimeError, match="running event loop"):
                    call()

    asyncio.run(main())


def test_case_116_rows_grow_with_what_is_new(pg_url: str) -> None:
    with PostgresSaver.from_conn_string(pg_url) as saver:
        saver.setup()

        @entrypoint(checkpointer=saver)
        def chat(line: str, *, previous: Any = None) -> list[str]:
            return [*(previous or []), line]

        def stored() -> int:
            tables = ["clew_checkpoints", "clew_records", "clew_values"]
            sql = " UNION ALL ".join(f"SELECT length(body) AS n FROM {one}" for one in tables)
            return saver.journal.pool.fetch("measuring", f"SELECT sum(n)::int FROM ({sql}) t")[0][0]

        line, sizes = os.urandom(500).hex(), [0]
        for turn in range(40):
            chat.invoke(f"{turn:03}{line}", config("t"))
            if turn % 10 == 9:
                sizes.append(stored())
        assert sizes[-1] <= 3 * 40 * len(line)
        assert sizes[4] - sizes[3] <= 1.5 * (sizes[2] - sizes[1])
        assert len(chat.get_state(config("t")).values) == 40
