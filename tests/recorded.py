"""Recorded exchanges with providers, and what they say read by plain code that shares nothing with the library.

A few lie in tests/wire/exchanges, each with its source and licence; where CLEW_SHARED names a folder with more of them
(`exchanges/INDEX.json`), those are used too.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
from typing import Any

HERE = pathlib.Path(__file__).parent / "wire" / "exchanges"
CHAT_APIS = ("chat_completions", "responses", "messages", "generate_content", "generate_content_stream", "ollama_chat")

Exchange = dict[str, Any]


@functools.cache
def names() -> tuple[str, ...]:
    """Return "provider/name" of every exchange at hand."""
    found = {f"{path.parent.name}/{path.stem}" for path in HERE.glob("*/*.json")}
    shared = os.environ.get("CLEW_SHARED")
    if shared and (index := pathlib.Path(shared) / "exchanges" / "INDEX.json").exists():
        found.update(json.loads(index.read_text()))
    return tuple(sorted(found))


@functools.lru_cache(maxsize=600)
def load(name: str) -> Exchange:
    """Return one exchange: request, response, provider, api, tags, source, licence."""
    path = HERE / f"{name}.json"
    if not path.exists():
        path = pathlib.Path(os.environ["CLEW_SHARED"]) / "exchanges" / f"{name}.json"
    return json.loads(path.read_text())


def having(*, apis: tuple[str, ...] = CHAT_APIS, good: bool = True, stream: bool | None = None) -> list[str]:
    """Return the names of exchanges of these APIs that were answered well (or badly), streamed or whole."""
    out: list[str] = []
    for name in names():
        ex = load(name)
        if ex["api"] in apis and (ex["response"]["status"] < 400) == good and stream in (None, is_stream(ex)):
            out.append(name)
    return out


def is_stream(ex: Exchange) -> bool:
    """Whether the body is a stream of events rather than one JSON value."""
    text = ex["response"]["body_text"].lstrip()
    if ex["api"].startswith("ollama"):
        return len(text.split("\n{")) > 1
    return text.startswith(("data:", "event:", ":"))


def plain_events(ex: Exchange) -> list[Any]:
    """Return the events of a streamed body, read line by line."""
    out: list[Any] = []
    for line in ex["response"]["body_text"].splitlines():
        data = line.removeprefix("data:").strip()
        if data.startswith("{") and (line.startswith("data:") or ex["api"].startswith("ollama")):
            out.append(json.loads(data))
    return out


def said(ex: Exchange) -> dict[str, Any]:
    """Return what an exchange's answer says: text, reasoning, calls [(name, arguments)], finish, usage (in, out)."""
    reader = _STREAMED if is_stream(ex) else _WHOLE
    out: dict[str, Any] = {"text": "", "reasoning": "", "calls": [], "finish": None, "usage": None}
    body = plain_events(ex) if is_stream(ex) else json.loads(ex["response"]["body_text"])
    reader[ex["api"].removesuffix("_stream")](body, out)
    return out


# -- chat completions


def _chat_message(message: Any, out: dict[str, Any]) -> None:
    content = message.get("content")
    if isinstance(content, str):
        out["text"] += content
    for part in content if isinstance(content, list) else ():
        if part["type"] == "text":
            out["text"] += part["text"]
        elif part["type"] == "thinking":
            out["reasoning"] += "".join(p["text"] for p in part["thinking"])
    out["reasoning"] += message.get("reasoning_content") or message.get("reasoning") or ""


def _chat_whole(body: Any, out: dict[str, Any]) -> None:
    choice = body["choices"][0]
    message = choice.get("message") or choice["delta"]
    _chat_message(message, out)
    out["finish"] = choice.get("finish_reason")
    out["calls"] = [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or ()]
    _chat_usage(body, out)


def _chat_usage(body: Any, out: dict[str, Any]) -> None:
    if body.get("usage"):
        out["usage"] = (body["usage"]["prompt_tokens"], body["usage"].get("completion_tokens", 0))


def _chat_stream(events: Any, out: dict[str, Any]) -> None:
    calls: dict[int, list[str]] = {}
    for event in events:
        _chat_usage(event, out)
        for choice in event.get("choices") or ():
            if choice["index"]:
                continue  # several answers in one stream: we ask for one, and refuse more before the call
            if choice.get("finish_reason"):
                out["finish"] = choice["finish_reason"]
            delta = choice.get("delta") or {}
            _chat_message(delta, out)
            for call in delta.get("tool_calls") or ():
                slot = calls.setdefault(call["index"], ["", ""])
                slot[0] = slot[0] or call["function"].get("name") or ""
                slot[1] += call["function"].get("arguments") or ""
    out["calls"] = [(name, args) for _, (name, args) in sorted(calls.items())]


