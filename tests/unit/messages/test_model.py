"""Messages as fields of pydantic models."""

import json

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from clew.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)


class Chat(BaseModel):
    last: AIMessage
    all: list[BaseMessage]
    any: list[AnyMessage] = []
    calls: list[ToolCall] = []


def test_instances_dicts_and_pairs_validate():
    last = AIMessage("x", id="1")
    chat = Chat(last=last, all=[("user", "q"), {"role": "system", "content": "s"}, last, "bare"])
    assert chat.last is last
    assert chat.all == [HumanMessage("q"), SystemMessage("s"), last, HumanMessage("bare")]


def test_json_and_back():
    chat = Chat(
        last=AIMessage("x"),
        all=[HumanMessage("q"), ToolMessage("t", tool_call_id="1")],
        any=[AIMessageChunk("c"), SystemMessage("s")],
    )
    assert Chat.model_validate_json(chat.model_dump_json()) == chat
    assert json.loads(chat.model_dump_json())["all"][1]["tool_call_id"] == "1"


@pytest.mark.parametrize("bad", [HumanMessage("x"), {"type": "human", "content": "x"}, 5, {"content": 5}, {}])
def test_other_things_are_refused(bad):
    with pytest.raises(ValidationError):
        Chat(last=bad, all=[])


def test_dicts_without_type_fit_a_named_class():
    assert Chat(last={"content": "x"}, all=[]).last == AIMessage("x")


def test_json_schema():
    schema = TypeAdapter(ToolMessage).json_schema()
    assert schema["title"] == "ToolMessage" and "tool_call_id" in schema["required"]
    assert schema["properties"]["type"] == {"const": "tool", "default": "tool"}
    assert Chat.model_json_schema()["properties"]["last"]["title"] == "AIMessage"


def test_users_subclasses_validate():
    class Rated(HumanMessage, kw_only=True):
        stars: int = 0

    adapter = TypeAdapter(Rated)
    assert adapter.validate_python({"type": "human", "content": "x", "stars": 4}) == Rated("x", stars=4)
    assert adapter.validate_python(Rated("x")) == Rated("x")


def test_model_validate_on_the_class():
    assert AIMessage.model_validate({"content": "x"}) == AIMessage("x")
    assert BaseMessage.model_validate(("user", "x")) == HumanMessage("x")
    assert HumanMessage.model_validate_json('{"content": "x"}') == HumanMessage("x")
    with pytest.raises(ValueError, match="expected AIMessage"):
        AIMessage.model_validate(HumanMessage("x"))
