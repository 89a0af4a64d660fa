"""Requests that were recorded from other clients: our messages, encoded, give the same body.

Each body is read back into clew's messages by the code here (assistant turns by the wire's own decoder, as they would
have come from it), encoded again, and compared as JSON up to defaults. What is not reproduced is in EXPECTED_REASONS
with its reason; a reason that no longer holds fails.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded

from clew.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages
from clew.providers import _anthropic_messages, _google_genai, _ollama_chat, _openai_chat, _openai_responses
from clew.providers._table import SERVICES

WIRES: dict[str, Any] = {
    "chat_completions": _openai_chat, "responses": _openai_responses, "messages": _anthropic_messages,
    "generate_content": _google_genai, "generate_content_stream": _google_genai, "ollama_chat": _ollama_chat,
}  # fmt: skip


# -- reading recorded requests back


def read_chat(body: Any) -> tuple[list[BaseMessage], Any]:
    rest = {k: v for k, v in body.items() if k != "messages"}
    return convert_to_messages(body["messages"]), rest


def _nested_tools(tools: Any) -> Any:
    return [
        {"type": "function", "function": {k: v for k, v in t.items() if k != "type"}}
        if t.get("type") == "function"
        else t
        for t in tools
    ]


def read_responses(body: Any) -> tuple[list[BaseMessage], Any]:
    rest = {k: v for k, v in body.items() if k != "input"}
    if "tools" in rest:
        rest["tools"] = _nested_tools(rest["tools"])
    items = body["input"]
    if isinstance(items, str):
        return [HumanMessage(items)], rest
    out: list[BaseMessage] = []
    turn: list[Any] = []
    for item in [*items, None]:
        if item is not None and (
            item.get("type") not in (None, "message", "function_call_output") or item.get("role") == "assistant"
        ):
            if isinstance(item.get("content"), str):
                item = {"type": "message", **item, "content": [{"type": "output_text", "text": item["content"]}]}
            turn.append({"type": "message", **item} if "role" in item else item)
            continue
        if turn:
            out += _openai_responses.decode({"output": turn})
            turn = []
        if item is None:
            break
        if item.get("type") == "function_call_output":
            content = item["output"]
            content = content if isinstance(content, str) else [_standard(p) for p in content]
            out.append(ToolMessage(content, tool_call_id=item["call_id"]))
        else:
            content = item["content"] if isinstance(item["content"], str) else [_standard(p) for p in item["content"]]
            if item["role"] == "user":
                out.append(HumanMessage(content))
            else:
                out.append(SystemMessage(content, additional_kwargs={"role": item["role"]}))
    return out, rest


def read_anthropic(body: Any) -> tuple[list[BaseMessage], Any]:
    rest = {k: v for k, v in body.items() if k not in ("messages", "system")}
    if "stop_sequences" in rest:
        rest["stop"] = rest.pop("stop_sequences")
    out: list[BaseMessage] = []
    if "system" in body:
        out.append(SystemMessage(_blocks(body["system"])))
    for message in body["messages"]:
        content = message["content"]
        if message["role"] == "assistant":
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            out += _anthropic_messages.decode({"content": blocks})
        elif message["role"] == "system":
            out.append(SystemMessage(_blocks(content)))
        elif isinstance(content, str):
            out.append(HumanMessage(content))
        else:
            out += _user_turn(content)
    return out, rest


def _user_turn(content: list[Any]) -> list[BaseMessage]:
    out: list[BaseMessage] = []
    for part in content:
        if part["type"] == "tool_result":
            status = "error" if part.get("is_error") else "success"
            more = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
            inner = _blocks(part.get("content", ""))
            out.append(ToolMessage(inner, tool_call_id=part["tool_use_id"], status=status, additional_kwargs=more))
        elif out and isinstance(out[-1], HumanMessage):
            out[-1].content.append(_standard(part))
        else:
            out.append(HumanMessage([_standard(part)]))
    return out


def _blocks(content: Any) -> Any:
    return content if isinstance(content, str) else [_standard(p) for p in content]


def _standard(part: Any) -> Any:
    """A wire's content part as a standard block, where there is one."""
    kind = part.get("type")
    if kind == "input_text":
        return {**part, "type": "text"}
    if kind == "input_image" and "image_url" in part:
        return {
            "type": "image",
            "url": part["image_url"],
            **{k: v for k, v in part.items() if k not in ("type", "image_url")},
        }
    if kind == "input_file" and "file_url" in part:
        return {"type": "file", "url": part["file_url"]}
    if (
        kind in ("image", "document")
        and isinstance(part.get("source"), dict)
        and part["source"]["type"] in ("base64", "url")
    ):
        source = part["source"]
        rest = {k: v for k, v in part.items() if k not in ("type", "source")}
        value = (
            {"base64": source["data"], "mime_type": source["media_type"]}
            if "data" in source
            else {"url": source["url"]}
        )
        return {"type": "image" if kind == "image" else "file", **value, **rest}
    return part


