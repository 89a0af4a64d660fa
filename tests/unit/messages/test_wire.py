import datetime

import pytest

from clew.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from clew.messages._wire import (
    decode_message,
    decode_messages,
    encode_message,
    encode_messages,
    from_fields,
    is_plain,
    to_fields,
)

PLAIN = [
    HumanMessage("a\x00b", id="1", name="n", model_extra={"k": 1}),
    SystemMessage([{"type": "text", "text": "x"}, "y"]),
    AIMessage(
        "a",
        tool_calls=[{"name": "f", "args": {"n": [1, None, 1.5, True]}, "id": "1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    ),
    AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "1", "error": "e"}], response_metadata={"m": "x"}
    ),
    ToolMessage("t", tool_call_id="1", artifact={"rows": [b"x"]}, status="error"),
    ChatMessage("c", role="r"),
    FunctionMessage("f", name="n"),
    RemoveMessage(id="1"),
    AIMessageChunk(
        "c",
        tool_call_chunks=[{"name": "f", "args": "{}", "id": "1", "index": 0}],
        usage_mode="final",
        chunk_position="last",
    ),
    AIMessageChunk("a") + AIMessageChunk("b"),
]
ODD = [
    HumanMessage("x", additional_kwargs={"day": datetime.date(2026, 1, 2)}),
    ToolMessage("x", tool_call_id="1", artifact=(1, 2)),
    ToolMessage("x", tool_call_id="1", artifact=()),
    AIMessage("x", response_metadata={1: 2}),
    AIMessage("", tool_calls=[{"name": "f", "args": {"s": {1}}, "id": "1"}]),
    ToolMessage("x", tool_call_id="1", artifact=HumanMessage("inner")),
]


@pytest.mark.parametrize("message", PLAIN, ids=lambda m: type(m).__name__)
def test_plain_messages_come_back_from_bytes(message):
    assert is_plain(message)
    back = decode_message(encode_message(message))
    assert back == message and type(back) is type(message)


def test_lists_of_messages():
    assert decode_messages(encode_messages(PLAIN)) == PLAIN
    assert decode_messages(encode_messages([])) == []


@pytest.mark.parametrize("message", ODD, ids=range(len(ODD)))
def test_what_bytes_would_change_is_not_plain(message):
    assert not is_plain(message)


@pytest.mark.parametrize("message", PLAIN + ODD, ids=range(len(PLAIN + ODD)))
def test_fields_and_back(message):
    assert from_fields(to_fields(message)) == message


def test_only_what_differs_from_the_default_is_written():
    assert to_fields(HumanMessage("x")) == {"_": "human", "content": "x"}


@pytest.mark.parametrize(
    "message, error",
    [
        (AIMessage("x", response_metadata={"big": 2**70}), OverflowError),
        (HumanMessage("a\ud800b"), UnicodeEncodeError),
        (HumanMessage("x", additional_kwargs={"k": ["\udfff"]}), UnicodeEncodeError),
    ],
)
def test_what_msgpack_lacks_is_an_error_and_never_another_value(message, error):
    with pytest.raises(error):
        encode_message(message)
    assert from_fields(to_fields(message)) == message


def test_users_subclasses_are_not_plain():
    class Mine(HumanMessage):
        pass

    assert not is_plain(Mine("x")) and to_fields(Mine("x"))["_"] == "human"


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xc1", b"\x81\xa1_\xa4evil"])
def test_other_bytes_are_value_errors(data):
    with pytest.raises(ValueError):
        decode_message(data)
    with pytest.raises(ValueError):
        from_fields({"_": "evil"})


def test_fields_of_a_newer_release_are_kept():
    assert from_fields({"_": "human", "content": "x", "new": 1}).model_extra == {"new": 1}
