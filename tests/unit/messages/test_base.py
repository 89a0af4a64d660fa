import copy
import pickle

import msgspec
import pydantic
import pytest

from clew.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    merge_content,
    messages_to_dict,
)
from clew.messages.base import get_msg_title_repr

ALL = [
    AIMessage("a"),
    HumanMessage("h"),
    SystemMessage("s"),
    ToolMessage("t", tool_call_id="1"),
    ChatMessage("c", role="r"),
    FunctionMessage("f", name="n"),
    RemoveMessage(id="1"),
    AIMessageChunk("a"),
    HumanMessageChunk("h"),
    SystemMessageChunk("s"),
    ToolMessageChunk("t", tool_call_id="1"),
    ChatMessageChunk("c", role="r"),
]


@pytest.mark.parametrize("message", ALL, ids=lambda m: type(m).__name__)
def test_every_message_copies_pickles_and_compares(message):
    assert isinstance(message, BaseMessage)
    for twin in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message)), message.model_copy()):
        assert twin == message and type(twin) is type(message) and twin is not message
    assert message != HumanMessage("other")
    assert repr(message).startswith(type(message).__name__ + "(")
    assert isinstance(message, BaseMessageChunk) is type(message).__name__.endswith("Chunk")


@pytest.mark.parametrize("message", ALL, ids=lambda m: type(m).__name__)
def test_a_dump_makes_the_message_again(message):
    dumped = message.model_dump()
    assert dumped["type"] == message.type and type(message)(**dumped) == message
    assert messages_to_dict([message]) == [{"type": message.type, "data": dumped}]


def test_the_type_is_accepted_as_an_argument():
    assert HumanMessage(content="x", type="human") == HumanMessage("x")


def test_text_leaves_out_other_blocks():
    message = AIMessage(
        ["a", {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": "u"}}, {"type": "text"}]
    )
    assert message.text == "ab" and AIMessage("x").text == "x"


def test_case_040_null_content_is_empty():
    assert AIMessage(None).content == "" and AIMessage(content=None, tool_calls=[]).content == ""


@pytest.mark.parametrize("bad", [5, {"a": 1}, [5], [None], object()])
def test_other_content_is_refused(bad):
    with pytest.raises(ValueError, match="content"):
        HumanMessage(bad)


def test_a_pydantic_field_as_default_is_refused():
    with pytest.raises(TypeError, match="msgspec"):

        class Wrong(HumanMessage):
            mood: str = pydantic.Field(default="calm")


def test_users_subclass_messages():
    class Rated(HumanMessage, kw_only=True):
        stars: int = 3

    message = Rated("x", stars=5)
    assert message.model_dump()["stars"] == 5 and Rated(**message.model_dump()) == message


def test_deep_copies_share_nothing():
    message = AIMessage([{"type": "text", "text": "a"}], additional_kwargs={"k": [1]})
    twin = message.model_copy(deep=True)
    twin.content[0]["text"] = "b"
    twin.additional_kwargs["k"].append(2)
    assert message.content[0]["text"] == "a" and message.additional_kwargs == {"k": [1]}


def test_a_dump_shares_nothing():
    message = AIMessage("x", response_metadata={"a": [1]})
    message.model_dump()["response_metadata"]["a"].append(2)
    assert message.response_metadata == {"a": [1]}


def test_defaults_are_not_shared_between_messages():
    AIMessage("a").additional_kwargs["x"] = 1
    assert AIMessage("b").additional_kwargs == {}


def test_copy_with_changes():
    message = HumanMessage("a", id="1").model_copy(update={"content": "b", "mood": "calm"})
    assert message.content == "b" and message.id == "1" and message.model_extra == {"mood": "calm"}


def test_dump_options():
    message = AIMessage("x", id="1")
    assert message.model_dump(include={"content", "id"}) == {"content": "x", "id": "1"}
    assert "content" not in message.model_dump(exclude={"content"})
    assert message.model_dump(exclude_defaults=True) == {"content": "x", "id": "1"}
    assert None not in message.model_dump(exclude_none=True).values()
    assert msgspec.json.decode(message.model_dump_json()) == message.model_dump(mode="json")


def test_json_mode_turns_odd_values_into_json():
    import datetime

    data = AIMessage("x", additional_kwargs={"day": datetime.date(2026, 1, 2), "s": {1}}).model_dump(mode="json")
    assert data["additional_kwargs"] == {"day": "2026-01-02", "s": [1]}


def test_simple_chunks_add_up():
    total = HumanMessageChunk("a", id="1", additional_kwargs={"k": "x"}) + HumanMessageChunk(
        "b", additional_kwargs={"k": "y"}
    )
    assert total == HumanMessageChunk("ab", id="1", additional_kwargs={"k": "xy"})
    more = [SystemMessageChunk("b"), SystemMessageChunk("c")]
    assert (SystemMessageChunk("a") + more).content == "abc"


def test_chunks_of_different_kinds_do_not_add():
    with pytest.raises(TypeError):
        HumanMessageChunk("a") + HumanMessage("b")
    with pytest.raises(ValueError):
        ToolMessageChunk("a", tool_call_id="1") + ToolMessageChunk("b", tool_call_id="2")
    with pytest.raises(ValueError):
        ChatMessageChunk("a", role="x") + ChatMessageChunk("b", role="y")
    with pytest.raises(TypeError):
        AIMessageChunk("a") + "b"


def test_merge_content():
    assert merge_content("a", "b", ["c"]) == ["abc"]


def test_titles_are_eighty_wide():
    assert all(len(get_msg_title_repr(title)) == 80 for title in ("Human Message", "Ai Message"))


def test_pretty_repr_shows_calls():
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"city": "北京", "n": [1]}, "id": "c1"}], name="bot")
    text = message.pretty_repr()
    assert text.splitlines()[0].strip("= ") == "Ai Message"
    assert "Name: bot" in text and "f (c1)" in text and "city: 北京" in text and "n: [1]" in text
    assert HumanMessage("hi").pretty_repr().endswith("\n\nhi")


def test_message_printing(capsys):
    HumanMessage("hi").pretty_print()
    assert capsys.readouterr().out.endswith("hi\n")
