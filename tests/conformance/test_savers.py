"""Our savers, against the suite that third parties run too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing.saver import JournalConformance


class TestInMemorySaver(JournalConformance):
    @pytest.fixture
    def saver(self) -> Any:
        from clew.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def damage(self, saver: Any) -> None:
        for one in saver.journal._threads.values():
            one.checkpoints = {key: row._replace(body=b"\xc1damaged") for key, row in one.checkpoints.items()}


class TestSqliteSaver(JournalConformance):
    @pytest.fixture
    def saver(self, tmp_path: Any) -> Iterator[Any]:
        from clew.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(tmp_path / "saver.sqlite")) as saver:
            yield saver

    def damage(self, saver: Any) -> None:
        saver.journal.connection.execute("UPDATE clew_checkpoints SET body = x'c10102'")


class TestPostgresSaver(JournalConformance):
    @pytest.fixture
    def saver(self, pg_url: str) -> Iterator[Any]:
        from clew.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(pg_url) as saver:
            saver.setup()
            yield saver

    def damage(self, saver: Any) -> None:
        saver.journal.pool.run("damaging", lambda c: c.execute("UPDATE clew_checkpoints SET body = '\\xc10102'"))


class TestRedisSaver(JournalConformance):
    faces = ("blocking",)

    @pytest.fixture
    def saver(self, redis_url: str) -> Iterator[Any]:
        from clew.checkpoint.redis import RedisSaver

        with RedisSaver.from_conn_string(redis_url) as saver:
            yield saver

    def damage(self, saver: Any) -> None:
        for key in saver.client.scan_iter("clew:journal:c:*"):
            for name in saver.client.hkeys(key):
                saver.client.hset(key, name, b"\xc1damaged")


class TestAsyncRedisSaver(JournalConformance):
    faces = ("awaited",)

    @pytest.fixture
    def saver(self, redis_url: str, face: Any) -> Iterator[Any]:
        from clew.checkpoint.redis import AsyncRedisSaver

        saver, self.url = AsyncRedisSaver(redis_url), redis_url
        yield saver
        face.run(saver.close())

    def damage(self, saver: Any) -> None:
        import redis

        with redis.Redis.from_url(self.url) as client:
            for key in client.scan_iter("clew:journal:c:*"):
                for name in client.hkeys(key):
                    client.hset(key, name, b"\xc1damaged")
