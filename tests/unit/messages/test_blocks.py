import copy

import pytest

from clew.messages import AIMessage, AIMessageChunk, HumanMessage
from clew.messages.content import (
    create_audio_block,
    create_citation,
    create_file_block,
    create_image_block,
    create_non_standard_block,
    create_plaintext_block,
    create_reasoning_block,
    create_text_block,
    create_video_block,
    is_data_content_block,
)

STANDARD = [
    create_text_block("a", annotations=[create_citation(url="u", title="t", cited_text="c")]),
    create_reasoning_block("r", signature="SIG/+=="),
    create_image_block(base64="AAAA", mime_type="image/png"),
    create_image_block(url="https://x/y.png"),
    create_audio_block(base64="AAAA", mime_type="audio/wav"),
    create_video_block(url="https://x/y.mp4"),
    create_file_block(file_id="f1"),
    create_plaintext_block("doc", title="t"),
    {"type": "refusal", "refusal": "no"},
    {"type": "server_tool_call", "id": "1", "name": "search", "args": {"q": "x"}},
    {"type": "server_tool_result", "tool_call_id": "1", "status": "success", "output": []},
    create_non_standard_block({"type": "odd"}),
]


@pytest.mark.parametrize("block", STANDARD, ids=lambda block: block["type"])
def test_standard_blocks_stay_as_they_are(block):
    assert AIMessage([copy.deepcopy(block)]).content_blocks == [block]


@pytest.mark.parametrize(
    "block, standard",
    [
        # OpenAI, chat completions
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            {"type": "image", "base64": "AAAA", "mime_type": "image/png", "extras": {"detail": "low"}},
        ),
        ({"type": "image_url", "image_url": "https://x/y.png"}, {"type": "image", "url": "https://x/y.png"}),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"},
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
        ),
        ({"type": "file", "file": {"file_id": "f1"}}, {"type": "file", "file_id": "f1"}),
        # OpenAI, responses
        (
            {
                "type": "output_text",
                "text": "x",
                "annotations": [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}],
            },
            {
                "type": "text",
                "text": "x",
                "annotations": [{"type": "citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}],
            },
        ),
        (
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
                "encrypted_content": "E",
            },
            {"type": "reasoning", "reasoning": "a\n\nb", "id": "rs_1", "extras": {"encrypted_content": "E"}},
        ),
        (
            {"type": "function_call", "name": "f", "arguments": '{"a": 1}', "call_id": "c1", "id": "fc_1"},
            {"type": "tool_call", "name": "f", "args": {"a": 1}, "id": "c1", "extras": {"item_id": "fc_1"}},
        ),
        ({"type": "input_image", "image_url": "https://x/y.png"}, {"type": "image", "url": "https://x/y.png"}),
        ({"type": "input_file", "file_url": "https://x/a.pdf"}, {"type": "file", "url": "https://x/a.pdf"}),
        # Anthropic
        (
            {"type": "thinking", "thinking": "hmm", "signature": "SIG/+=="},
            {"type": "reasoning", "reasoning": "hmm", "extras": {"signature": "SIG/+=="}},
        ),
        (
            {"type": "redacted_thinking", "data": "D"},
            {"type": "reasoning", "reasoning": "", "extras": {"redacted": True, "data": "D"}},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}, "title": "t"},
            {"type": "file", "url": "https://x/a.pdf", "extras": {"title": "t"}},
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
            {"type": "text-plain", "text": "words", "mime_type": "text/plain"},
        ),
        (
            {
                "type": "text",
                "text": "x",
                "citations": [{"type": "char_location", "cited_text": "c", "document_title": "d", "document_index": 0}],
            },
            {
                "type": "text",
                "text": "x",
                "annotations": [
                    {
                        "type": "citation",
                        "cited_text": "c",
                        "title": "d",
                        "extras": {"document_title": "d", "document_index": 0, "citation_type": "char_location"},
                    }
                ],
            },
        ),
        (
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            {"type": "tool_call", "name": "f", "args": {"a": 1}, "id": "1"},
        ),
        (
            {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "x"}},
            {"type": "server_tool_call", "id": "1", "name": "web_search", "args": {"query": "x"}},
        ),
        (
            {"type": "web_search_tool_result", "tool_use_id": "1", "content": [{"url": "u"}]},
            {
                "type": "server_tool_result",
                "tool_call_id": "1",
                "status": "success",
                "output": [{"url": "u"}],
                "extras": {"block_type": "web_search_tool_result"},
            },
        ),
        # Google
        (
            {"type": "media", "mime_type": "video/mp4", "file_uri": "gs://x"},
            {"type": "video", "mime_type": "video/mp4", "url": "gs://x"},
        ),
        (
            {"type": "media", "mime_type": "image/png", "data": b"\x00"},
            {"type": "image", "mime_type": "image/png", "base64": "AA=="},
        ),
        # version 0
        (
            {"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/png"},
            {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        ),
        ({"type": "file", "source_type": "id", "id": "f1"}, {"type": "file", "file_id": "f1"}),
        (
            {"type": "file", "source_type": "text", "text": "words", "metadata": {"title": "t"}},
            {"type": "text-plain", "text": "words", "extras": {"title": "t"}},
        ),
        # unknown
        (
            {"type": "holo", "data": 1, "index": 3},
            {"type": "non_standard", "value": {"type": "holo", "data": 1, "index": 3}, "index": 3},
        ),
    ],
)
def test_provider_blocks_get_their_standard_form(block, standard):
    before = copy.deepcopy(block)
    assert HumanMessage([block]).content_blocks == [standard]
    assert block == before


