"""Messages as rows: exact, readable, and nothing but messages on the way back."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import pytest

from clew.chat_message_histories import FileChatMessageHistory, copy_history, open_history
from clew.chat_message_histories._codec import bound_text, decode, encode, unbound_text
from clew.chat_message_histories._firestore_docs import document_id
from clew.chat_message_histories._tables import quoted
from clew.errors import DeserializationError, SerializationError, StorageError
from clew.messages import AIMessage, AIMessageChunk, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from clew.testing.history import ODD_IDS, ODD_TEXTS, RICH


@pytest.mark.parametrize("as_bytes", [False, True])
def test_rows_come_back_equal(as_bytes: bool) -> None:
    rows: Any = [encode(message) for message in RICH]
    rows = [row.encode() for row in rows] if as_bytes else rows
    assert decode(rows) == RICH
    assert decode(rows[:1]) == RICH[:1]
    assert decode([]) == []


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_case_077_odd_characters_are_escaped_and_come_back(text: str) -> None:
    tool = ToolMessage(content="x", tool_call_id=text, additional_kwargs={text: text})
    for message in (HumanMessage(content=text), tool):
        row = encode(message)
        assert "\x00" not in row
        row.encode()
        assert decode([row, encode(RICH[0])]) == [message, RICH[0]]


def test_what_json_cant_carry_is_kept_typed_beside_a_readable_form() -> None:
    odd = {"raw": b"\x00\xff", "pair": (1, 2), "big": 2**70, "inf": math.inf, "when": datetime(2026, 1, 2)}
    message = AIMessage(content="x", additional_kwargs=odd)
    row = json.loads(encode(message))
    assert sorted(row) == ["clew", "data", "type"]
    assert row["data"]["content"] == "x"
    (loaded,) = decode([encode(message)])
    assert loaded == message
    assert type(loaded.additional_kwargs["pair"]) is tuple
    with pytest.raises(SerializationError):
        encode(HumanMessage(content="x", additional_kwargs={"bad": object()}))


def test_chunks_become_messages_and_foreign_rows_keep_what_is_unknown() -> None:
    whole = AIMessageChunk(content="a", id="1") + AIMessageChunk(content="b")
    assert decode([encode(whole)]) == [AIMessage(content="ab", id="1")]
    foreign = json.dumps({"type": "human", "data": {"content": "q", "type": "human", "example": False, "mood": "calm"}})
    mixed = decode([foreign, encode(SystemMessage(content="s")), encode(ChatMessage(role="judge", content="c"))])
    assert mixed[0].model_extra == {"mood": "calm"}
    assert [message.type for message in mixed] == ["human", "system", "chat"]


@pytest.mark.parametrize(
    "row",
    [
        '{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}}',
        '{"lc": 1, "type": "secret", "id": ["HOME"]}',
        '{"type": "prompt", "data": {"template": "x"}}',
        '{"type": "human", "data": {"_": "human"}}',
        '{"type": "human", "data": {}, "clew": "AAAA"}',
        "[]", "3", "not json", '{"type": "human"}',
    ],
)  # fmt: skip
def test_case_130_a_row_is_a_message_or_an_error(row: str) -> None:
    with pytest.raises(DeserializationError):
        decode([row])
    message = HumanMessage(content=row, additional_kwargs={"given": json.loads(row) if row[0] in "{[3" else row})
    assert decode([encode(message)]) == [message]


def test_ids_for_databases_are_distinct_and_reversible() -> None:
    names = [*ODD_IDS, "\ue000", '\ue000"x"', "x\x00", ""]
    assert [unbound_text(bound_text(name)) for name in names] == names
    assert len({bound_text(name) for name in names}) == len(names)
    legal = [document_id(name) for name in names]
    assert len(set(legal)) == len(names)
    for name in legal:
        assert name not in ("", ".", "..")
        assert "/" not in name
        assert len(name.encode()) <= 1500
        assert not (name.startswith("__") and name.endswith("__"))


def test_case_133_a_name_is_a_name() -> None:
    assert quoted('x"; DROP TABLE y') == '"x""; DROP TABLE y"'
    for bad in ("", "a\x00b"):
        with pytest.raises(ValueError, match="name"):
            quoted(bad)


def test_copying_reads_back_what_it_wrote(tmp_path: Any) -> None:
    source = open_history(f"sqlite:///{tmp_path}/a.db#%E4%BC%9A%E8%AF%9D%20x")
    source.add_messages(RICH * 3)
    target = open_history(f"file:{tmp_path}/b.json")
    target.add_user_message("was here")
    report = copy_history(source, target)
    assert (report.copied, report.before) == (len(RICH) * 3, 1)
    assert target.messages[1:] == source.messages == RICH * 3

    class Forgetful(FileChatMessageHistory):
        def add_messages(self, messages: Any) -> None:
            super().add_messages(messages[:-1])

    with pytest.raises(StorageError, match="message 17"):
        copy_history(source, Forgetful(str(tmp_path / "c.json")))
    for bad in ("nowhere", "sqlite:///x.db"):
        with pytest.raises(ValueError, match="names no"):
            open_history(bad)
