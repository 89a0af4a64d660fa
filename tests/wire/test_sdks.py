"""Recorded streams through the real SDKs: cut into any pieces, after failures, and broken at every event."""

from __future__ import annotations

import os
import pathlib
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import recorded
import replay
import servers

from clew import errors
from clew.messages import AIMessage, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.providers.anthropic import ChatAnthropic
from clew.providers.google import ChatGoogleGenerativeAI
from clew.providers.ollama import ChatOllama
from clew.providers.openai import ChatOpenAI

MAKERS: dict[str, Callable[..., Any]] = {
    "chat_completions": lambda base, **kw: ChatOpenAI(base_url=base + "/v1", api_key="x", **kw),
    "responses": lambda base, **kw: ChatOpenAI(base_url=base + "/v1", api_key="x", use_responses_api=True, **kw),
    "messages": lambda base, **kw: ChatAnthropic(model="m", base_url=base, api_key="x", **kw),
    "generate_content": lambda base, **kw: ChatGoogleGenerativeAI(model="m", base_url=base, api_key="x", **kw),
    "ollama_chat": lambda base, **kw: ChatOllama(model="m", base_url=base, **kw),
}


def one_of_each(*, stream: bool, rich: int = 1) -> list[str]:
    """The smallest good exchange of each API, and `rich` more with calls or reasoning."""
    out: list[str] = []
    for api in MAKERS:
        found = recorded.having(apis=(api, api + "_stream"), stream=stream)
        found = [n for n in found if not _is_error(recorded.load(n))]
        found.sort(key=lambda n: len(recorded.load(n)["response"]["body_text"]))
        found = [n for n in found if len(recorded.load(n)["response"]["body_text"]) < 9000]
        more = [n for n in found if {"tool_calls", "reasoning"} & set(recorded.load(n)["tags"])]
        out += dict.fromkeys([*found[:1], *more[:rich]])
    return out


def _is_error(ex: recorded.Exchange) -> bool:
    text = ex["response"]["body_text"].replace(" ", "")
    return '"error":{' in text or "blockReason" in text


@pytest.fixture(scope="module", params=["own", "shared"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of a replay server: this project's, or the shared folder's."""
    if request.param == "own":
        with replay.serving() as url:
            yield url
        return
    script = pathlib.Path(os.environ.get("CLEW_SHARED", "/nowhere"), "replay_server.py")
    if not script.exists():
        pytest.skip("needs: CLEW_SHARED=<folder of replay_server.py>")
    port = servers.free_port()
    with servers.server([sys.executable, script, "--port", str(port)], lambda: servers.listening(port)):
        yield f"http://127.0.0.1:{port}"


def model_for(address: str, name: str, faults: str = "", **kw: Any) -> Any:
    ex = recorded.load(name)
    prefix = f"/~{faults};id={uuid.uuid4().hex}" if faults else ""
    return MAKERS[ex["api"].removesuffix("_stream")](f"{address}{prefix}/case/{name}", **kw)


def total(chunks: list[Any]) -> AIMessage:
    message = message_chunk_to_message(add_ai_message_chunks(*chunks))
    assert isinstance(message, AIMessage)
    return message


def agrees(message: AIMessage, name: str) -> None:
    said = recorded.said(recorded.load(name))
    assert message.text == said["text"]
    assert len(message.tool_calls) + len(message.invalid_tool_calls) == len(said["calls"])
    assert (
        message.usage_metadata is None
        or said["usage"] is None
        or message.usage_metadata["input_tokens"] == said["usage"][0]
    )


@pytest.mark.parametrize("size", [1, 3, 7, 65536])
@pytest.mark.parametrize("name", one_of_each(stream=True))
def test_bodies_split_anywhere(address: str, name: str, size: int, call: Any) -> None:
    model = model_for(address, name, f"split=bytes:{size}", max_retries=0)
    agrees(total(list(call(model, "stream", "x"))), name)


@pytest.mark.parametrize(
    "faults", ["fail=429,500;retry_after=0.01", "fail=529;retry_after=0.01", "fail=503,429;retry_after=0.01"]
)
@pytest.mark.parametrize("name", one_of_each(stream=True, rich=0) + one_of_each(stream=False, rich=0))
def test_failures_then_the_answer(address: str, name: str, faults: str, call: Any) -> None:
    model = model_for(address, name, faults, max_retries=2)
    if recorded.is_stream(recorded.load(name)):
        agrees(total(list(call(model, "stream", "x"))), name)
    else:
        agrees(call(model, "invoke", "x"), name)


@pytest.mark.parametrize("name", one_of_each(stream=True, rich=0))
def test_too_many_failures_are_raised_with_the_time_to_wait(address: str, name: str, call: Any) -> None:
    with pytest.raises(errors.ModelRateLimitError) as caught:
        list(call(model_for(address, name, "fail=429,429;retry_after=0.01", max_retries=1), "stream", "x"))
    assert caught.value.retry_after == 0.01 and caught.value.status_code == 429


def ends_of_events(name: str) -> list[int]:
    """Byte offsets after each event; at most sixteen, spread over the stream; and the middle of the first."""
    data = recorded.load(name)["response"]["body_text"].encode()
    mark = b"\n" if name.split("/")[1].startswith("ollama_chat") else b"\n\n" if b"\r\n" not in data else b"\r\n\r\n"
    found: list[int] = []
    at = data.find(mark)
    while at >= 0:
        found.append(at + len(mark))
        at = data.find(mark, at + len(mark))
    step = max(1, len(found) // 13)
    return sorted({found[0] // 2, *found[::step], *found[-3:]})


@pytest.mark.parametrize("name", one_of_each(stream=True))
def test_a_stream_cut_at_every_event_is_an_error_with_the_part_or_the_answer(
    address: str, name: str, call: Any
) -> None:
    whole = total(list(model_for(address, name, max_retries=0).stream("x")))
    outcomes: list[str] = []
    for offset in ends_of_events(name):
        model = model_for(address, name, f"drop_after={offset}", max_retries=0)
        chunks: list[Any] = []
        try:
            if "blocking" in repr(call):
                chunks.extend(model.stream("x"))
            else:
                chunks.extend(call(model, "stream", "x"))
        except errors.ModelConnectionError as error:
            outcomes.append("error")
            partial = error.partial
            assert whole.text.startswith(partial.text if partial is not None else "")
            assert partial is None or partial.chunk_position is None
        else:
            outcomes.append("whole")
            assert total(chunks).text == whole.text
    assert "error" in outcomes and outcomes == sorted(outcomes)  # once the answer is whole, it stays whole
