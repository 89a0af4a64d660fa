import json

import pytest

from clew.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from clew.messages import convert_to_openai_data_block as data_block


def test_roles_and_text():
    messages = [
        SystemMessage("s"),
        HumanMessage("h", name="n"),
        AIMessage("a"),
        ToolMessage("t", tool_call_id="1"),
        ChatMessage("c", role="critic"),
    ]
    assert convert_to_openai_messages(messages) == [
        {"role": "system", "content": "s"},
        {"role": "user", "name": "n", "content": "h"},
        {"role": "assistant", "content": "a"},
        {"role": "tool", "tool_call_id": "1", "content": "t"},
        {"role": "critic", "content": "c"},
    ]
    assert convert_to_openai_messages([("developer", "x")])[0]["role"] == "developer"


def test_one_message_gives_one_dict():
    assert convert_to_openai_messages(HumanMessage("h", id="1"), include_id=True) == {
        "role": "user",
        "id": "1",
        "content": "h",
    }
    assert convert_to_openai_messages("h") == {"role": "user", "content": "h"}


def test_calls_come_back_as_they_were():
    message = AIMessage(
        "",
        tool_calls=[{"name": "f", "args": {"a": "中"}, "id": "1"}],
        invalid_tool_calls=[{"name": "g", "args": "{bad", "id": "2", "error": None}],
    )
    calls = convert_to_openai_messages(message)["tool_calls"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"a": "中"} and "中" in calls[0]["function"]["arguments"]
    assert calls[1] == {"type": "function", "id": "2", "function": {"name": "g", "arguments": "{bad"}}


def test_text_formats():
    blocks = HumanMessage([{"type": "text", "text": "a"}, "b"])
    assert convert_to_openai_messages(blocks)["content"] == "a\nb"
    assert convert_to_openai_messages(blocks, text_format="block")["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    assert convert_to_openai_messages(HumanMessage("x"), text_format="block")["content"] == [
        {"type": "text", "text": "x"}
    ]
    with pytest.raises(ValueError):
        convert_to_openai_messages(blocks, text_format="html")


@pytest.mark.parametrize(
    "block, expected",
    [
        ({"type": "image", "url": "https://x"}, {"type": "image_url", "image_url": {"url": "https://x"}}),
        (
            {"type": "image", "base64": "AAAA", "mime_type": "image/png", "extras": {"detail": "low"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        ),
        (
            {"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ),
        (
            {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        ),
        (
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
        ),
        ({"type": "file", "file_id": "f1"}, {"type": "file", "file": {"file_id": "f1"}}),
    ],
)
def test_data_blocks(block, expected):
    assert data_block(block) == expected
    assert convert_to_openai_messages(HumanMessage([block, "x"]))["content"][0] == expected


def test_data_blocks_of_the_responses_api():
    assert data_block({"type": "image", "url": "u"}, api="responses") == {"type": "input_image", "image_url": "u"}
    assert data_block({"type": "file", "url": "u"}, api="responses") == {"type": "input_file", "file_url": "u"}
    assert data_block({"type": "file", "file_id": "f"}, api="responses") == {"type": "input_file", "file_id": "f"}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image"},
        {"type": "image", "base64": "AAAA"},
        {"type": "audio", "url": "u"},
        {"type": "file", "url": "u"},
        {"type": "video", "url": "u"},
        {"type": "file"},
    ],
)
def test_what_openai_can_not_carry_is_an_error(block):
    with pytest.raises(ValueError):
        data_block(block)


def test_reasoning_does_not_go_to_chat_completions():
    message = AIMessage([{"type": "reasoning", "reasoning": "r"}, {"type": "text", "text": "a"}])
    assert convert_to_openai_messages(message)["content"] == "a"


def test_unknown_blocks():
    message = HumanMessage([{"type": "holo", "x": 1}])
    assert convert_to_openai_messages(message)["content"] == [{"type": "holo", "x": 1}]
    with pytest.raises(ValueError, match="holo"):
        convert_to_openai_messages(message, pass_through_unknown_blocks=False)
    with pytest.raises(ValueError):
        convert_to_openai_messages(RemoveMessage(id="1"))
