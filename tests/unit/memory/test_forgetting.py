"""Forgetting: what was removed where, and not one byte left in embedded files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from talk import texts

from clew.caches import SQLiteCache
from clew.chat_history import InMemoryChatMessageHistory
from clew.chat_message_histories import FileChatMessageHistory, SQLChatMessageHistory
from clew.checkpoint.sqlite import SqliteSaver
from clew.embeddings import DeterministicFakeEmbedding
from clew.func import entrypoint
from clew.memory import ConversationBufferMemory, SQLiteEntityStore, aforget, forget
from clew.messages import HumanMessage
from clew.outputs import Generation
from clew.store.sqlite import SqliteStore

CANARY = "canary-4711-zebra"


def leaks(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(word in path.read_bytes() for word in (b"canary", b"zebra"))]


def test_no_byte_of_a_canary_is_left(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="needs: pip install numpy")
    from clew.vectorstores import SQLiteVectorStore

    chat = f"sqlite:///{tmp_path}/chat.db"
    ann, bob = (SQLChatMessageHistory(name, connection=chat) for name in ("ann", "bob"))
    ann.add_messages([HumanMessage(content=f"{CANARY} {n}" * 40) for n in range(100)])
    bob.add_messages([HumanMessage(content="stays") for _ in range(10)])
    file = FileChatMessageHistory(str(tmp_path / "chat.json"))
    file.add_user_message(CANARY)
    notes = SQLiteEntityStore("ann", db_file=str(tmp_path / "notes.db"))
    notes.set(CANARY, CANARY)
    vectors = SQLiteVectorStore(str(tmp_path / "vectors.db"), DeterministicFakeEmbedding(size=8))
    vectors.add_texts([CANARY] * 9 + ["stays"], [{"session_id": "ann"}] * 9 + [{"session_id": "bob"}])
    saver = SqliteSaver.open(str(tmp_path / "saver.db"))
    answers = SQLiteCache(str(tmp_path / "cache.db"))
    answers.update(CANARY, "model", [Generation(text=CANARY)])

    @entrypoint(checkpointer=saver)
    def flow(text: str, *, previous: Any = None) -> str:
        return (previous or "") + text

    for _ in range(4):
        flow.invoke(CANARY, {"configurable": {"thread_id": "ann"}})
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        store.setup()
        store.put(("people", "ann"), "name", {"name": CANARY})
        store.put(("people", "bob"), "name", {"name": "Bob"})
        assert len(leaks(tmp_path)) >= 7
        report = forget(
            "ann", histories=[ann, file], entity_stores=[notes], vector_stores=[vectors], checkpointers=[saver],
            stores=[store], caches=[answers],
        )  # fmt: skip
        assert leaks(tmp_path) == []
        assert store.get(("people", "bob"), "name") is not None
    assert report.removed == 100 + 1 + 9 + 1 + 1
    assert len(report.files) == 6
    assert "history: SQLChatMessageHistory(ann): 100 removed" in str(report)
    assert texts(bob.messages) == ["stays"] * 10
    assert len(vectors.similarity_search("x", 20)) == 1
    saver.close()


def test_factories_memories_and_people(call: Any) -> None:
    kept = {"ann": InMemoryChatMessageHistory(messages=[HumanMessage(content="q")])}
    memory = ConversationBufferMemory(chat_memory=InMemoryChatMessageHistory(messages=[HumanMessage(content="q")]))
    report = forget("ann", user="u1", histories=[kept.__getitem__], memories=[memory])
    assert [place.kind for place in report.places] == ["history", "memory"]
    assert kept["ann"].messages == memory.chat_memory.messages == []
    with pytest.raises(ValueError, match="session or a user"):
        forget()


def test_one_place_that_fails_does_not_keep_the_others(tmp_path: Path) -> None:
    class Broken(InMemoryChatMessageHistory):
        def clear(self) -> None:
            raise ConnectionError("store down")

    history = InMemoryChatMessageHistory(messages=[HumanMessage(content="q")])
    with pytest.raises(ConnectionError, match="store down"):
        forget("ann", histories=[Broken(), history])
    assert history.messages == []
    with pytest.raises(ExceptionGroup):
        forget("ann", histories=[Broken(), Broken()])


def test_the_awaited_face(tmp_path: Path) -> None:
    import asyncio

    history = SQLChatMessageHistory("ann", connection=f"sqlite:///{tmp_path}/chat.db")
    history.add_user_message(CANARY)
    report = asyncio.run(aforget("ann", histories=[history]))
    assert report.removed == 1
    assert leaks(tmp_path) == []
