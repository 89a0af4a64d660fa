"""Every standard content block over every wire: sent in the wire's own form, or refused before the call."""

# ruff: noqa: E501 - tables of wire data, one case a line
from __future__ import annotations

from typing import Any

import pytest

from clew import errors
from clew.messages import AIMessage, HumanMessage
from clew.providers import _anthropic_messages, _google_genai, _ollama_chat, _openai_chat, _openai_responses

PNG = {"type": "image", "base64": "QUJD", "mime_type": "image/png"}
PDF = {"type": "file", "base64": "QUJD", "mime_type": "application/pdf", "filename": "a.pdf"}
WAV = {"type": "audio", "base64": "QUJD", "mime_type": "audio/wav"}
MP4 = {"type": "video", "base64": "QUJD", "mime_type": "video/mp4"}
URL = {"type": "image", "url": "https://x.test/a.png", "mime_type": "image/png"}
LINK = {"type": "file", "url": "https://x.test/a.pdf", "mime_type": "application/pdf"}
ID = {"type": "file", "file_id": "file-1", "mime_type": "application/pdf"}
TEXT = {"type": "text-plain", "text": "long", "mime_type": "text/plain", "title": "t"}


def chat(block: Any, quirks: Any = _openai_chat.PLAIN) -> Any:
    return _openai_chat.encode([HumanMessage([block])], {}, quirks)["messages"][0]["content"][0]


def responses(block: Any) -> Any:
    return _openai_responses.encode([HumanMessage([block])], {})["input"][0]["content"][0]


def anthropic(block: Any) -> Any:
    return _anthropic_messages.encode([HumanMessage([block])], {})["messages"][0]["content"][0]


def google(block: Any) -> Any:
    return _google_genai.encode([HumanMessage([block])], {})["contents"][0]["parts"][0]


def ollama(block: Any) -> Any:
    return _ollama_chat.encode([HumanMessage([block])], {})["messages"][0]


