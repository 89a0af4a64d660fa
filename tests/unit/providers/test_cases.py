"""What other systems get wrong on the wire, and the right outcome."""

# ruff: noqa: E501 - tables of wire data, one case a line
from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from clew import errors
from clew.load import dumps, loads
from clew.messages import AIMessage, HumanMessage, ToolMessage, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.providers.anthropic import ChatAnthropic
from clew.providers.google import ChatGoogleGenerativeAI
from clew.providers.openai import ChatOpenAI
from clew.testing._canned import Canned, Reply

BASE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def event(delta: Any, reason: str | None = None, **more: Any) -> Any:
    return {**BASE, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def sse(events: list[Any], **reply: Any) -> Reply:
    data = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
    return Reply(data.encode(), kind="text/event-stream", **reply)


def openai(reply: Any, **options: Any) -> AIMessage:
    """The sum of a streamed answer."""
    with Canned([reply]) as server:
        chunks = list(ChatOpenAI(base_url=server.url, api_key="k", max_retries=0, **options).stream("q"))
    message = message_chunk_to_message(add_ai_message_chunks(*chunks))
    assert isinstance(message, AIMessage)
    return message


def use(given: int, made: int) -> Any:
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def test_case_001_usage_on_every_event_is_a_running_total() -> None:
    events = [event({"content": t}, usage=use(713, i)) for i, t in enumerate("abc")]
    usage = openai(sse([*events, event({}, "stop", usage=use(713, 3))])).usage_metadata
    assert usage is not None and (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (713, 3, 716)


def test_case_002_usage_on_the_last_text_and_again_at_the_end_counts_once() -> None:
    closing = {**BASE, "choices": [], "usage": use(11, 5)}
    message = openai(sse([event({"content": "a"}, usage=use(11, 5)), event({}, "stop"), closing]))
    assert message.usage_metadata is not None and message.usage_metadata["total_tokens"] == 16


@pytest.mark.parametrize("filler", [None, "", "null", "call_x"])
def test_case_007_placeholder_ids_do_not_split_a_call(filler: str | None) -> None:
    head = {"index": 0, "id": "call_x", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}
    rest = {"index": 0, "id": filler, "function": {"name": None, "arguments": "1}"}}
    message = openai(sse([event({"tool_calls": [head]}), event({"tool_calls": [rest]}), event({}, "tool_calls")]))
    assert [(c["name"], c["args"], c["id"]) for c in message.tool_calls] == [("f", {"a": 1}, "call_x")]


def test_case_008_a_call_that_was_cut_is_reported_as_invalid() -> None:
    head = {"index": 0, "id": "x", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 10'}}
    message = openai(sse([event({"tool_calls": [head]}), event({}, "length")]))
    assert message.tool_calls == [] and [c["args"] for c in message.invalid_tool_calls] == ['{"amount": 10']


def test_case_032_closing_an_async_stream_closes_the_providers_before_aclose_returns() -> None:
    reply = sse([event({"content": "x" * 200}) for _ in range(300)], size=250, pace=0.01)

    async def leave(url: str) -> None:
        stream = ChatOpenAI(base_url=url, api_key="k").astream("q")
        async for _ in stream:
            break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue] - an async generator

    with Canned([reply]) as server:
        asyncio.run(leave(server.url))
        assert server.dropped.wait(10)


def test_case_035_a_refusal_is_a_typed_error_of_structured_output() -> None:
    said = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    body = {**BASE, "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
    with Canned([Reply(json.dumps(body).encode())]) as server:
        model = ChatOpenAI(base_url=server.url, api_key="k")
        assert [b["type"] for b in model.invoke("q").content_blocks] == ["refusal"]
        with pytest.raises(errors.ModelRefusalError, match="I can't help"):
            model.with_structured_output({"title": "T", "type": "object", "properties": {}}).invoke("q")


def test_case_041_reasoning_and_text_do_not_melt_together() -> None:
    events = [
        event({"reasoning_content": "let me "}),
        event({"reasoning_content": "see"}),
        event({"content": "4"}),
        event({"content": "2"}, "stop"),
    ]
    message = openai(sse(events))
    assert message.text == "42"
    assert [(b["type"], b.get("reasoning") or b.get("text")) for b in message.content_blocks] == [
        ("reasoning", "let me see"),
        ("text", "42"),
    ]


def test_case_043_a_thought_signature_goes_back_byte_for_byte() -> None:
    part = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2lnbmF0dXJl/+8="}
    body = {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "hm", "thought": True}, part]}, "finishReason": "STOP"}
        ]
    }
    with Canned([Reply(json.dumps(body).encode())]) as server:
        model = ChatGoogleGenerativeAI(model="m", base_url=server.url, api_key="k")
        first = loads(dumps(model.invoke("q")), allowed_objects="messages")
        model.invoke([HumanMessage("q"), first, ToolMessage("42", tool_call_id=first.tool_calls[0]["id"], name="f")])
    sent = server.requests[1].body["contents"][1]["parts"]
    assert sent[-1] == part and sent[0] == {"text": "hm", "thought": True}


