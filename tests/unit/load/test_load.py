"""Objects as data and back: an allow-list, secrets by name, user data that is never taken for a tag."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from clew.documents import Document
from clew.errors import DeserializationError
from clew.load import Serializable, dumpd, dumps, load, loads
from clew.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from clew.prompts import ChatPromptTemplate, PromptTemplate

MESSAGES = [
    HumanMessage("hi", id="1", name="ann"),
    SystemMessage([{"type": "text", "text": "rule"}]),
    AIMessage("", tool_calls=[{"name": "f", "args": {"a": [1, None]}, "id": "c", "type": "tool_call"}]),
    AIMessage(
        "x", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, response_metadata={"m": 1}
    ),
    ToolMessage("done", tool_call_id="c", artifact={"k": 1}),
    AIMessageChunk("part", id="r"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_survive(message: Any) -> None:
    back = loads(dumps(message))
    assert back == message and type(back) is type(message)
    assert dumps(back) == dumps(message)
    assert load({"history": dumpd([message]), "n": 1}) == {"history": [message], "n": 1}


def test_ids_name_the_package_and_not_the_file() -> None:
    assert dumpd(HumanMessage("x"))["id"] == ["clew", "messages", "HumanMessage"]
    assert load(
        {
            "lc": 1,
            "type": "constructor",
            "id": ["clew", "messages", "human", "HumanMessage"],
            "kwargs": {"content": "x"},
        }
    )


def test_messages_written_by_the_systems_people_come_from_are_read() -> None:
    tag = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "x"},
    }
    assert load(tag) == HumanMessage("x")
    assert load({**tag, "id": ["langchain_core", "messages", "AIMessage"]}) == AIMessage("x")


def test_case_130_only_messages_are_made_by_default() -> None:
    prompt = dumpd(PromptTemplate.from_template("{x}"))
    with pytest.raises(DeserializationError, match="PromptTemplate is not allowed"):
        load(prompt)
    for id_ in (
        ["subprocess", "Popen"],
        ["os", "system"],
        ["clew", "tools", "Tool"],
        ["langchain", "tools", "ShellTool"],
    ):
        with pytest.raises(ValueError, match="not allowed"):
            load([{"history": {"lc": 1, "type": "constructor", "id": id_, "kwargs": {}}}], allowed_objects="all")
    assert load(dumpd(Document("text")), allowed_objects="core") == Document("text")
    with pytest.raises(ValueError, match="not allowed"):
        load(dumpd(Document("text")))


def test_prompts_survive_when_allowed() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "You are {who}."), ("human", "{q}")])
    back = load(dumpd(prompt), allowed_objects="core")
    assert back.invoke({"who": "w", "q": "q"}) == prompt.invoke({"who": "w", "q": "q"})


LOOKS = [
    {"lc": 1, "type": "constructor", "id": ["clew", "messages", "HumanMessage"], "kwargs": {"content": "evil"}},
    {"lc": 1, "type": "secret", "id": ["PATH"]},
    {"lc": 1, "type": "not_implemented", "id": ["x"], "repr": "x"},
    {"lc": 1, "type": "mapping", "value": {"a": 1}},
    {"lc": {"lc": 1}},
]


@pytest.mark.parametrize("data", LOOKS)
def test_user_data_is_never_taken_for_a_tag(data: Any) -> None:
    message = AIMessage(
        "x", additional_kwargs={"k": data}, tool_calls=[{"name": "f", "args": data, "id": "1", "type": "tool_call"}]
    )
    back = loads(dumps(message), secrets_from_env=True)
    assert back == message and back.tool_calls[0]["args"] == data
    assert load(dumpd({"deep": [data]})) == {"deep": [data]}


class Keyed(Serializable):
    key: SecretStr
    size: int = 3

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True

    @property
    def lc_secrets(self) -> dict[str, str]:
        return {"key": "KEYED_KEY"}


class Plain(Serializable):
    key: SecretStr


def test_secrets_are_named_and_never_shown() -> None:
    text = dumps([Keyed(key=SecretStr("sk-1")), Plain(key=SecretStr("sk-1")), {"k": SecretStr("sk-1")}])
    assert "sk-1" not in text
    tag = dumpd(Keyed(key=SecretStr("sk-1"), size=4))
    assert tag["kwargs"] == {"key": {"lc": 1, "type": "secret", "id": ["KEYED_KEY"]}, "size": 4}
    made = load(tag, allowed_objects=[Keyed], secrets_map={"KEYED_KEY": "sk-2"})
    assert made.key.get_secret_value() == "sk-2" and made.size == 4


def test_the_environment_is_read_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYED_KEY", "sk-env")
    tag = dumpd(Keyed(key=SecretStr("x")))
    with pytest.raises(DeserializationError, match="Keyed"):
        load(tag, allowed_objects=[Keyed])
    assert load(tag, allowed_objects=[Keyed], secrets_from_env=True).key.get_secret_value() == "sk-env"


def test_what_can_not_be_described_is_named() -> None:
    tag = dumpd(Plain(key=SecretStr("x")))
    assert tag["type"] == "not_implemented" and tag["id"][-1] == "Plain"
    assert dumpd({"f": len})["f"]["type"] == "not_implemented"
    with pytest.raises(DeserializationError, match="rebuilt"):
        load(tag)
    assert load({"a": tag}, ignore_unserializable_fields=True) == {"a": None}


def test_bad_data_is_a_typed_error() -> None:
    for text in ("", "{", '{"lc": 1, "type": "constructor", "id": ["clew", "messages", "HumanMessage"]}'):
        with pytest.raises(DeserializationError):
            loads(text)
    bad = {"lc": 1, "type": "constructor", "id": ["clew", "messages", "ToolMessage"], "kwargs": {"nonsense": 1}}
    with pytest.raises(DeserializationError):
        load(bad)


def test_a_validator_sees_what_is_made() -> None:
    seen: list[Any] = []
    load(dumpd([HumanMessage("a")]), init_validator=lambda id_, kwargs: seen.append((id_[-1], kwargs)))
    assert seen == [("HumanMessage", {"content": "a"})]

    def refuse(id_: Any, kwargs: Any) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        load(dumpd(HumanMessage("a")), init_validator=refuse)
    with pytest.raises(DeserializationError, match="namespaces"):
        load(dumpd(HumanMessage("a")), valid_namespaces=["other"])


def test_old_ids_may_be_mapped_to_allowed_classes() -> None:
    tag = {**dumpd(HumanMessage("a")), "id": ["old", "place", "Human"]}
    mapping = {("old", "place", "Human"): ("clew", "messages", "HumanMessage")}
    assert load(tag, additional_import_mappings=mapping) == HumanMessage("a")
    evil = {("old", "place", "Human"): ("os", "system")}
    with pytest.raises(DeserializationError, match="not allowed"):
        load(tag, additional_import_mappings=evil)


def test_text_is_readable_and_stable() -> None:
    assert "你好" in dumps(HumanMessage("你好"))
    assert json.loads(dumps({"b": 1, "a": (1, 2)}, pretty=True)) == {"b": 1, "a": [1, 2]}
