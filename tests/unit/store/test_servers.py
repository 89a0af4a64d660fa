"""Stores on servers: dead connections are replaced, a put is one round trip, and forks are safe."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clew.errors import StorageConflictError, StorageError
from clew.store.postgres import AsyncPostgresStore, PostgresStore
from clew.store.redis import RedisStore


def cut(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_case_079_a_dead_postgres_connection_is_replaced(pg_url: str) -> None:
    with PostgresStore.from_conn_string(pg_url) as store:
        store.setup()
        for n in range(3):
            store.put(("n",), "k", {"v": n}, ttl=10)
            cut(pg_url)
            item = store.get(("n",), "k")  # restarts its time to live as well
            assert item is not None
            assert item.value == {"v": n}
            cut(pg_url)
            assert len(store.search(("n",))) == 1
            cut(pg_url)


def test_case_079_awaited(pg_url: str) -> None:
    async def main() -> None:
        async with AsyncPostgresStore.from_conn_string(pg_url) as store:
            await store.setup()
            await store.aput(("n",), "k", {"v": 1})
            await asyncio.to_thread(cut, pg_url)
            await store.aput(("n",), "k", {"v": 2})
            await asyncio.to_thread(cut, pg_url)
            assert [item.value for item in await store.asearch(("n",))] == [{"v": 2}]
            with pytest.raises(RuntimeError, match="awaited"):
                store.get(("n",), "k")

    asyncio.run(main())


def test_case_079_a_killed_redis_connection_is_replaced(redis_url: str) -> None:
    import redis

    with RedisStore.from_conn_string(redis_url) as store, redis.Redis.from_url(redis_url) as other:
        store.put(("n",), "k", {"v": 1})
        other.client_kill_filter(_type="normal", skipme=True)
        assert store.get(("n",), "k") is not None
        other.client_kill_filter(_type="normal", skipme=True)
        store.put(("n",), "k", {"v": 2})
        assert [item.value for item in store.search(("n",))] == [{"v": 2}]


def test_one_statement_per_put_get_and_delete(pg_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    sent: list[str] = []
    real = psycopg.Connection.execute

    def counting(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        sent.append(str(query))
        return real(self, query, *arguments, **options)

    with PostgresStore.from_conn_string(pg_url, index={"embed": lambda texts: [[1.0]] * len(texts)}) as store:
        store.setup()
        monkeypatch.setattr(psycopg.Connection, "execute", counting)
        store.put(("n",), "k", {"v": 1}, expected_version=0)
        item = store.get(("n",), "k")
        assert item is not None
        store.put(("n",), "k", {"v": 2}, expected_version=item.version)
        with pytest.raises(StorageConflictError, match="is at version"):
            store.put(("n",), "k", {"v": 3}, expected_version=item.version)
        store.delete(("n",), "k")
        assert len(sent) == 5


def test_errors_say_what_to_do(pg_url: str) -> None:
    with PostgresStore.from_conn_string(pg_url) as store, pytest.raises(StorageError, match=r"setup\(\)"):
        store.get(("n",), "k")
    with pytest.raises(StorageError, match="Redis failed"):
        RedisStore("redis://127.0.0.1:1/0").setup()


def test_damaged_items_are_a_named_error(redis_url: str) -> None:
    import redis

    with RedisStore.from_conn_string(redis_url) as store, redis.Redis.from_url(redis_url) as other:
        store.put(("n",), "k", {"v": 1})
        for key in other.scan_iter("clew:store:item:*"):
            other.set(key, b"\xc1damaged")
        with pytest.raises(StorageError, match="damaged"):
            store.get(("n",), "k")