def _camel_keys(value: Any) -> Any:
    """Some clients write the wire's names in snake case; Google takes both."""
    if isinstance(value, dict):
        return {k if k == "args" else _google_genai._camel(k): v if k in ("args", "response", "properties", "schema") else _camel_keys(v)  # noqa: E501 - wire data
                for k, v in value.items()}  # fmt: skip
    return [_camel_keys(v) for v in value] if isinstance(value, list) else value


def read_google(body: Any) -> tuple[list[BaseMessage], Any]:
    body = _camel_keys(body)
    rest = {
        k: v
        for k, v in body.items()
        if k not in ("contents", "systemInstruction", "generationConfig", "tools", "model")
    }
    rest["generationConfig"] = body.get("generationConfig")
    tools: list[Any] = []
    for tool in body.get("tools") or ():
        for function in tool.get("functionDeclarations") or ():
            schema = function.get("parametersJsonSchema", function.get("parameters"))
            entry = {"name": function["name"], "description": function.get("description"), "parameters": schema}
            tools.append({"type": "function", "function": entry})
        tools += [{k: v} for k, v in tool.items() if k != "functionDeclarations"]
    rest["tools"] = tools
    out: list[BaseMessage] = []
    if "systemInstruction" in body:
        out += [SystemMessage(p["text"]) for p in body["systemInstruction"]["parts"]]
    for content in body["contents"]:
        if content["role"] == "model":
            out += _google_genai.decode({"candidates": [{"content": content}]})
            continue
        for part in content["parts"]:
            if "functionResponse" in part:
                reply = part["functionResponse"]
                call_id = (
                    reply.get("id") or out[-1].tool_calls[0]["id"]
                    if isinstance(out[-1], AIMessage)
                    else reply.get("id") or _next_id(out)
                )
                message = ToolMessage(json.dumps(reply["response"]), tool_call_id=call_id, name=reply["name"])
                if reply.get("parts"):
                    message.content = [
                        {"type": "text", "text": json.dumps(reply["response"])},
                        *map(_google_block, reply["parts"]),
                    ]
                out.append(message)
            elif out and isinstance(out[-1], HumanMessage) and part is not content["parts"][0]:
                out[-1].content.append(_google_block(part))
            else:
                out.append(HumanMessage([_google_block(part)]))
    return out, rest


def _next_id(out: list[BaseMessage]) -> str:
    calls = [c["id"] for m in out if isinstance(m, AIMessage) for c in m.tool_calls]
    answered = [m.tool_call_id for m in out if isinstance(m, ToolMessage)]
    return next(i for i in calls if i not in answered)


def _google_block(part: Any) -> Any:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    for key, value in (("inlineData", "data"), ("fileData", "fileUri")):
        if key in part:
            inner = part[key]
            kind = inner.get("mimeType", "video/").split("/")[0]
            block = {
                "type": kind if kind in ("image", "audio", "video") else "file",
                "mime_type": inner.get("mimeType"),
            }
            block["base64" if key == "inlineData" else "url"] = inner[value]
            return {**block, **{k: v for k, v in part.items() if k != key}}
    return part


def read_ollama(body: Any) -> tuple[list[BaseMessage], Any]:
    rest = {k: v for k, v in body.items() if k != "messages"}
    return convert_to_messages(body["messages"]), rest


READERS = {
    "chat_completions": read_chat, "responses": read_responses, "messages": read_anthropic,
    "generate_content": read_google, "generate_content_stream": read_google, "ollama_chat": read_ollama,
}  # fmt: skip


# -- comparing


def plain(value: Any, api: str, key: str = "") -> Any:
    """A body in comparable form: without nulls, empty containers, defaults; equal spellings made one."""
    if isinstance(value, dict):
        out = {k: plain(v, api, k) for k, v in value.items() if v is not None}
        if api.startswith("generate_content"):
            if "parametersJsonSchema" in out:
                out["parameters"] = out.pop("parametersJsonSchema")
            if "parameters" in out and not out["parameters"].get("properties"):
                del out["parameters"]
            if key in ("systemInstruction",):
                out.pop("role", None)
        if out.get("type") == "text" and out.keys() == {"type", "text"}:
            return out
        for name, default in (("description", ""), ("is_error", False), ("strict", False)):
            if out.get(name) is default or out.get(name) == default == "":
                del out[name]
        if out.get("type") == "message" and "status" not in out:
            del out["type"]
        if key == "" and isinstance(out.get("input"), str):
            out["input"] = [{"role": "user", "content": out["input"]}]
        if "content" in out and out["content"] in ("", []):
            del out["content"]
        if isinstance(out.get("content"), list) and len(out["content"]) == 1 and _is_text(out["content"][0]):
            out["content"] = out["content"][0]["text"]
        if isinstance(out.get("system"), list) and len(out["system"]) == 1 and _is_text(out["system"][0]):
            out["system"] = out["system"][0]["text"]
        if out.get("type") == "function" and out.get("function", {}).get("strict") is False:
            del out["function"]["strict"]
        return {
            k: v for k, v in out.items() if v not in ({}, []) or k in ("args", "input", "properties", "annotations")
        }
    if isinstance(value, list):
        return [plain(v, api) for v in value]
    if key == "arguments" and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _is_text(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"type", "text"}
        and part["type"] in ("text", "input_text", "output_text")
    )


