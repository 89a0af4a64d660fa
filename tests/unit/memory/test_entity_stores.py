"""Notes that expire, their keys, and what is sent for one reading."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from clew.errors import StorageError
from clew.memory import RedisEntityStore, SQLiteEntityStore, UpstashRedisEntityStore

DAY = 86_400


def test_redis_notes_live_by_being_read(redis_url: str) -> None:
    store = RedisEntityStore("s", url=redis_url, key_prefix="e")
    key = f"{store.full_key_prefix}:Ann"
    assert key == "e:s:Ann"
    store.set("Ann", "sings")
    assert DAY - 5 <= store.redis_client.ttl(key) <= DAY
    assert store.get("Ann") == "sings"
    assert 3 * DAY - 5 <= store.redis_client.ttl(key) <= 3 * DAY
    store.redis_client.expireat(key, 1)  # the clock moved past its end
    assert store.get("Ann") == store.get("Ann", None) == ""
    assert store.get("Ann", "unknown") == "unknown"
    lasting = RedisEntityStore("l", url=redis_url, ttl=None, recall_ttl=None)
    lasting.set("Ann", "sings")
    assert lasting.get("Ann") == "sings"
    assert lasting.redis_client.ttl(f"{lasting.full_key_prefix}:Ann") == -1


def test_a_session_whose_id_begins_like_another_is_not_cleared_with_it(redis_url: str, upstash_url: str) -> None:
    upstash = {"url": upstash_url, "token": "t"}
    for cls, place in ((RedisEntityStore, {"url": redis_url}), (UpstashRedisEntityStore, upstash)):
        for session in ("a", "a:b", "a*", "[a]"):
            cls(session, key_prefix=cls.__name__, **place).set("Ann", session)  # type: ignore[arg-type]
        cls("a", key_prefix=cls.__name__, **place).clear()  # type: ignore[arg-type]
        cls("a*", key_prefix=cls.__name__, **place).clear()  # type: ignore[arg-type]
        kept = [s for s in ("a", "a:b", "a*", "[a]") if cls(s, key_prefix=cls.__name__, **place).exists("Ann")]  # type: ignore[arg-type]
        assert kept == ["a:b", "[a]"]


def test_upstash_reads_with_one_command_and_says_what_failed(upstash_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = UpstashRedisEntityStore("s", url=upstash_url, token="t")
    store.set("张三", "来自北京")
    commands: list[Any] = []
    original = store._rest.run
    monkeypatch.setattr(store._rest, "run", lambda *words: (commands.append(words), original(*words))[1])
    assert store.get("张三") == "来自北京"
    assert commands == [("GETEX", "memory_store:s:张三", "EX", 3 * DAY)]

    class Closed:
        def request(self, *a: Any) -> None:
            raise ConnectionResetError("closed by the service")

        def close(self) -> None:
            pass

    store._rest._local.connection = Closed()  # opened anew, once
    assert store.exists("张三") is True
    gone = UpstashRedisEntityStore("s", url="http://127.0.0.1:1", token="t")
    with pytest.raises(StorageError, match="reached"):
        gone.get("x")
    for bad in ({"url": "127.0.0.1", "token": "t"}, {"url": "https://x"}):
        with pytest.raises(ValueError, match="REST"):
            UpstashRedisEntityStore("s", **bad)


def test_a_server_that_is_not_there_is_a_storage_error() -> None:
    with pytest.raises(StorageError, match="Redis"):
        RedisEntityStore("s", url="redis://127.0.0.1:1/0").set("Ann", "sings")


def test_sqlite_tables_are_apart_and_any_name_is_a_name(tmp_path: Path) -> None:
    path = str(tmp_path / "e.db")
    odd = SQLiteEntityStore(db_file=path, table_name='x"; DROP TABLE memory_store; --')
    plain = SQLiteEntityStore(db_file=path)
    plain.set("Ann", "sings")
    odd.set("Ann", "dances")
    odd.clear()
    assert (plain.get("Ann"), odd.get("Ann")) == ("sings", None)
    with contextlib.suppress(ValueError):
        SQLiteEntityStore(db_file=path, table_name="")
        raise AssertionError("an empty name was taken")