@pytest.mark.parametrize(("encode", "block", "wanted"), [
    (chat, PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
    (chat, {**URL, "extras": {"detail": "low"}}, {"type": "image_url", "image_url": {"url": URL["url"], "detail": "low"}}),
    (chat, WAV, {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
    (chat, PDF, {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}}),
    (chat, ID, {"type": "file", "file": {"file_id": "file-1"}}),
    (chat, TEXT, {"type": "text", "text": "long"}),
    (chat, {"type": "image_url", "image_url": {"url": "u"}}, {"type": "image_url", "image_url": {"url": "u"}}),
    (chat, {"type": "image", "source_type": "base64", "data": "QUJD", "mime_type": "image/png"},
     {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
    (responses, PNG, {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}),
    (responses, PDF, {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}),
    (responses, LINK, {"type": "input_file", "file_url": LINK["url"]}),
    (responses, ID, {"type": "input_file", "file_id": "file-1"}),
    (responses, {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}, {"type": "input_image", "image_url": "u", "detail": "low"}),
    (anthropic, PNG, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
    (anthropic, URL, {"type": "image", "source": {"type": "url", "url": URL["url"]}}),
    (anthropic, PDF, {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}}),
    (anthropic, ID, {"type": "document", "source": {"type": "file", "file_id": "file-1"}}),
    (anthropic, TEXT, {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "long"}, "title": "t"}),
    (anthropic, {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
     {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
    (anthropic, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
     {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
    (google, PNG, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
    (google, WAV, {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}}),
    (google, MP4, {"inlineData": {"mimeType": "video/mp4", "data": "QUJD"}}),
    (google, URL, {"fileData": {"fileUri": URL["url"], "mimeType": "image/png"}}),
    (google, LINK, {"fileData": {"fileUri": LINK["url"], "mimeType": "application/pdf"}}),
    (ollama, PNG, {"role": "user", "content": "", "images": ["QUJD"]}),
    (ollama, TEXT, {"role": "user", "content": "long"}),
])  # fmt: skip
def test_blocks_take_the_wires_form(encode: Any, block: Any, wanted: Any) -> None:
    assert encode(block) == wanted


@pytest.mark.parametrize(("encode", "block"), [
    (chat, LINK), (chat, MP4), (chat, {"type": "audio", "url": "u"}), (chat, {"type": "image", "base64": "QUJD"}),
    (responses, MP4), (responses, {"type": "audio", "url": "u"}), (anthropic, WAV), (anthropic, MP4),
    (google, {"type": "image", "base64": "QUJD"}), (ollama, URL), (ollama, PDF), (ollama, WAV),
    *((encode, {"type": "hologram", "base64": "QUJD"}) for encode in (chat, responses, anthropic, google, ollama)),
])  # fmt: skip
def test_what_a_wire_can_not_carry_is_refused_before_the_call(encode: Any, block: Any) -> None:
    with pytest.raises(errors.ModelInvalidRequestError, match="can't carry"):
        encode(block)


def test_a_service_that_sees_videos_gets_them() -> None:
    quirks = _openai_chat.Quirks(video=True)
    assert chat(MP4, quirks) == {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,QUJD"}}


ROUND_TRIPS: dict[str, tuple[Any, Any, list[Any]]] = {
    "anthropic": (
        lambda content: _anthropic_messages.decode({"content": content, "usage": {}})[0],
        lambda message: _anthropic_messages.encode([message], {})["messages"][0]["content"],
        [
            {"type": "thinking", "thinking": "hm", "signature": "S="},
            {"type": "redacted_thinking", "data": "R="},
            {"type": "text", "text": "see", "citations": [{"type": "char_location", "cited_text": "c", "document_index": 0}]},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            {"type": "text", "text": "after the call"},
            {"type": "compaction", "content": "short"},
            {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
        ],
    ),
    "google": (
        lambda parts: _google_genai.decode({"candidates": [{"content": {"parts": parts}}]})[0],
        lambda message: _google_genai.encode([message], {})["contents"][0]["parts"],
        [
            {"text": "hm", "thought": True, "thoughtSignature": "S="},
            {"text": "see", "thoughtSignature": "T="},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "U="},
            {"text": "after"},
            {"functionCall": {"name": "g", "args": {}, "id": "c2"}},
        ],
    ),
    "responses": (
        lambda items: _openai_responses.decode({"output": items})[0],
        lambda message: _openai_responses.encode([message], {})["input"],
        [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "E="},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "see", "annotations": [
                    {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 3}]}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "C="},
            {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("wire", list(ROUND_TRIPS))
def test_an_answer_goes_back_as_it_came_in_its_order(wire: str) -> None:
    decode, encode, said = ROUND_TRIPS[wire]
    message: AIMessage = decode(said)
    assert encode(message) == said
    kinds = [b["type"] for b in message.content_blocks]
    assert "reasoning" in kinds and "text" in kinds and len(message.tool_calls) == 2


def test_standard_blocks_are_what_all_wires_decode_to() -> None:
    citation = ROUND_TRIPS["responses"][0](ROUND_TRIPS["responses"][2]).content_blocks
    (text,) = [b for b in citation if b["type"] == "text"]
    assert text["annotations"][0]["type"] == "citation" and text["annotations"][0]["url"] == "u"
    assert any(b["type"] == "server_tool_call" and b["name"] == "web_search" for b in citation)


def test_reasoning_of_another_provider_is_left_out() -> None:
    message = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "see"}])
    assert _openai_chat.encode_message(message)["content"] == "see"
    assert _anthropic_messages.encode([message], {})["messages"][0]["content"] == [{"type": "text", "text": "see"}]
    assert _google_genai.encode([message], {})["contents"][0]["parts"] == [{"text": "see"}]
    assert _openai_responses.encode_message(message)[0]["content"][0]["text"] == "see"
    assert _ollama_chat.encode([message], {})["messages"][0]["thinking"] == "hm"


def test_services_that_want_reasoning_back_get_it() -> None:
    message = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "see"}])
    quirks = _openai_chat.Quirks(reasoning="reasoning_content")
    assert _openai_chat.encode_message(message, quirks)["reasoning_content"] == "hm"
