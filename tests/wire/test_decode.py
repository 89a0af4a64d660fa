"""Every recorded answer decodes with nothing lost, whole and streamed, however its bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded

from clew import errors
from clew.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.providers import (
    _anthropic_messages,
    _blocks,
    _errors,
    _google_genai,
    _ollama_chat,
    _openai_chat,
    _openai_responses,
    _sse,
)
from clew.providers._ollama_client import lines

WIRES: dict[str, Any] = {
    "chat_completions": _openai_chat, "responses": _openai_responses, "messages": _anthropic_messages,
    "generate_content": _google_genai, "generate_content_stream": _google_genai, "ollama_chat": _ollama_chat,
}  # fmt: skip

NO_ANSWER = {
    "messages is required": errors.ModelInvalidRequestError,
    "tool_use_failed": errors.ModelInvalidRequestError,
    "blockReason": errors.ModelContentFilterError,
}
"""Replies with status 200 that are errors all the same: a text in the body -> the error's class."""


def no_answer(ex: recorded.Exchange) -> type[Exception] | None:
    if (
        "error_in_stream" in ex["tags"]
        or "safety_block" in ex["tags"]
        or "messages is required" in ex["response"]["body_text"]
    ):
        return next(cls for text, cls in NO_ANSWER.items() if text in ex["response"]["body_text"])
    return None


def decode_stream(ex: recorded.Exchange, size: int = 0) -> tuple[AIMessageChunk, list[AIMessageChunk]]:
    """Decode a streamed body that arrives in pieces of `size` bytes (0: at once)."""
    wire, into = WIRES[ex["api"]], _blocks.StreamState()
    data = ex["response"]["body_text"].encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)] if size else [data]
    found = lines(pieces) if ex["api"] == "ollama_chat" else (d for _, d in _sse.events(pieces))
    chunks: list[AIMessageChunk] = []
    for line in found:
        if line == b"[DONE]":
            into.finished = True
        elif (chunk := wire.decode_event(json.loads(line), into)) is not None:
            chunks.append(chunk)
    assert into.finished
    chunks.append(wire.finish(into))
    return add_ai_message_chunks(*chunks), chunks


def check(message: AIMessage, ex: recorded.Exchange) -> None:
    """The message says what the exchange says."""
    said = recorded.said(ex)
    assert message.text == said["text"]
    thoughts = [b for b in message.content_blocks if b["type"] == "reasoning"]
    assert "".join(b.get("reasoning", "") for b in thoughts) == said["reasoning"]
    calls = [(c["name"], c["args"]) for c in message.tool_calls]
    calls += [(c["name"], c["args"]) for c in message.invalid_tool_calls]
    assert sorted(map(str, calls)) == sorted(str((n, _arguments(a))) for n, a in said["calls"])
    if said["finish"] is not None:
        assert (message.response_metadata.get("finish_reason") or "") == said["finish"]
    usage = message.usage_metadata
    if said["usage"]:
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"]) == said["usage"]


