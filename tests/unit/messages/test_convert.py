import pytest

from clew.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessageChunk,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
    messages_from_dict,
    messages_to_dict,
)
from clew.prompt_values import ChatPromptValue

RAW = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(
    "given, message",
    [
        ("x", HumanMessage("x")),
        (("human", "x"), HumanMessage("x")),
        (["user", "x"], HumanMessage("x")),
        (("ai", "x"), AIMessage("x")),
        (("assistant", [{"type": "text", "text": "x"}]), AIMessage([{"type": "text", "text": "x"}])),
        (("system", "x"), SystemMessage("x")),
        (("developer", "x"), SystemMessage("x", additional_kwargs={"__openai_role__": "developer"})),
        ({"role": "user", "content": "x", "name": "n"}, HumanMessage("x", name="n")),
        ({"type": "human", "content": "x"}, HumanMessage("x")),
        ({"role": "tool", "content": "x", "tool_call_id": "1"}, ToolMessage("x", tool_call_id="1")),
        ({"role": "function", "content": "x", "name": "n"}, FunctionMessage("x", name="n")),
        ({"role": "user", "content": "x", "mood": "calm"}, HumanMessage("x", additional_kwargs={"mood": "calm"})),
        (("remove", "id1"), RemoveMessage(id="id1")),
        ({"type": "human", "data": {"content": "x", "example": False}}, HumanMessage("x")),
    ],
)
def test_message_likes(given, message):
    assert convert_to_messages([given]) == [message]


def test_messages_and_prompt_values_pass():
    messages = [HumanMessage("a")]
    assert convert_to_messages(messages)[0] is messages[0]
    assert convert_to_messages(ChatPromptValue(messages=messages)) == messages


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        ("x",),
        ("nobody", "x"),
        {"content": "x"},
        {"role": "user"},
        {"role": "tool", "content": "x"},
        object(),
        (1, 2),
    ],
)
def test_what_is_no_message_is_refused(bad):
    with pytest.raises((ValueError, NotImplementedError)):
        convert_to_messages([bad])


def test_openai_tool_calls_of_a_dict():
    (message,) = convert_to_messages([{"role": "assistant", "content": "", "tool_calls": [RAW]}])
    assert message.tool_calls == [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]


def test_case_040_null_content_with_a_call():
    (message,) = convert_to_messages([{"role": "assistant", "content": None, "tool_calls": [RAW]}])
    assert message.content == "" and len(message.tool_calls) == 1
    (message,) = convert_to_messages([{"role": "assistant", "tool_calls": [RAW]}])
    assert message.content == ""


@pytest.mark.parametrize("text", ["{bad", "[1]", '"x"', "null", '{"a": "C:\\Users"}'])
def test_case_046_malformed_arguments_stay_readable(text):
    raw = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    (message,) = convert_to_messages([{"role": "assistant", "content": "", "tool_calls": [raw]}])
    assert message.tool_calls == []
    assert [(c["name"], c["args"], c["id"]) for c in message.invalid_tool_calls] == [("f", text, "c1")]


@pytest.mark.parametrize(
    "raw", [{}, {"function": None}, {"function": {"name": None, "arguments": "{}"}}, {"function": {"name": "f"}}]
)
def test_case_046_odd_calls_never_raise(raw):
    (message,) = convert_to_messages(
        [{"role": "assistant", "content": "x", "tool_calls": [{"id": "c", **raw, "function": raw.get("function")}]}]
    )
    assert message.content == "x"


def test_dicts_and_back():
    messages = [
        AIMessage(
            "a",
            tool_calls=[{"name": "f", "args": {}, "id": "1", "extras": {"sig": "x"}}],
            usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        ),
        ToolMessage("t", tool_call_id="1", artifact={"x": 1}, status="error"),
        AIMessageChunk("c", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}], usage_mode="final"),
        HumanMessage("h", id="1", name="n"),
        RemoveMessage(id="1"),
    ]
    assert messages_from_dict(messages_to_dict(messages)) == messages


def test_case_077_odd_characters_survive_dicts():
    message = HumanMessage("a\x00b\ud800c", additional_kwargs={"k": "\x00\udfff"})
    assert messages_from_dict(messages_to_dict([message])) == [message]


def test_unknown_members_are_kept():
    (message,) = messages_from_dict([{"type": "ai", "data": {"content": "x", "from_the_future": 7, "example": True}}])
    assert message.model_extra == {"from_the_future": 7}
    assert message.model_dump()["from_the_future"] == 7
    assert messages_from_dict(messages_to_dict([message])) == [message]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"type": "ai"},
        {"type": "nobody", "data": {}},
        {"type": "ai", "data": {}},
        {"type": "tool", "data": {"content": "x"}},
    ],
)
def test_stored_nonsense_is_a_value_error(bad):
    with pytest.raises(ValueError):
        messages_from_dict([bad])


def test_chunks_become_messages():
    assert message_chunk_to_message(HumanMessageChunk("a", id="1")) == HumanMessage("a", id="1")
    assert message_chunk_to_message(ChatMessageChunk("a", role="r")).role == "r"
    whole = HumanMessage("a")
    assert message_chunk_to_message(whole) is whole


def test_case_043_opaque_provider_data_survives_dumps_byte_for_byte():
    from clew.load import dumps, loads

    signature = "c2lnbmF0dXJl/+8=\u0000"
    message = AIMessage(
        [{"type": "thinking", "thinking": "hmm", "signature": signature}],
        tool_calls=[{"name": "f", "args": {}, "id": "1", "extras": {"thought_signature": signature}}],
    )
    for back in (loads(dumps(message)), messages_from_dict(messages_to_dict([message]))[0]):
        assert back == message and back.tool_calls[0]["extras"]["thought_signature"] == signature
