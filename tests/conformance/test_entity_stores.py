"""Our entity stores, against the suite that third parties run too."""

from __future__ import annotations

from typing import Any

import pytest

from clew.memory import InMemoryEntityStore
from clew.testing.history import EntityStoreConformance


class TestInMemory(EntityStoreConformance):
    @pytest.fixture
    def open(self) -> Any:
        kept: dict[str, InMemoryEntityStore] = {}
        return lambda session_id: kept.setdefault(session_id, InMemoryEntityStore())


class TestSqlite(EntityStoreConformance):
    @pytest.fixture
    def open(self, tmp_path: Any) -> Any:
        from clew.memory import SQLiteEntityStore

        return lambda session_id: SQLiteEntityStore(session_id, db_file=f"{tmp_path}/entities.db")


class TestRedis(EntityStoreConformance):
    @pytest.fixture
    def open(self, redis_url: str) -> Any:
        from clew.memory import RedisEntityStore

        return lambda session_id: RedisEntityStore(session_id, url=redis_url)


class TestUpstash(EntityStoreConformance):
    """The service's REST protocol over a real Valkey."""

    @pytest.fixture
    def open(self, upstash_url: str) -> Any:
        from clew.memory import UpstashRedisEntityStore

        return lambda session_id: UpstashRedisEntityStore(session_id, url=upstash_url, token="t")