def _arguments(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


@pytest.mark.parametrize("name", recorded.having(stream=False))
def test_whole_answers_decode(name: str) -> None:
    ex = recorded.load(name)
    body = json.loads(ex["response"]["body_text"])
    if cls := no_answer(ex):
        with pytest.raises(cls):
            WIRES[ex["api"]].decode(body)
        return
    messages = WIRES[ex["api"]].decode(body)
    check(messages[0], ex)
    for key in ("choices", "candidates"):
        if isinstance(body, dict) and key in body:
            assert len(messages) == len(body[key])


DROPPED = {
    "object", "type", "role", "index", "status", "background", "tools", "tool_choice", "instructions", "text", "prompt",
    "parallel_tool_calls", "store", "truncation", "temperature", "top_p", "top_logprobs", "max_output_tokens", "user",
    "presence_penalty", "frequency_penalty", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning",  # noqa: E501 - wire data
    "billing", "payer", "toolType", "safety_identifier", "completed_at", "done", "closed", "function_call", "token_ids",
    "moderation",
}  # fmt: skip
"""Members whose values are the wire's grammar or repeat the request; all others must be found in the message."""


def facts(value: Any, key: str = "") -> list[Any]:
    """Return the scalars of a body that carry information."""
    if isinstance(value, dict):
        return [f for k, v in value.items() if k not in DROPPED or (k == "text" and isinstance(v, str)) or (
            k == "reasoning" and isinstance(v, str)) for f in facts(v, k)]  # fmt: skip
    if isinstance(value, list):
        return [f for v in value for f in facts(v, key)]
    if value in (None, "", 0, False, True) or (key == "arguments" and isinstance(value, str)):
        return []
    return [value]


@pytest.mark.parametrize("name", recorded.having(stream=False))
def test_nothing_of_an_answer_is_lost(name: str) -> None:
    ex = recorded.load(name)
    if no_answer(ex):
        pytest.skip("the reply is an error; test_whole_answers_decode has its class")
    body = json.loads(ex["response"]["body_text"])
    kept = {repr(f) for m in WIRES[ex["api"]].decode(body) for f in _leaves(m.model_dump())}
    joined = " ".join(kept)
    if isinstance(body, list):  # the events of a stream as one list: usage is a running total
        body = [*({k: v for k, v in event.items() if k != "usageMetadata"} for event in body[:-1]), body[-1]]
    missing = [f for f in facts(body) if repr(f) not in kept and repr(f).strip("'\"") not in joined]
    assert not missing


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [f for v in value.values() for f in _leaves(v)]
    if isinstance(value, list | tuple):
        return [f for v in value for f in _leaves(v)]
    return [value]


@pytest.mark.parametrize("name", recorded.having(stream=True))
def test_streams_decode_and_their_sum_is_the_answer(name: str) -> None:
    ex = recorded.load(name)
    if cls := no_answer(ex):
        with pytest.raises(cls):
            decode_stream(ex)
        return
    total, chunks = decode_stream(ex)
    message = message_chunk_to_message(total)
    assert isinstance(message, AIMessage)
    check(message, ex)
    assert chunks[-1].chunk_position == "last"
    one_by_one = chunks[0]
    for chunk in chunks[1:]:
        one_by_one = one_by_one + chunk
    assert one_by_one == total


def canonical(message: AIMessage) -> Any:
    """A message up to how its text was cut into blocks, and ids that had to be made up."""
    blocks: list[Any] = []
    for block in _blocks.blocks_of(message.content):
        block = {k: v for k, v in block.items() if k not in ("index", "id")}
        if block["type"] == "tool_call":
            continue
        if blocks and block["type"] == "text" == blocks[-1]["type"] and not block.keys() & {"extras"}:
            blocks[-1] = {**blocks[-1], **block, "text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append(block)
    calls = [(c["name"], c["args"], c.get("extras")) for c in message.tool_calls]
    return blocks, calls, message.usage_metadata


@pytest.mark.parametrize("name", recorded.having(stream=True, apis=("messages", "responses", "ollama_chat")))
def test_a_stream_gives_what_the_whole_answer_gives(name: str) -> None:
    """Where the events hold the whole answer too, decoding that gives the same message."""
    ex = recorded.load(name)
    if no_answer(ex):
        pytest.skip("the stream is an error")
    message = message_chunk_to_message(decode_stream(ex)[0])
    assert isinstance(message, AIMessage)
    (whole,) = WIRES[ex["api"]].decode(_whole_body(ex))
    assert canonical(message) == canonical(whole)


def _whole_body(ex: recorded.Exchange) -> Any:
    events = recorded.plain_events(ex)
    if ex["api"] == "responses":
        final = events[-1]["response"]
        return {**final, "output": [e["item"] for e in events if e["type"] == "response.output_item.done"]}
    if ex["api"] == "ollama_chat":
        out: dict[str, Any] = {**events[-1], "message": {"role": "assistant"}}
        for key in ("content", "thinking"):
            out["message"][key] = "".join(e["message"].get(key) or "" for e in events)
        out["message"]["tool_calls"] = [c for e in events for c in e["message"].get("tool_calls") or ()]
        return out
    return recorded.anthropic_body(events)


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("name", recorded.having(stream=True)[::4])
def test_streams_may_be_cut_anywhere(name: str, size: int) -> None:
    ex = recorded.load(name)
    if no_answer(ex):
        pytest.skip("the stream is an error")
    assert canonical(decode_stream(ex, size)[0]) == canonical(decode_stream(ex)[0])


# -- errors

SPECIAL = {
    "prompt is too long": "ContextOverflowError",
    "prompt too long": "ContextOverflowError",
    "maximum context length": "ContextOverflowError",
    "total length of all messages is too long": "ContextOverflowError",
    "exceeds the maximum number of tokens": "ContextOverflowError",
    "model_not_found": "ModelNotFoundError",
    "Incorrect API key": "ModelAuthenticationError",
}
BY_STATUS = {
    400: "ModelInvalidRequestError", 401: "ModelAuthenticationError", 403: "ModelPermissionDeniedError",
    404: "ModelNotFoundError", 429: "ModelRateLimitError",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in recorded.names() if recorded.load(n)["response"]["status"] >= 400])
def test_error_replies_have_their_class(name: str) -> None:
    ex = recorded.load(name)
    reply = ex["response"]
    error = _errors.from_reply(ex["provider"], reply["status"], reply["body_text"], reply["headers"])
    wanted = next((cls for text, cls in SPECIAL.items() if text in reply["body_text"]), BY_STATUS[reply["status"]])
    assert type(error).__name__ == wanted
    assert error.status_code == reply["status"] and error.provider == ex["provider"]
    assert error.is_retryable == (wanted == "ModelRateLimitError")
    said = json.loads(reply["body_text"])
    said = said[0] if isinstance(said, list) else said
    inner = said.get("error", said)
    text = inner if isinstance(inner, str) else inner.get("message") or inner.get("detail")
    assert text in str(error)


def test_google_says_how_long_to_wait_in_the_body() -> None:
    body = {"error": {"code": 429, "message": "You exceeded your current quota", "details": [{"retryDelay": "48s"}]}}
    error = _errors.from_reply("google", 429, json.dumps(body))
    assert isinstance(error, errors.ModelRateLimitError) and error.retry_after == 48.0 and error.is_retryable
