"""Ollama's own chat wire: encode, decode, stream (one JSON object a line).

Source: Ollama API documentation, "Generate a chat completion", and recorded exchanges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._ids import new_id
from clew.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from clew.providers import _blocks as b
from clew.providers._errors import cannot_carry, from_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages import AIMessageChunk, BaseMessage

WIRE = "ollama chat"
_TOP = frozenset({"model", "stream", "think", "keep_alive", "format", "logprobs", "top_logprobs", "tools"})
_RENAMED = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict", "max_output_tokens": "num_predict"}


def encode(messages: Sequence[BaseMessage], options: b.JSON) -> b.JSON:
    """Return the request body. Raises: ModelInvalidRequestError for content that the wire can't carry."""
    names: dict[str | None, str] = {}
    body: b.JSON = {"messages": [_message(m, names) for m in messages]}
    sampling: b.JSON = {}
    for key, value in options.items():
        if value is not None and value != []:
            _option(body, sampling, key, value)
    if sampling:
        body["options"] = sampling
    return body


def _option(body: b.JSON, sampling: b.JSON, key: str, value: Any) -> None:
    if key == "response_format":
        shape = value.get("json_schema")
        body["format"] = shape["schema"] if shape else "json"
    elif key == "tools":
        body["tools"] = b.tool_dicts(value)
    elif key == "reasoning":
        body["think"] = value
    elif key == "stop":
        sampling["stop"] = [value] if isinstance(value, str) else list(value)
    elif key == "options":
        sampling.update(value)
    elif key in _TOP:
        body[key] = value
    elif key not in ("tool_choice", "parallel_tool_calls", "strict", "stream_options"):
        sampling[_RENAMED.get(key, key)] = value


def _message(message: BaseMessage, names: dict[str | None, str]) -> b.JSON:
    if isinstance(message, AIMessage):
        return _assistant(message, names)
    if isinstance(message, ToolMessage):
        out: b.JSON = {"role": "tool", **_content(message.content)}
        name = message.name or names.get(message.tool_call_id)
        return {**out, "tool_name": name} if name else out
    if isinstance(message, HumanMessage):
        role = "user"
    elif isinstance(message, SystemMessage):
        role = "system"
    elif isinstance(message, ChatMessage):
        role = message.role
    else:
        raise cannot_carry(WIRE, f"a message of type {message.type!r}")
    return {"role": role, **_content(message.content)}


def _content(content: Any) -> b.JSON:
    if isinstance(content, str):
        return {"content": content}
    texts: list[str] = []
    images: list[str] = []
    for block in b.blocks_of(content):
        kind = block.get("type")
        if kind in ("text", "text-plain"):
            texts.append(block.get("text", ""))
            continue
        if kind == "image_url":
            inner = block["image_url"]
            block = {"type": "image", "url": inner if isinstance(inner, str) else inner["url"]}
        how, value, _ = b.media(block)
        if block.get("type") != "image" or how != "base64":
            raise cannot_carry(WIRE, f"{kind} content" + (f" by {how}" if how else ""), "images go as base64")
        images.append(value)
    return {"content": "".join(texts), **({"images": images} if images else {})}


def _assistant(message: AIMessage, names: dict[str | None, str]) -> b.JSON:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[b.JSON] = []
    for block in b.pieces_of(message):
        kind = block.get("type")
        if kind in ("tool_call", "invalid_tool_call"):
            names[block.get("id")] = str(block.get("name"))
            args = block.get("args")
            arguments = args if b.is_object(args) else {"invalid_arguments": args}
            calls.append({"function": {"name": block.get("name"), "arguments": arguments}})
        elif kind == "reasoning":
            thoughts.append(block.get("reasoning", ""))
        elif kind == "text":
            texts.append(block.get("text", ""))
    out: b.JSON = {"role": "assistant", "content": "".join(texts)}
    if thoughts:
        out["thinking"] = "".join(thoughts)
    if calls:
        out["tool_calls"] = calls
    return out


def decode(body: b.JSON, provider: str = "ollama") -> list[AIMessage]:
    """Return the one message of a whole reply. Raises: ModelError when the reply is an error."""
    if body.get("error") or "message" not in body:
        raise from_reply(provider, None, body)
    said: b.JSON = body["message"]
    blocks: list[b.Block] = []
    if said.get("thinking"):
        blocks.append({"type": "reasoning", "reasoning": said["thinking"]})
    if said.get("content"):
        blocks.append({"type": "text", "text": said["content"]})
    blocks += [{"type": "image", "base64": data} for data in said.get("images") or b.NOTHING]
    for call in said.get("tool_calls") or b.NOTHING:
        function = call["function"]
        blocks.append(b.call_block(function.get("name"), function.get("arguments"), _id_of(call)))
    meta = b.metadata(_facts(body), provider, spoke=b.spoke(blocks))
    return [b.message_of(blocks, response_metadata=meta, usage_metadata=usage_of(body))]


def _id_of(call: b.JSON) -> str:
    return call.get("id") or "call_" + new_id()[:12]


def _facts(body: b.JSON) -> b.JSON:
    facts = {k: v for k, v in body.items() if k not in ("message", "done", "logprobs")}
    return {**facts, "finish_reason": body.get("done_reason"), "logprobs": body.get("logprobs")}


def usage_of(body: b.JSON) -> b.JSON | None:
    """Return usage_metadata; a prompt that was wholly cached has no count."""
    if body.get("eval_count") is None and body.get("prompt_eval_count") is None:
        return None
    given, made = body.get("prompt_eval_count") or 0, body.get("eval_count") or 0
    return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}


def decode_event(event: b.JSON, into: b.StreamState, provider: str = "ollama") -> AIMessageChunk | None:
    """Return what a line adds, or None. Raises: ModelError for an error line."""
    if event.get("error"):
        raise from_reply(provider, None, event)
    if event.get("logprobs"):
        into.memory.setdefault("logprobs", []).extend(event["logprobs"])
    if event.get("done"):
        into.finished = True
        into.facts = _facts(event)
        into.facts["logprobs"] = into.memory.get("logprobs")
        into.usage = event
    said: b.JSON = event.get("message") or b.EMPTY
    chunk: AIMessageChunk | None = None
    if said.get("thinking"):
        chunk = into.reasoning(said["thinking"], "reasoning")
    if said.get("content"):
        piece = into.text(said["content"])
        chunk = piece if chunk is None else chunk + piece
    if said.get("images"):
        into.spoke = True
        piece = into.block({"type": "image", "base64": said["images"][0]}, None)
        chunk = piece if chunk is None else chunk + piece
    if said.get("tool_calls"):
        piece = into.calls([_fragment(call, into) for call in said["tool_calls"]])
        chunk = piece if chunk is None else chunk + piece
    return chunk


def _fragment(call: b.JSON, into: b.StreamState) -> b.JSON:
    index = into.memory["calls"] = into.memory.get("calls", -1) + 1
    function = call["function"]
    return b.fragment(function.get("name"), b.arguments_text({"args": function.get("arguments")}), _id_of(call), index)


def finish(into: b.StreamState, provider: str = "ollama") -> AIMessageChunk:
    """Return the closing chunk of a stream that ended well."""
    return into.close(usage_of(into.usage), provider)
