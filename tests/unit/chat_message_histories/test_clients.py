"""Clients are shared by place, belong to their event loop, and are closed."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from typing import Any

import pytest

from clew.chat_message_histories import MongoDBChatMessageHistory, SQLChatMessageHistory, _shared
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._shared import shared
from clew.messages import AIMessage, HumanMessage


class Client:
    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def close(self) -> None:
        self.log.append(f"closed {self.name}")

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.log.append(f"closed {self.name}")


def test_a_loops_client_is_closed_before_its_loop() -> None:
    log: list[str] = []

    async def use() -> tuple[Any, Any]:
        def make() -> Client:
            return Client(log, "a")

        one = await loop_client("key", make, Client.aclose)
        return one, await loop_client("key", make, Client.aclose)

    first = asyncio.run(use())
    assert first[0] is first[1]
    assert log == ["closed a"]
    second = asyncio.run(use())
    assert second[0] is not first[0]
    assert log == ["closed a", "closed a"]


def test_many_that_ask_at_once_get_one_client_and_it_stays_open() -> None:
    log: list[str] = []

    async def main() -> None:
        async def make() -> Client:
            await asyncio.sleep(0.01)
            log.append("made")
            return Client(log, "a")

        found = await asyncio.gather(*(loop_client("k", make, Client.aclose) for _ in range(8)))
        gc.collect()
        await asyncio.sleep(0.01)
        assert len(set(map(id, found))) == 1
        assert await loop_client("k", make, Client.aclose) is found[0]
        assert log == ["made"]

    asyncio.run(main())
    assert log == ["made", "closed a"]


def test_a_client_that_could_not_be_made_is_tried_again() -> None:
    tries: list[int] = []

    async def main() -> None:
        async def make() -> str:
            tries.append(1)
            await asyncio.sleep(0)
            if len(tries) == 1:
                raise ConnectionError("not yet")
            return "client"

        asked = [loop_client("k", make, lambda client: None) for _ in range(3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(found[0], ConnectionError)
        assert found[1:] == ["client", "client"]

    asyncio.run(main())


def test_shared_clients_are_bounded_and_survive_a_close_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shared, "_clients", type(_shared._clients)())
    monkeypatch.setattr(_shared, "_KEPT", 2)
    log: list[str] = []

    def bad(client: Client) -> None:
        client.close()
        raise ConnectionError("gone")

    one = shared("a", lambda: Client(log, "a"), bad)
    assert shared("a", lambda: Client(log, "again"), bad) is one
    for name in "bc":
        shared(name, lambda name=name: Client(log, name), Client.close)  # type: ignore[misc]
    assert log == ["closed a"]


def test_a_program_that_ends_closes_what_it_opened(tmp_path: Any) -> None:
    code = """
import sys
from clew.chat_message_histories._shared import shared
from clew.messages import AIMessage, HumanMessage
shared("x", lambda: 1, lambda client: print("closed", client))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "closed 1\n"


def test_a_client_of_the_callers_serves_both_faces(call: Any) -> None:
    mongomock = pytest.importorskip("mongomock", reason="needs: pip install mongomock pymongo")
    client = mongomock.MongoClient()
    history = MongoDBChatMessageHistory(None, "s", client=client)
    call(history, "add_messages", [HumanMessage(content="q"), AIMessage(content="a")])
    assert [m.content for m in call(history, "get_messages")] == ["q", "a"]
    assert client["chat_history"]["message_store"].count_documents({"SessionId": "s"}) == 2
    call(history, "clear")
    assert call(history, "get_last_messages", 1) == []
    with pytest.raises(ValueError, match="client"):
        MongoDBChatMessageHistory(None, "s")


def test_handles_of_one_file_share_a_pool_and_memory_is_ones_own(tmp_path: Any) -> None:
    one, two = (SQLChatMessageHistory(name, connection=f"sqlite:///{tmp_path}/a.db") for name in "ab")
    assert one._table.database is two._table.database  # type: ignore[union-attr]
    here, there = (SQLChatMessageHistory("s", connection="sqlite://") for _ in range(2))
    here.add_user_message("q")
    assert (len(here.messages), len(there.messages)) == (1, 0)
