"""Anthropic's messages wire: encode, decode, stream.

Source: Anthropic API reference, "Messages" and "Streaming messages", and recorded exchanges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from clew.providers import _blocks as b
from clew.providers._errors import cannot_carry, from_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages import AIMessageChunk, BaseMessage

WIRE = "anthropic messages"
_NATIVE = frozenset({
    "tool_result", "document", "search_result", "thinking", "redacted_thinking", "container_upload", "tool_reference",
})  # fmt: skip
_MEDIA = ("url", "base64", "data", "file_id", "mime_type", "source_type", "title", "context", "text", "filename")
JSON_ONLY = "Answer with one JSON object and nothing else."


# -- encode -----------------------------------------------------------------------------------------


def encode(messages: Sequence[BaseMessage], options: b.JSON) -> b.JSON:
    """Return the request body; neighbours of one role become one turn, as the wire wants it.

    Raises: ModelInvalidRequestError for content that the wire can't carry.
    """
    system: list[b.JSON] = []
    turns: list[b.JSON] = []
    for message in messages:
        if isinstance(message, SystemMessage) and not turns:
            system += _parts(message.content)
            continue
        role, parts = _turn(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] = _as_parts(turns[-1]["content"]) + _as_parts(parts)
        else:
            turns.append({"role": role, "content": parts})
    body: b.JSON = {"messages": turns}
    for key, value in options.items():
        if value is not None and value != []:
            _option(body, system, key, value)
    if system:
        plain = len(system) == 1 and system[0].keys() == {"type", "text"}
        body["system"] = system[0]["text"] if plain else system
    if "tools" not in body:
        body.pop("tool_choice", None)
    return body


def _option(body: b.JSON, system: list[b.JSON], key: str, value: Any) -> None:
    if key == "tools":
        body["tools"] = [_tool(tool) for tool in b.tool_dicts(value)]
    elif key == "tool_choice":
        body["tool_choice"] = {**_tool_choice(value), **body.get("tool_choice", {})}
    elif key == "parallel_tool_calls":
        if not value:
            body["tool_choice"] = {"type": "auto", **body.get("tool_choice", {}), "disable_parallel_tool_use": True}
    elif key == "stop":
        body["stop_sequences"] = [value] if isinstance(value, str) else list(value)
    elif key == "response_format":
        if shape := value.get("json_schema"):
            form = {"type": "json_schema", "schema": shape["schema"]}
            body["output_config"] = {**body.get("output_config", {}), "format": form}
        else:
            system.append({"type": "text", "text": JSON_ONLY})
    elif key == "output_config":
        body["output_config"] = {**value, **body.get("output_config", {})}
    elif key == "effort":
        body["output_config"] = {**body.get("output_config", {}), "effort": value}
    else:
        body[key] = value


def _tool(tool: b.JSON) -> b.JSON:
    function = tool.get("function")
    if not b.is_object(function):
        return tool
    out: b.JSON = {"name": function["name"]}
    if function.get("description"):
        out["description"] = function["description"]
    out["input_schema"] = function.get("parameters") or {"type": "object", "properties": {}}
    if function.get("strict"):
        out["strict"] = True
    return {**out, **{k: v for k, v in tool.items() if k not in ("function", "type")}}


def _tool_choice(value: Any) -> b.JSON:
    how, name = b.chosen(value)
    if how == "tool":
        more = {k: v for k, v in value.items() if k == "disable_parallel_tool_use"} if b.is_object(value) else {}
        return {"type": "tool", "name": name, **more}
    if b.is_object(value):
        return value
    return {"type": how}


def _turn(message: BaseMessage) -> tuple[str, Any]:
    if isinstance(message, AIMessage):
        return "assistant", _assistant(message)
    if isinstance(message, ToolMessage):
        return "user", [_result(message)]
    if isinstance(message, HumanMessage | SystemMessage):
        role = "user" if isinstance(message, HumanMessage) else "system"
    elif isinstance(message, ChatMessage):
        role = message.role
    else:
        raise cannot_carry(WIRE, f"a message of type {message.type!r}")
    return role, message.content if isinstance(message.content, str) else _parts(message.content)


def _as_parts(content: Any) -> list[b.JSON]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _parts(content: Any) -> list[b.JSON]:
    return [part(block) for block in b.blocks_of(content)]


def _result(message: ToolMessage) -> b.JSON:
    out: b.JSON = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    content = message.content if isinstance(message.content, str) else _parts(message.content)
    if content:
        out["content"] = content
    if message.status == "error":
        out["is_error"] = True
    if message.additional_kwargs.get("cache_control"):
        out["cache_control"] = message.additional_kwargs["cache_control"]
    return out


def part(block: b.Block) -> b.JSON:
    """Return a content block as the wire has it."""
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block.get("text", ""), **b.beside(block, ("text",))}
    if kind == "non_standard":
        return block["value"]
    if kind in _NATIVE or (kind == "image" and b.is_object(block.get("source"))):
        return {k: v for k, v in block.items() if k != "index"}
    if kind == "image_url":
        inner = block["image_url"]
        return part({"type": "image", "url": inner if isinstance(inner, str) else inner["url"]})
    how, value, mime = b.media(block)
    if kind == "text-plain":
        source = {"type": "text", "media_type": "text/plain", "data": block.get("text", "")}
    elif kind in ("image", "file") and how:
        source = _source(block, how, value, mime)
    else:
        raise cannot_carry(WIRE, f"{kind} content" + (f" by {how}" if how else ""))
    titles = {k: block[k] for k in ("title", "context") if block.get(k)}
    name = "image" if kind == "image" else "document"
    return {"type": name, "source": source, **titles, **b.beside(block, _MEDIA)}


def _source(block: b.Block, how: str, value: str, mime: str) -> b.JSON:
    if how == "url":
        return {"type": "url", "url": value}
    if how == "file_id":
        return {"type": "file", "file_id": value}
    if block["type"] == "file" and mime == "text/plain":
        import base64

        return {"type": "text", "media_type": mime, "data": base64.b64decode(value).decode()}
    return {"type": "base64", "media_type": b.need_mime(block, mime, WIRE), "data": value}


def _assistant(message: AIMessage) -> Any:
    if isinstance(message.content, str) and not message.tool_calls and not message.invalid_tool_calls:
        return message.content
    parts = [_said(block) for block in b.pieces_of(message)]
    return [part for part in parts if part is not None]


def _said(block: b.Block) -> b.JSON | None:
    """A piece of an assistant turn; None for what does not go back (unsigned reasoning, blank text, refusals)."""
    kind, extras = block.get("type"), block.get("extras") or b.EMPTY
    if kind == "tool_call":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["args"], **extras}
    if kind == "invalid_tool_call":  # the wire takes objects only; the text is shown to the model
        raw = {"invalid_arguments": block.get("args")}
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": raw, **extras}
    if kind == "reasoning":
        return _thinking(block, extras)
    if kind == "server_tool_call":
        call = {"type": "server_tool_use", "id": block["id"], "name": block["name"]}
        return {**call, "input": block.get("args") or {}, **extras}
    if kind == "server_tool_result":
        result = {"type": "tool_result", "tool_use_id": block["tool_call_id"], "content": block.get("output")}
        return {**result, **extras}
    if kind == "text":
        return _text(block) if block.get("text", "").strip() else None
    return None if kind == "refusal" else part(block)


def _thinking(block: b.Block, extras: b.JSON) -> b.JSON | None:
    if "signature" in extras:
        return {"type": "thinking", "thinking": block.get("reasoning", ""), "signature": extras["signature"]}
    return {"type": "redacted_thinking", "data": extras["redacted"]} if "redacted" in extras else None


def _text(block: b.Block) -> b.JSON:
    out = part(block)
    if block.get("annotations"):
        out["citations"] = [
            a["value"] if a["type"] == "non_standard_annotation" else _citation(a) for a in block["annotations"]
        ]
    return out


def _citation(note: b.JSON) -> b.JSON:
    known = (note.get("extras") or b.EMPTY).get("anthropic")
    return known or {k: v for k, v in note.items() if k != "type"}


# -- decode -----------------------------------------------------------------------------------------


def decode(body: b.JSON, provider: str = "anthropic") -> list[AIMessage]:
    """Return the one message of a whole reply. Raises: ModelError when the reply is an error with status 200."""
    if "content" not in body:
        raise from_reply(provider, None, body)
    blocks = [_block(x) for x in body["content"]]
    if body.get("stop_reason") == "refusal":
        blocks.append(_refusal(body))
    facts = {k: v for k, v in body.items() if k not in ("content", "role", "type", "usage", "stop_sequence")}
    facts.update(
        finish_reason=body.get("stop_reason"), stop_sequence=body.get("stop_sequence"), token_usage=body.get("usage")
    )
    meta = b.metadata(facts, provider, spoke=b.spoke(blocks))
    return [b.message_of(blocks, response_metadata=meta, usage_metadata=usage_of(body.get("usage") or {}))]


def _refusal(body: b.JSON) -> b.Block:
    details = body.get("stop_details") or b.EMPTY
    return {"type": "refusal", "refusal": details.get("explanation") or "the model declined to answer"}


def _block(native: b.JSON) -> b.Block:
    kind = native["type"]
    if kind == "text":
        block: b.Block = {"type": "text", "text": native["text"]}
        if native.get("citations"):
            block["annotations"] = [citation(c) for c in native["citations"]]
        return block
    if kind == "thinking":
        out: b.Block = {"type": "reasoning", "reasoning": native.get("thinking", "")}
        return {**out, "extras": {"signature": native["signature"]}} if native.get("signature") else out
    if kind == "redacted_thinking":
        return {"type": "reasoning", "reasoning": "", "extras": {"redacted": native["data"]}}
    if kind == "tool_use":
        return b.call_block(native.get("name"), native.get("input"), native.get("id"), _caller(native))
    if kind == "server_tool_use":
        use: b.Block = {
            "type": "server_tool_call",
            "id": native["id"],
            "name": native["name"],
            "args": native.get("input") or {},
        }
        return {**use, "extras": {"caller": native["caller"]}} if native.get("caller") else use
    if kind.endswith("_tool_result"):
        status = (
            "error"
            if "error" in str((native.get("content") or {}) if b.is_object(native.get("content")) else "")
            else "success"
        )
        rest = {k: v for k, v in native.items() if k not in ("tool_use_id", "content")}
        result: b.Block = {"type": "server_tool_result", "tool_call_id": native["tool_use_id"], "status": status}
        return {**result, "output": native.get("content"), "extras": rest}
    return {"type": "non_standard", "value": native}


def _caller(native: b.JSON) -> b.JSON:
    """What else a call says; who called is left out when it is the model itself."""
    rest = {k: v for k, v in native.items() if k not in ("type", "id", "name", "input") and v is not None}
    if rest.get("caller") == {"type": "direct"}:
        del rest["caller"]
    return rest


def citation(native: b.JSON) -> b.JSON:
    """Return a standard citation; the provider's own form rides along, to go back unchanged."""
    out: b.JSON = {"type": "citation", "extras": {"anthropic": native}}
    for name, source in (("url", "url"), ("title", "title"), ("title", "document_title"), ("cited_text", "cited_text")):
        if native.get(source):
            out.setdefault(name, native[source])
    return out


