"""The saver on Redis: dead connections, restarts of the script cache, durability, whole runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clew.checkpoint import _journal as J
from clew.checkpoint.redis import AsyncRedisSaver, RedisSaver
from clew.errors import StorageError
from clew.func import entrypoint, task
from clew.types import Command, interrupt


def config(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def test_a_run_pauses_and_goes_on(redis_url: str) -> None:
    ran: list[int] = []

    @task
    def step(n: int) -> dict[str, Any]:
        ran.append(n)
        return {"n": n, "t": (n, {n})}

    for value, last in ((1, None), (Command(resume="yes"), [None, {"n": 1, "t": (1, {1})}, "yes"])):
        with RedisSaver.from_conn_string(redis_url) as saver:
            saver.setup()

            @entrypoint(checkpointer=saver)
            def flow(n: int, *, previous: Any = None) -> list[Any]:
                return [previous, step(n).result(), interrupt("?")]

            got = flow.invoke(value, config("t"))
            assert got == last if last is not None else got["__interrupt__"][0].value == "?"
            if last is not None:
                assert flow.get_state(config("t")).values == last
                saver.delete_thread("t")
                assert list(saver.client.scan_iter("clew:journal:*")) == []  # nothing is left of it
    assert ran == [1]


def test_awaited_runs(redis_url: str) -> None:
    @task
    async def double(n: int) -> int:
        return 2 * n

    async def main() -> None:
        async with AsyncRedisSaver.from_conn_string(redis_url) as saver:
            await saver.setup()

            @entrypoint(checkpointer=saver)
            async def add(n: int, *, previous: int | None = None) -> int:
                return (previous or 0) + sum(await asyncio.gather(*[double(i) for i in range(n)]))

            assert await add.ainvoke(100, config("t")) == 9900
            assert await add.ainvoke(2, config("t")) == 9902
            with pytest.raises(RuntimeError, match="running event loop"):
                saver.get_tuple(config("t"))

    asyncio.run(main())


def test_case_079_a_killed_connection_is_replaced(redis_url: str) -> None:
    import redis

    with RedisSaver.from_conn_string(redis_url) as saver, redis.Redis.from_url(redis_url) as other:

        @entrypoint(checkpointer=saver)
        def add(n: int, *, previous: int | None = None) -> int:
            return (previous or 0) + n

        assert add.invoke(1, config("t")) == 1
        for expected in (3, 5):
            other.client_kill_filter(_type="normal", skipme=True)
            assert add.invoke(2, config("t")) == expected


def test_a_server_that_lost_its_scripts_gets_them_again(redis_url: str) -> None:
    with RedisSaver.from_conn_string(redis_url) as saver:
        place = saver.journal.acquire("t", "", J.new_owner(), 30.0)
        saver.client.script_flush()
        saver.journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"b"), records=[("c", 0, b"r")]))
        saver.client.script_flush()
        assert saver.journal.load("t", "").records == [b"r"]


def test_fsync_waits_for_the_file_or_says_that_there_is_none(redis_url: str) -> None:
    with RedisSaver.from_conn_string(redis_url, fsync=True) as saver:
        place = saver.journal.acquire("t", "", J.new_owner(), 30.0)
        with pytest.raises(StorageError, match=r"(?i)appendonly|append-only|AOF"):
            saver.journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"b")))
        saver.client.config_set("appendonly", "yes")
        try:
            saver.journal.commit(place, J.Batch(checkpoint=J.Row("c", None, b"b"), records=[("c", 0, b"r")]))
        finally:
            saver.client.config_set("appendonly", "no")
        assert saver.journal.load("t", "").records == [b"r"]


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StorageError, match="Redis failed") as caught:
        RedisSaver("redis://127.0.0.1:1/0").setup()
    assert caught.value.backend == "redis"


def test_prefixes_keep_programs_apart(redis_url: str) -> None:
    one, two = RedisSaver(redis_url, prefix="one:"), RedisSaver(redis_url, prefix="two:")
    one.put(config("t"), {"id": "1", "channel_values": {"a": 1}}, {"source": "loop", "step": 0}, {})
    assert one.get_tuple(config("t")) is not None
    assert two.get_tuple(config("t")) is None
    one.close()
    two.close()