def test_case_043_a_thinking_signature_survives_a_stream_and_a_store() -> None:
    blocks = [
        ({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "thinking_delta", "thinking": "hmm"}, {"type": "signature_delta", "signature": "SIG/+=="}]),
        ({"type": "redacted_thinking", "data": "RED/+=="}, []),
        ({"type": "tool_use", "id": "c1", "name": "f", "input": {}}, [{"type": "input_json_delta", "partial_json": '{"a": 1}'}]),
    ]  # fmt: skip
    usage = {"input_tokens": 1, "output_tokens": 1}
    events: list[Any] = [{"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "usage": usage}}]
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage},
        {"type": "message_stop"},
    ]
    whole = {
        "id": "m",
        "model": "c",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    with Canned([sse(events), Reply(json.dumps(whole).encode())]) as server:
        model = ChatAnthropic(model="c", base_url=server.url, api_key="k")
        first = message_chunk_to_message(add_ai_message_chunks(*model.stream("q")))
        first = loads(dumps(first), allowed_objects="messages")
        model.invoke([HumanMessage("q"), first, ToolMessage("42", tool_call_id="c1")])
    assert server.requests[1].body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hmm", "signature": "SIG/+=="},
        {"type": "redacted_thinking", "data": "RED/+=="},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    ]


@pytest.mark.parametrize("streamed", [True, False])
def test_case_044_an_answer_that_is_all_reasoning_says_so(streamed: bool) -> None:
    if streamed:
        message = openai(sse([event({"reasoning_content": "Let me think"}), event({}, "length")]))
    else:
        said = {"role": "assistant", "content": None, "reasoning_content": "Let me think"}
        body = {**BASE, "choices": [{"index": 0, "message": said, "finish_reason": "length"}]}
        with Canned([Reply(json.dumps(body).encode())]) as server:
            message = ChatOpenAI(base_url=server.url, api_key="k").invoke("q")
    assert message.text == "" and [b["reasoning"] for b in message.content_blocks] == ["Let me think"]
    assert message.response_metadata["no_final_text"] is True and message.response_metadata["finish_reason"] == "length"


def test_case_046_malformed_arguments_go_back_as_they_came() -> None:
    bad: Any = {"name": "f", "args": "{bad", "id": "c1", "error": "no JSON", "type": "invalid_tool_call"}
    body = {
        **BASE,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    }
    with Canned([Reply(json.dumps(body).encode())]) as server:
        history = [
            HumanMessage("q"),
            AIMessage("", invalid_tool_calls=[bad]),
            ToolMessage("no JSON", tool_call_id="c1"),
        ]
        ChatOpenAI(base_url=server.url, api_key="k").invoke(history)
    assert server.requests[0].body["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{bad"
