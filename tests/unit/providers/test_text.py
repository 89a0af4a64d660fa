"""Text models over the completions wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded

from clew import errors
from clew.providers import _sse
from clew.providers._openai_text import OpenAI, Reader, decode
from clew.testing._canned import Canned, Reply, Request


def answer(request: Request) -> Reply:
    prompts = request.body["prompt"]
    prompts = prompts if isinstance(prompts, list) else [prompts]
    if request.body.get("stream"):
        events = [{"choices": [{"index": 0, "text": t, "finish_reason": None}]} for t in ("re:", prompts[0])]
        events.append({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
        data = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
        return Reply(data.encode(), kind="text/event-stream")
    choices = [{"index": i, "text": f"re:{p}", "finish_reason": "stop"} for i, p in enumerate(prompts)]
    return Reply(
        json.dumps({"id": "c", "model": "m", "choices": choices[::-1], "usage": {"prompt_tokens": 1}}).encode()
    )


def model(url: str, **options: Any) -> OpenAI:
    return OpenAI(base_url=url, api_key="k", **{"max_retries": 0, **options})


def test_text_comes_back_for_text(call: Any) -> None:
    with Canned([answer]) as server:
        assert call(model(server.url, temperature=0), "invoke", "q", stop=["\n"]) == "re:q"
        assert (
            list(call(model(server.url), "stream", "q")) and "".join(call(model(server.url), "stream", "q")) == "re:q"
        )
    body = server.requests[0].body
    assert (body["prompt"], body["stop"], body["temperature"]) in ((["q"], ["\n"], 0), ("q", ["\n"], 0))


def test_prompts_and_answers_stay_together(call: Any) -> None:
    with Canned([answer]) as server:
        result = call(model(server.url), "generate", ["a", "b", "c"])
    assert [g[0].text for g in result.generations] == ["re:a", "re:b", "re:c"]


def test_errors_and_retries_are_those_of_chat_models(call: Any) -> None:
    busy = Reply(b'{"error": {"message": "busy"}}', 429, headers={"Retry-After": "0.01"})
    with Canned([busy, answer]) as server:
        assert call(model(server.url, max_retries=1), "invoke", "q") == "re:q"
    with Canned([busy]) as server, pytest.raises(errors.ModelRateLimitError):
        call(model(server.url), "invoke", "q")
    part = Reply(b'data: {"choices": [{"index": 0, "text": "a", "finish_reason": null}]}\n\n', kind="text/event-stream")
    with Canned([part]) as server, pytest.raises(errors.ModelConnectionError):
        list(call(model(server.url), "stream", "q"))


@pytest.mark.parametrize("name", recorded.having(apis=("completions",)))
def test_recorded_texts_decode(name: str) -> None:
    ex = recorded.load(name)
    text = ex["response"]["body_text"]
    if recorded.is_stream(ex):
        reader = Reader()
        chunks = [c for _, data in _sse.events([text.encode()]) if (c := reader.read(data)) is not None]
        reader.check()
        wanted = "".join(e["choices"][0]["text"] or "" for e in recorded.plain_events(ex) if e["choices"])
        assert "".join(c.text for c in chunks) == wanted
        return
    body = json.loads(text)
    prompts = ex["request"]["body"]["prompt"] if isinstance(ex["request"]["body"], dict) else ""
    result = decode(body, len(prompts) if isinstance(prompts, list) and isinstance(prompts[0], str) else 1)
    found = [g.text for row in result.generations for g in row]
    assert found == [c["text"] for c in sorted(body["choices"], key=lambda c: c["index"])]
    assert result.llm_output is not None and result.llm_output["token_usage"] == body.get("usage")