def differences(a: Any, b: Any, path: str = "$") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [
            d for k in sorted({*a, *b}) for d in differences(a.get(k, "<absent>"), b.get(k, "<absent>"), f"{path}.{k}")
        ]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b, strict=True)) for d in differences(x, y, f"{path}[{i}]")]
    return (
        [] if a == b and isinstance(a, bool) == isinstance(b, bool) else [f"{path}: sent {a!r:.80}, recorded {b!r:.80}"]
    )


def compare(name: str) -> list[str]:
    """Differences between the recorded request and what we make of it."""
    ex = recorded.load(name)
    body, api = ex["request"]["body"], ex["api"]
    if not isinstance(body, dict):
        return ["the request's body was not recorded"]
    messages, options = READERS[api](body)
    if api == "chat_completions":
        service = SERVICES.get(ex["provider"].replace("ollama", "ollama_compatible"))
        sent = _openai_chat.encode(messages, options, service.quirks if service else _openai_chat.PLAIN)
    else:
        sent = WIRES[api].encode(messages, options)
    body = _camel_keys(body) if api.startswith("generate_content") else body
    body.pop("model", None)
    sent.pop("model", None)
    return differences(plain(sent, api), plain(body, api))


# -- the tests


def _items(ex: recorded.Exchange) -> list[Any]:
    found = ex["request"]["body"].get("input")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _calls(ex: recorded.Exchange) -> list[Any]:
    messages = ex["request"]["body"].get("messages", ())
    return [call for m in messages for call in m.get("tool_calls") or ()]


EXPECTED_REASONS = {
    "the request's body was not recorded": lambda ex: not isinstance(ex["request"]["body"], dict),
    "it names a stored prompt and has no messages": lambda ex: (
        ex["request"]["body"].keys() >= {"prompt"} and "input" not in ex["request"]["body"]
    ),
    "it repeats the optional id of a function call item": lambda ex: any(
        item.get("type") == "function_call" and "id" in item for item in _items(ex)
    ),
    "it repeats the index of a tool call, which only streams have": lambda ex: any("index" in c for c in _calls(ex)),
    "it has an empty assistant message beside the call": lambda ex: {"content": "", "role": "assistant"} in _items(ex),
    "it marks one call of a message for caching": lambda ex: any("cache_control" in c for c in _calls(ex)),
}
"""Why a request is not reproduced -> a check on the exchange that the reason applies."""


@pytest.mark.parametrize("name", [*recorded.having(), *recorded.having(good=False)])
def test_encoding_gives_the_recorded_request(name: str) -> None:
    ex = recorded.load(name)
    reason = next((text for text, applies in EXPECTED_REASONS.items() if applies(ex)), None)
    if reason is None:
        assert compare(name) == []
        return
    try:
        found = compare(name)
    except (KeyError, ValueError):
        return
    assert found, f"this request is reproduced now; {reason!r} no longer holds"


def test_how_many_requests_are_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many of how many per provider."""
    same: dict[str, list[int]] = {}
    for name in [*recorded.having(), *recorded.having(good=False)]:
        ex = recorded.load(name)
        count = same.setdefault(ex["provider"], [0, 0])
        count[0] += not any(applies(ex) for applies in EXPECTED_REASONS.values())
        count[1] += 1
    with capsys.disabled():
        print("\nrequests reproduced:", ", ".join(f"{p} {a}/{b}" for p, (a, b) in sorted(same.items())))
    done, total = (sum(c[i] for c in same.values()) for i in (0, 1))
    assert done >= 0.95 * total


@pytest.mark.parametrize("name", recorded.having(apis=("count_tokens",)))
def test_counting_sends_the_recorded_request(name: str, call: Any) -> None:
    from clew.providers.anthropic import ChatAnthropic
    from clew.testing._canned import Canned, Reply

    ex = recorded.load(name)
    body = ex["request"]["body"]
    if ex["provider"] != "anthropic":
        pytest.skip("Google's countTokens: the SDK has it")
    messages, options = read_anthropic(body)
    tools = options.pop("tools", ())
    with Canned([Reply(ex["response"]["body_text"].encode())]) as server:
        model = ChatAnthropic(model=options.pop("model"), base_url=server.url, api_key="k")
        count = call(model, "count_tokens", messages, tools, **options)
    assert count == json.loads(ex["response"]["body_text"])["input_tokens"]
    assert server.requests[0].path.startswith("/v1/messages/count_tokens")
    assert differences(plain(server.requests[0].body, "messages"), plain(body, "messages")) == []
