"""Our stores, against the suite that third parties run too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing.store import StoreConformance


class TestInMemoryStore(StoreConformance):
    @pytest.fixture
    def make(self) -> Any:
        from clew.store.memory import InMemoryStore

        return InMemoryStore


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def make(self, tmp_path: Any) -> Iterator[Any]:
        from clew.store.sqlite import SqliteStore

        with contextlib.ExitStack() as stack:
            yield lambda **options: stack.enter_context(
                contextlib.closing(SqliteStore(str(tmp_path / "store.sqlite"), **options))
            )


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def make(self, pg_url: str) -> Iterator[Any]:
        from clew.store.postgres import PostgresStore

        with contextlib.ExitStack() as stack:

            def make(**options: Any) -> Any:
                store = stack.enter_context(PostgresStore.from_conn_string(pg_url, **options))
                store.setup()
                return store

            yield make


class TestAsyncPostgresStore(StoreConformance):
    faces = ("awaited",)

    @pytest.fixture
    def make(self, pg_url: str, face: Any) -> Iterator[Any]:
        from clew.store.postgres import AsyncPostgresStore

        made: list[Any] = []

        def make(**options: Any) -> Any:
            store = AsyncPostgresStore(pg_url, **options)
            face.run(store.setup())
            made.append(store)
            return store

        yield make
        for store in made:
            face.run(store.close())


class TestRedisStore(StoreConformance):
    @pytest.fixture
    def make(self, redis_url: str) -> Iterator[Any]:
        from clew.store.redis import RedisStore

        with contextlib.ExitStack() as stack:
            yield lambda **options: stack.enter_context(RedisStore.from_conn_string(redis_url, **options))


class TestAsyncRedisStore(StoreConformance):
    faces = ("awaited",)

    @pytest.fixture
    def make(self, redis_url: str, face: Any) -> Iterator[Any]:
        from clew.store.redis import AsyncRedisStore

        made: list[Any] = []

        def make(**options: Any) -> Any:
            made.append(AsyncRedisStore(redis_url, **options))
            return made[-1]

        yield make
        for store in made:
            face.run(store.close())
