"""OpenAI's chat completions wire, which many services speak: encode, decode, and what the services do differently.

Source: OpenAI API reference, "Chat completions", and the recorded exchanges of eighteen services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clew.messages import AIMessage, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage
from clew.providers import _blocks as b
from clew.providers._errors import cannot_carry, from_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages import AIMessageChunk, BaseMessage

WIRE = "openai chat completions"
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_NATIVE_PARTS = frozenset({"image_url", "input_audio", "video_url", "document_url", "thinking", "input_text"})
_CARRIED = ("reasoning_details", "reasoning_content", "reasoning", "extra_content", "thought_signature", "prefix")
_MESSAGE_KEYS = frozenset({
    "role", "content", "tool_calls", "refusal", "reasoning", "reasoning_content", "audio", "function_call", "channel",
})  # fmt: skip


class Quirks(NamedTuple):
    """How a service departs from OpenAI.

    max_tokens, seed: what these parameters are called. reasoning: the member of an assistant message that takes earlier
    reasoning back, or "" when the service wants none. any_tool: the choice that means "some tool". video: whether
    video_url parts are understood. tool_names: whether a tool message carries its tool's name. stream_usage: whether to
    ask for usage in streams.
    """

    max_tokens: str = "max_tokens"
    reasoning: str = ""
    video: bool = False
    tool_names: bool = False
    stream_usage: bool = True
    seed: str = "seed"
    any_tool: str = "required"


PLAIN = Quirks()


# -- encode -----------------------------------------------------------------------------------------


def encode(messages: Sequence[BaseMessage], options: b.JSON, quirks: Quirks = PLAIN) -> b.JSON:
    """Return the request body. options: parameters in the wire's names, and tools, tool_choice, stop.

    Raises: ModelInvalidRequestError for content that the wire can't carry.
    """
    body: b.JSON = {"messages": [encode_message(m, quirks) for m in messages]}
    for key, value in options.items():
        if value is None:
            continue
        if key == "tools":
            if value:
                body["tools"] = b.tool_dicts(value)
        elif key == "tool_choice":
            body["tool_choice"] = _tool_choice(value, quirks)
        else:
            body[key] = value
    if "tools" not in body:
        body.pop("tool_choice", None)
        body.pop("parallel_tool_calls", None)
    return body


def _tool_choice(value: Any, quirks: Quirks) -> Any:
    how, name = b.chosen(value)
    if how == "tool":
        return {"type": "function", "function": {"name": name}}
    return value if how == "raw" else quirks.any_tool if how == "any" else how


def encode_message(message: BaseMessage, quirks: Quirks = PLAIN) -> b.JSON:
    """Return one message as the wire has it."""
    if isinstance(message, AIMessage):
        out = _assistant(message, quirks)
    elif isinstance(message, ToolMessage):
        out: b.JSON = {"role": "tool", "tool_call_id": message.tool_call_id, "content": _content(message, quirks)}
        if quirks.tool_names and message.name:
            out["name"] = message.name
        return out
    else:
        out = {"role": _role(message), "content": _content(message, quirks)}
    if message.name:
        out["name"] = message.name
    if message.additional_kwargs.get("cache_control"):
        out["cache_control"] = message.additional_kwargs["cache_control"]
    return out


def _role(message: BaseMessage) -> str:
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("role") or "system")
    if isinstance(message, HumanMessage):
        return "user"
    if isinstance(message, ChatMessage):
        return message.role
    if isinstance(message, FunctionMessage):
        return "function"
    raise cannot_carry(WIRE, f"a message of type {message.type!r}")


def _content(message: BaseMessage, quirks: Quirks) -> Any:
    if isinstance(message.content, str):
        return message.content
    return [part(block, quirks) for block in b.blocks_of(message.content)]


def part(block: b.Block, quirks: Quirks = PLAIN) -> b.JSON:
    """Return a content block as a part of a message."""
    kind = block.get("type")
    if kind in ("text", "text-plain"):
        text = {"type": "text", "text": block.get("text", "")}
        return {**text, **b.beside(block, ("text", "mime_type", "title", "context"))}
    if kind in _NATIVE_PARTS or (kind == "file" and b.is_object(block.get("file"))):
        return {k: v for k, v in block.items() if k != "index"}
    if kind == "non_standard":
        return block["value"]
    how, value, mime = b.media(block)
    if kind == "image" and how in ("url", "base64"):
        url = value if how == "url" else b.data_url(value, b.need_mime(block, mime, WIRE))
        return {"type": "image_url", "image_url": {"url": url, **b.beside(block, _MEDIA)}}
    if kind == "audio" and how == "base64":
        form = _AUDIO_FORMATS.get(mime) or mime.removeprefix("audio/")
        return {"type": "input_audio", "input_audio": {"data": value, "format": form or "wav"}}
    if kind == "video" and quirks.video and how:
        return {"type": "video_url", "video_url": {"url": value if how == "url" else b.data_url(value, mime)}}
    if kind == "file" and how in ("base64", "file_id"):
        return {"type": "file", "file": _file(block, how, value, mime)}
    raise cannot_carry(WIRE, f"{kind} content" + (f" by {how}" if how else ""))


_MEDIA = ("url", "base64", "data", "file_id", "mime_type", "source_type")


def _file(block: b.Block, how: str, value: str, mime: str) -> b.JSON:
    if how == "file_id":
        return {"file_id": value}
    name = block.get("filename") or (block.get("extras") or b.EMPTY).get("filename") or "file"
    return {"filename": name, "file_data": b.data_url(value, b.need_mime(block, mime, WIRE))}


def _assistant(message: AIMessage, quirks: Quirks) -> b.JSON:
    out: b.JSON = {"role": "assistant", "content": None}
    parts: list[b.JSON] = []
    calls: list[b.JSON] = []
    for block in b.pieces_of(message):
        _piece(block, quirks, out, parts, calls)
    if calls:
        out["tool_calls"] = calls
    if parts:
        plain = len(parts) == 1 and parts[0].keys() == {"type", "text"}
        out["content"] = parts[0]["text"] if plain else parts
    elif isinstance(message.content, str) and not calls:
        out["content"] = message.content
    for source in (message.additional_kwargs, message.model_extra or {}):
        out.update({key: source[key] for key in _CARRIED if source.get(key) is not None})
    return out


def _piece(block: b.Block, quirks: Quirks, out: b.JSON, parts: list[b.JSON], calls: list[b.JSON]) -> None:
    """Put a piece of an assistant turn where the wire wants it."""
    kind = block.get("type")
    if kind in ("tool_call", "invalid_tool_call"):
        function = {"name": block.get("name"), "arguments": b.arguments_text(block)}
        more = block.get("extras") or b.EMPTY
        calls.append({"id": block.get("id"), "type": "function", "function": function, **more})
    elif kind == "reasoning":
        _reasoning(block, quirks, out, parts)
    elif kind == "refusal":
        out["refusal"] = out.get("refusal", "") + str(block.get("refusal", ""))
    elif kind == "audio" and block.get("id"):
        out["audio"] = {"id": block["id"]}
    elif kind not in ("server_tool_call", "server_tool_result", "citation"):
        parts.append(part(block, quirks))  # of the others the service keeps track, and the text says what came of them


def _reasoning(block: b.Block, quirks: Quirks, out: b.JSON, parts: list[b.JSON]) -> None:
    field = (block.get("extras") or b.EMPTY).get("field") or quirks.reasoning
    text = str(block.get("reasoning", ""))
    if field == "thinking":
        parts.append({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
    elif field:
        out[field] = out.get(field, "") + text


# -- decode -----------------------------------------------------------------------------------------


def decode(body: b.JSON, provider: str = "openai") -> list[AIMessage]:
    """Return one message per choice of a whole reply. Raises: ModelError when the reply is an error with status 200."""
    choices = body.get("choices")
    if not choices:
        raise from_reply(provider, None, body)
    facts = _facts(body)
    usage = usage_of(body.get("usage"))
    return [_choice(c, facts, usage if i == 0 else None, provider) for i, c in enumerate(choices)]


def _facts(body: b.JSON) -> b.JSON:
    out = {k: v for k, v in body.items() if k not in ("choices", "object", "usage")}
    if b.is_object(body.get("usage")):
        out["token_usage"] = body["usage"]
    return out


def _choice(choice: b.JSON, facts: b.JSON, usage: b.JSON | None, provider: str) -> AIMessage:
    said: b.JSON = choice.get("message") or choice.get("delta") or b.EMPTY
    blocks = _reasoning_blocks(said)
    blocks += _text_blocks(said)
    if said.get("refusal"):
        blocks.append({"type": "refusal", "refusal": said["refusal"]})
    if (said.get("audio") or b.EMPTY).get("data"):
        blocks.append(_audio(said["audio"]))
    for call in said.get("tool_calls") or b.NOTHING:
        blocks.append(_call(call))
    rest = {k: v for k, v in choice.items() if k not in ("message", "delta", "index") and v is not None}
    kwargs = {k: v for k, v in said.items() if k not in _MESSAGE_KEYS and v not in (None, "", [])}
    old = said.get("function_call")
    if b.is_object(old) and old.get("name"):
        kwargs["function_call"] = old
    if b.is_array(said.get("content")):
        kwargs.pop("annotations", None)
    meta = b.metadata({**facts, **rest}, provider, spoke=b.spoke(blocks))
    return b.message_of(blocks, additional_kwargs=kwargs, response_metadata=meta, usage_metadata=usage)


def _reasoning_blocks(said: b.JSON) -> list[b.Block]:
    for field in ("reasoning_content", "reasoning"):
        text = said.get(field)
        if isinstance(text, str) and text:
            return [{"type": "reasoning", "reasoning": text, "extras": {"field": field}}]
    return []


def _text_blocks(said: b.JSON) -> list[b.Block]:
    content = said.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[b.Block] = []
    for item in content or b.NOTHING:
        if item.get("type") == "thinking":
            text = _thinking(item)
            blocks.append({"type": "reasoning", "reasoning": text, "extras": {"field": "thinking"}})
        elif item.get("type") == "text":
            blocks.append({"type": "text", "text": item.get("text", "")})
        else:
            blocks.append({"type": "non_standard", "value": item})
    return blocks


def _thinking(item: b.JSON) -> str:
    inner = item.get("thinking")
    return inner if isinstance(inner, str) else "".join(p.get("text", "") for p in inner or b.NOTHING)


def _audio(audio: b.JSON) -> b.Block:
    block = {"type": "audio", "base64": audio.get("data", ""), "id": audio.get("id")}
    expires = {"extras": {"expires_at": audio["expires_at"]}} if audio.get("expires_at") else {}
    return {**block, "transcript": audio.get("transcript", ""), **expires}


def _call(call: b.JSON) -> b.Block:
    function = call.get("function") or b.EMPTY
    custom = call.get("custom") or b.EMPTY
    extras = {k: v for k, v in call.items() if k not in ("id", "type", "function", "index", "custom") and v is not None}
    if not function.get("name") and custom.get("name"):
        return b.call_block(
            custom["name"], {"input": custom.get("input", "")}, call.get("id"), {**extras, "type": "custom"}
        )
    return b.call_block(function.get("name"), function.get("arguments"), call.get("id") or None, extras)


def usage_of(usage: Any) -> b.JSON | None:
    """Return usage_metadata; prompt_tokens counts the cached ones too."""
    if not b.is_object(usage) or usage.get("prompt_tokens") is None:
        return None
    inside: Any = usage.get("prompt_tokens_details") or b.EMPTY
    outside: Any = usage.get("completion_tokens_details") or b.EMPTY
    given, made = usage["prompt_tokens"], usage.get("completion_tokens") or 0
    out: b.JSON = {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": usage.get("total_tokens") or given + made,
    }
    cached = inside.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cache_read_input_tokens")
    written = inside.get("cache_write_tokens") or usage.get("cache_creation_input_tokens")
    if details := b.counts(cache_read=cached, cache_creation=written, audio=inside.get("audio_tokens")):
        out["input_token_details"] = details
    thought = outside.get("reasoning_tokens") or usage.get("reasoning_tokens")
    if details := b.counts(reasoning=thought, audio=outside.get("audio_tokens")):
        out["output_token_details"] = details
    return out


# -- stream -----------------------------------------------------------------------------------------


def decode_event(event: b.JSON, into: b.StreamState, provider: str = "openai") -> AIMessageChunk | None:
    """Return what an event adds, or None. Facts and usage are kept in `into` for the closing chunk.

    Raises: ModelError for an error event.
    """
    choices = event.get("choices")
    if not choices:
        if event.get("error"):
            raise from_reply(provider, None, event)
        _remember(event, into)
        return None
    if not into.facts or event.get("usage") is not None or len(event) > into.memory["width"]:
        _remember(event, into)
    choice = choices[0]
    if (reason := choice.get("finish_reason")) is not None or len(choice) > 4 or choice.get("logprobs"):
        _remember_choice(choice, into)
        into.finished = into.finished or bool(reason)
    delta = choice.get("delta")
    if not delta or choice.get("index"):
        return None
    return _delta(delta, into)


def _delta(delta: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    content = delta.get("content")
    if content and isinstance(content, str) and not delta.get("tool_calls"):
        return into.text(content)
    if delta.get("tool_calls"):
        chunk = into.calls([_fragment(call, i) for i, call in enumerate(delta["tool_calls"])])
        if content:
            chunk.content = into.text(content).content
        return chunk
    for field in ("reasoning_content", "reasoning"):
        if isinstance(delta.get(field), str) and delta[field]:
            _remember_delta(delta, into)
            return into.reasoning(delta[field], "reasoning", {"field": field})
    if b.is_array(content) and content:
        return _content_delta(content, into)
    if delta.get("refusal"):
        into.spoke = True
        return into.block({"type": "refusal", "refusal": delta["refusal"]}, "refusal")
    if (delta.get("audio") or b.EMPTY).get("data") or (delta.get("audio") or b.EMPTY).get("transcript"):
        into.spoke = True
        return into.block({k: v for k, v in _audio(delta["audio"]).items() if v}, "audio")
    _remember_delta(delta, into)
    return None


def _content_delta(content: list[Any], into: b.StreamState) -> AIMessageChunk | None:
    chunk: AIMessageChunk | None = None
    for item in content:
        if item.get("type") == "thinking":
            piece = into.reasoning(_thinking(item), "reasoning", {"field": "thinking"})
        elif item.get("type") == "text":
            piece = into.text(item.get("text", ""))
        else:
            into.spoke = True
            piece = into.block({"type": "non_standard", "value": item}, None)
        chunk = piece if chunk is None else chunk + piece
    return chunk


def _fragment(call: b.JSON, position: int) -> b.JSON:
    function = call.get("function") or b.EMPTY
    extras = {k: v for k, v in call.items() if k not in ("id", "type", "function", "index", "custom") and v is not None}
    index = call.get("index")
    return b.fragment(
        function.get("name"), function.get("arguments"), call.get("id"), position if index is None else index, extras
    )


def _remember(event: b.JSON, into: b.StreamState) -> None:
    into.memory["width"] = len(event)
    for key, value in event.items():
        if value is not None and key not in ("choices", "object", "usage", "obfuscation", "p"):
            into.facts[key] = value
    if b.is_object(event.get("usage")):
        into.usage = event["usage"]


def _remember_choice(choice: b.JSON, into: b.StreamState) -> None:
    for key, value in choice.items():
        if value is None or value == "" or key in ("delta", "index", "message", "token_ids"):
            continue
        if key == "logprobs":
            if b.is_object(value) and value.get("content"):
                into.facts.setdefault("logprobs", {"content": []})["content"].extend(value["content"])
        else:
            into.facts[key] = value


def _remember_delta(delta: b.JSON, into: b.StreamState) -> None:
    more = {k: v for k, v in delta.items() if k not in _MESSAGE_KEYS and v not in (None, "", [])}
    if more:
        into.kwargs.append(more)


def finish(into: b.StreamState, provider: str = "openai") -> AIMessageChunk:
    """Return the closing chunk of a stream that ended well."""
    if into.usage:
        into.facts["token_usage"] = into.usage
    return into.close(usage_of(into.usage), provider)
