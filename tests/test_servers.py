"""The services that the other tests lean on answer, and the two faces of `call` do."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
import servers


class Twin:
    """Both faces of a doubling."""

    def double(self, x: int) -> int:
        return 2 * x

    async def adouble(self, x: int) -> int:
        return 2 * x


def test_call_reaches_both_faces(call: Callable[..., Any]) -> None:
    assert call(Twin(), "double", 21) == 42


def test_postgres(pg_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(pg_url) as c:
        assert c.execute("SELECT 1").fetchone() == (1,)
        c.execute("CREATE EXTENSION vector")


def test_valkey(redis_url: str) -> None:
    redis = pytest.importorskip("redis")
    with redis.Redis.from_url(redis_url) as r:
        r.set("k", "v")
        assert r.get("k") == b"v"


def test_upstash(upstash_url: str) -> None:
    request = urllib.request.Request(upstash_url, json.dumps(["SET", "k", "v"]).encode(), method="POST")
    with urllib.request.urlopen(request) as r:
        assert json.load(r) == {"result": "OK"}


def test_dynamodb(aws: dict[str, str]) -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("dynamodb", **aws)
    assert client.list_tables()["TableNames"] == []
    client.close()


def test_emulators_listen(firestore_host: str, cosmos_url: str) -> None:
    for address in (firestore_host, cosmos_url.removeprefix("https://")):
        host, port = address.split(":")
        socket.create_connection((host, int(port)), 1).close()


def test_chat_model(chat_url: str) -> None:
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 5}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{chat_url}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as r:
        assert json.load(r)["usage"]["completion_tokens"] > 0


def test_replay(replay: Callable[..., str]) -> None:
    with urllib.request.urlopen(replay("_replay/cases")) as r:
        assert json.load(r)


def test_a_missing_part_says_what_to_install() -> None:
    with pytest.raises(servers.Missing, match="pip install no-such-package"):
        servers.need("no_such_module_here", "pip install no-such-package")