# -- responses


def _responses_whole(body: Any, out: dict[str, Any]) -> None:
    for item in body["output"]:
        if item["type"] == "message" and item["role"] == "assistant":
            out["text"] += "".join(p.get("text", "") for p in item["content"])
        elif item["type"] == "reasoning":
            parts = [p["text"] for p in [*item["summary"], *(item.get("content") or ())]]
            out["reasoning"] += "\n\n".join(parts)
        elif item["type"] == "function_call":
            out["calls"].append((item["name"], item["arguments"]))
    usage = body.get("usage")
    out["usage"] = usage and (usage["input_tokens"], usage["output_tokens"])


def _responses_stream(events: Any, out: dict[str, Any]) -> None:
    final = next(e["response"] for e in events if e["type"] in ("response.completed", "response.incomplete"))
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    _responses_whole({**final, "output": final["output"] or done}, out)


# -- anthropic


def _anthropic_whole(body: Any, out: dict[str, Any]) -> None:
    for block in body["content"]:
        out["text"] += block["text"] if block["type"] == "text" else ""
        out["reasoning"] += block["thinking"] if block["type"] == "thinking" else ""
        if block["type"] == "tool_use":
            out["calls"].append((block["name"], json.dumps(block["input"])))
    out["finish"] = body["stop_reason"]
    _anthropic_usage(body["usage"], out)


def _anthropic_usage(usage: Any, out: dict[str, Any]) -> None:
    cached = (usage.get("cache_read_input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
    out["usage"] = (usage["input_tokens"] + cached, usage["output_tokens"])


def _anthropic_stream(events: Any, out: dict[str, Any]) -> None:
    _anthropic_whole(anthropic_body(events), out)


def anthropic_body(events: Any) -> Any:
    """Return the whole message that a stream of events describes."""
    body: dict[str, Any] = {}
    pieces: dict[int, str] = {}
    for event in events:
        if event["type"] == "message_start":
            body = {**event["message"], "content": []}
        elif event["type"] == "content_block_start":
            body["content"].append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            delta, block = event["delta"], body["content"][event["index"]]
            for key in ("text", "thinking", "signature"):
                if key in delta:
                    block[key] = block.get(key, "") + delta[key]
            pieces[event["index"]] = pieces.get(event["index"], "") + delta.get("partial_json", "")
        elif event["type"] == "message_delta":
            body.update({k: v for k, v in event.items() if k not in ("type", "delta", "usage")}, **event["delta"])
            body["usage"] = {**body["usage"], **{k: v for k, v in event["usage"].items() if v is not None}}
    for index, text in pieces.items():
        if text:
            body["content"][index]["input"] = json.loads(text)
    return body


# -- google


def _google_whole(body: Any, out: dict[str, Any]) -> None:
    for one in body if isinstance(body, list) else [body]:
        _google_stream([one], out)


def _google_stream(events: Any, out: dict[str, Any]) -> None:
    for event in events:
        candidate = event["candidates"][0]
        for part in (candidate.get("content") or {}).get("parts") or ():
            if part.get("thought"):
                out["reasoning"] += part.get("text", "")
            else:
                out["text"] += part.get("text", "")
            if "functionCall" in part:
                out["calls"].append((part["functionCall"]["name"], json.dumps(part["functionCall"]["args"])))
        out["finish"] = candidate.get("finishReason") or out["finish"]
        usage = event.get("usageMetadata") or {}
        if usage.get("promptTokenCount"):
            made = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
            out["usage"] = (usage["promptTokenCount"] + usage.get("toolUsePromptTokenCount", 0), made)


# -- ollama


def _ollama_whole(body: Any, out: dict[str, Any]) -> None:
    _ollama_stream([body], out)


def _ollama_stream(events: Any, out: dict[str, Any]) -> None:
    for event in events:
        message = event["message"]
        out["text"] += message.get("content") or ""
        out["reasoning"] += message.get("thinking") or ""
        for call in message.get("tool_calls") or ():
            out["calls"].append((call["function"]["name"], json.dumps(call["function"]["arguments"])))
        if event["done"]:
            out["finish"] = event["done_reason"]
            out["usage"] = (event.get("prompt_eval_count", 0), event["eval_count"])


_WHOLE = {
    "chat_completions": _chat_whole, "responses": _responses_whole, "messages": _anthropic_whole,
    "generate_content": _google_whole, "ollama_chat": _ollama_whole,
}  # fmt: skip
_STREAMED = {
    "chat_completions": _chat_stream, "responses": _responses_stream, "messages": _anthropic_stream,
    "generate_content": _google_stream, "ollama_chat": _ollama_stream,
}  # fmt: skip