def usage_of(usage: b.JSON) -> b.JSON | None:
    """Return usage_metadata: the wire leaves the cached tokens out of input_tokens, here they are counted in."""
    if usage.get("input_tokens") is None and usage.get("output_tokens") is None:
        return None
    read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    given, made = (usage.get("input_tokens") or 0) + read + written, usage.get("output_tokens") or 0
    out: b.JSON = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    if details := b.counts(cache_read=read, cache_creation=written):
        out["input_token_details"] = details
    if details := b.counts(reasoning=(usage.get("output_tokens_details") or b.EMPTY).get("thinking_tokens")):
        out["output_token_details"] = details
    return out


# -- stream -----------------------------------------------------------------------------------------


def decode_event(event: b.JSON, into: b.StreamState, provider: str = "anthropic") -> AIMessageChunk | None:
    """Return what an event adds, or None. Raises: ModelError for an error event."""
    kind = event.get("type")
    if kind == "content_block_delta":
        return _delta(event["delta"], event["index"], into)
    if kind == "content_block_start":
        return _start(event["content_block"], event["index"], into)
    if kind == "content_block_stop":
        return _stop(event["index"], into)
    if kind == "message_start":
        message = event["message"]
        into.usage = dict(message.get("usage") or {})
        skip = ("content", "role", "type", "usage", "stop_reason", "stop_sequence")
        into.facts.update({k: v for k, v in message.items() if k not in skip and v is not None})
    elif kind == "message_delta":
        into.usage.update({k: v for k, v in (event.get("usage") or b.EMPTY).items() if v is not None})
        into.facts.update({k: v for k, v in {**event, **event["delta"]}.items() if k not in ("type", "delta", "usage")})
        into.finished = into.finished or event["delta"].get("stop_reason") is not None
        if event["delta"].get("stop_reason") == "refusal":
            into.spoke = True
            return into.block(_refusal(event["delta"]), "refusal")
    elif kind == "message_stop":
        into.finished = True
    elif kind == "error":
        raise from_reply(provider, None, event)
    return None