def test_strings_are_text():
    assert HumanMessage("x").content_blocks == [{"type": "text", "text": "x"}]
    assert HumanMessage("").content_blocks == []
    assert HumanMessage(["x"]).content_blocks == [{"type": "text", "text": "x"}]


def test_tool_calls_are_among_the_blocks():
    message = AIMessage("x", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    assert [block["type"] for block in message.content_blocks] == ["text", "tool_call"]
    message = AIMessage(
        [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
        tool_calls=[{"name": "f", "args": {"a": 2}, "id": "1"}],
    )
    assert message.content_blocks == [{"type": "tool_call", "name": "f", "args": {"a": 2}, "id": "1"}]


def test_a_chunk_shows_its_fragments():
    chunk = AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}])
    assert chunk.content_blocks == [{"type": "tool_call_chunk", "name": "f", "args": "{", "id": "1", "index": 0}]


def test_case_044_reasoning_beside_the_content_is_a_block():
    message = AIMessage("", additional_kwargs={"reasoning_content": "hmm"})
    assert message.content_blocks == [{"type": "reasoning", "reasoning": "hmm"}] and message.text == ""


def test_a_refusal_beside_the_content_is_a_block():
    assert AIMessage("", additional_kwargs={"refusal": "no"}).content_blocks == [{"type": "refusal", "refusal": "no"}]


def test_case_043_provider_data_of_a_call_is_in_its_block():
    call = {"name": "f", "args": {}, "id": "1", "extras": {"thought_signature": "c2ln/+8="}}
    assert AIMessage("", tool_calls=[call]).content_blocks[0]["extras"] == {"thought_signature": "c2ln/+8="}


def test_makers_check():
    for make in (create_image_block, create_audio_block, create_video_block, create_file_block):
        with pytest.raises(ValueError, match="needs url"):
            make()
    with pytest.raises(ValueError, match="mime_type"):
        create_image_block(base64="AAAA")


def test_is_data_content_block():
    assert is_data_content_block({"type": "image", "url": "u"}) and is_data_content_block(
        {"type": "file", "source_type": "id", "id": "1"}
    )
    assert not is_data_content_block({"type": "image", "source": {}}) and not is_data_content_block(
        {"type": "text", "text": "x"}
    )
