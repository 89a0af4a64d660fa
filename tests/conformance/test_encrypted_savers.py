"""Encryption at rest, on every saver: nothing readable is stored, no row can be moved, plain rows are refused."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew.checkpoint.serde import EncryptedSerializer
from clew.errors import ClewError
from clew.func import entrypoint, task

pytest.importorskip("cryptography")

OLD, NEW = b"o" * 32, b"n" * 32
Open = Callable[..., contextlib.AbstractContextManager[Any]]


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[tuple[Open, Callable[[bytes, bytes], bytes]]]:
    """Give (open a saver, rename a thread behind its back and return all that is stored)."""
    if request.param == "sqlite":
        from clew.checkpoint.sqlite import SqliteSaver

        path = str(tmp_path / "sealed.sqlite")

        def rename(old: bytes, new: bytes) -> bytes:
            with contextlib.closing(sqlite3.connect(path)) as raw, raw:
                raw.execute("UPDATE clew_places SET thread_id = ? WHERE thread_id = ?", (new.decode(), old.decode()))
                tables = ["clew_checkpoints", "clew_records", "clew_values", "clew_notes"]
                return b"".join(row[0] for one in tables for row in raw.execute(f"SELECT body FROM {one}"))

        yield lambda **options: SqliteSaver.from_conn_string(path, **options), rename
    elif request.param == "postgres":
        import psycopg

        from clew.checkpoint.postgres import PostgresSaver

        url = request.getfixturevalue("pg_url")
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()

        def rename(old: bytes, new: bytes) -> bytes:
            with psycopg.connect(url, autocommit=True) as raw:
                raw.execute("UPDATE clew_places SET thread = %s WHERE thread = %s", (new, old))
                tables = ["clew_checkpoints", "clew_records", "clew_values", "clew_notes"]
                return b"".join(bytes(row[0]) for one in tables for row in raw.execute(f"SELECT body FROM {one}"))

        yield lambda **options: PostgresSaver.from_conn_string(url, **options), rename
    else:
        import redis

        from clew.checkpoint.redis import RedisSaver

        url = request.getfixturevalue("redis_url")

        def rename(old: bytes, new: bytes) -> bytes:
            with redis.Redis.from_url(url) as raw:
                before, after = b"%d:%b" % (len(old), old), b"%d:%b" % (len(new), new)
                for key in list(raw.scan_iter("clew:journal:*")):
                    if before in key:
                        raw.rename(key, key.replace(before, after))
                hashes = [key for key in raw.scan_iter("*") if raw.type(key) == b"hash"]
                return b"".join(body for key in hashes for body in raw.hvals(key))

        yield lambda **options: RedisSaver.from_conn_string(url, **options), rename


def flow_on(saver: Any) -> Any:
    @task
    def secret(text: str) -> dict[str, str]:
        return {"secret": f"the treasure is {text}"}

    @entrypoint(checkpointer=saver)
    def flow(text: str, *, previous: Any = None) -> list[Any]:
        return [*(previous or []), secret(text).result()]

    return flow


def config(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def test_nothing_readable_is_stored_and_keys_rotate(place: Any) -> None:
    open_saver, look = place
    with open_saver(serde=EncryptedSerializer.from_aes({"old": OLD})) as saver:
        flow_on(saver).invoke("buried", config("A"))
    assert b"treasure" not in look(b"-", b"--")
    both = EncryptedSerializer.from_aes({"old": OLD, "new": NEW}, current="new")
    with open_saver(serde=both) as saver:
        assert len(flow_on(saver).invoke("moved", config("A"))) == 2
    assert b"treasure" not in look(b"-", b"--")
    newest = EncryptedSerializer.from_aes({"new": NEW})
    with open_saver(serde=newest) as saver, pytest.raises(ClewError, match="no key"):
        list(saver.list(config("A")))


def test_case_137_a_thread_under_another_name_does_not_load(place: Any) -> None:
    open_saver, rename = place
    serde = EncryptedSerializer.from_aes(NEW)
    with open_saver(serde=serde) as saver:
        flow_on(saver).invoke("of A", config("A"))
    rename(b"A", b"B")
    with open_saver(serde=serde) as saver, pytest.raises(ClewError):
        flow_on(saver).get_state(config("B"))
    rename(b"B", b"A")
    with open_saver(serde=serde) as saver:
        assert flow_on(saver).get_state(config("A")).values == [{"secret": "the treasure is of A"}]


def test_case_136_plain_rows_are_refused(place: Any) -> None:
    open_saver, look = place
    with open_saver() as saver:
        flow_on(saver).invoke("open", config("A"))
    assert b"treasure" in look(b"-", b"--")
    with open_saver(serde=EncryptedSerializer.from_aes(NEW)) as saver, pytest.raises(ClewError):
        flow_on(saver).get_state(config("A"))