def _start(native: b.JSON, index: int, into: b.StreamState) -> AIMessageChunk | None:
    kind = native["type"]
    if kind == "text":
        return into.text(native["text"], index) if native.get("text") else None
    if kind == "thinking":
        into.thought = into.mixed = True
        return into.block(_block(native), index) if native.get("thinking") else None
    if kind == "tool_use":
        args = None
        if native.get("input"):
            import msgspec

            args = msgspec.json.encode(native["input"]).decode()
        into.memory.setdefault("calls", []).append(index)
        return into.calls([b.fragment(native.get("name"), args, native.get("id"), index, _caller(native))])
    into.mixed = True
    if kind == "redacted_thinking":
        into.thought = True
        return into.block(_block(native), index)
    into.spoke = True
    if kind.endswith("_tool_result"):
        return into.block(_block(native), index)
    into.memory[index] = [dict(native)]
    return None


def _delta(delta: b.JSON, index: int, into: b.StreamState) -> AIMessageChunk | None:
    kind = delta["type"]
    if kind == "text_delta":
        return into.text(delta["text"], index) if delta["text"] else None
    if kind == "input_json_delta":
        if index in into.memory:
            into.memory[index].append(delta["partial_json"])
            return None
        return into.calls([b.fragment(None, delta["partial_json"], None, index)]) if delta["partial_json"] else None
    if kind == "thinking_delta":
        into.thought = True
        return into.block({"type": "reasoning", "reasoning": delta["thinking"]}, index)
    if kind == "signature_delta":
        return into.block({"type": "reasoning", "reasoning": "", "extras": {"signature": delta["signature"]}}, index)
    if kind == "citations_delta":
        return into.block({"type": "text", "text": "", "annotations": [citation(delta["citation"])]}, index)
    if index in into.memory:
        into.memory[index][0].update({k: v for k, v in delta.items() if k != "type" and v is not None})
    return None


def _stop(index: int, into: b.StreamState) -> AIMessageChunk | None:
    """Give a block that was collected: its arguments came as JSON text."""
    collected = into.memory.pop(index, None)
    if collected is None:
        return None
    native, *texts = collected
    if texts:
        import msgspec

        native["input"] = msgspec.json.decode("".join(texts) or "{}")
    return into.block(_block(native), index)


def finish(into: b.StreamState, provider: str = "anthropic") -> AIMessageChunk:
    """Return the closing chunk of a stream that ended well."""
    into.facts["finish_reason"] = into.facts.get("stop_reason")
    into.facts["token_usage"] = into.usage
    return into.close(usage_of(into.usage), provider)
