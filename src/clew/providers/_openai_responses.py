"""OpenAI's responses wire: encode, decode, stream. The conversation is a list of items rather than messages.

Source: OpenAI API reference, "Responses", and recorded exchanges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from clew.providers import _blocks as b
from clew.providers._errors import cannot_carry, from_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.messages import AIMessageChunk, BaseMessage

WIRE = "openai responses"
_FACTS = (
    "id", "model", "status", "created_at", "service_tier", "incomplete_details", "conversation", "previous_response_id",
    "metadata", "content_filters", "moderation", "system_fingerprint",
)  # fmt: skip
_MEDIA = ("url", "base64", "data", "file_id", "mime_type", "source_type", "filename")
_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_NOT_HERE = (
    "n",
    "seed",
    "stream_options",
    "logit_bias",
    "presence_penalty",
    "frequency_penalty",
    "modalities",
    "audio",
)


# -- encode -----------------------------------------------------------------------------------------


def encode(messages: Sequence[BaseMessage], options: b.JSON) -> b.JSON:
    """Return the request body. Raises: ModelInvalidRequestError for content or options the wire can't carry."""
    items: list[b.JSON] = []
    for message in messages:
        items += encode_message(message)
    body: b.JSON = {"input": items}
    for key, value in options.items():
        if value is None or key == "stream_options" or (key == "tools" and not value):
            continue
        if key == "stop" or key in _NOT_HERE:
            raise cannot_carry(WIRE, f"the parameter {key!r}", "use the chat completions API")
        _option(body, key, value)
    if "tools" not in body:
        body.pop("parallel_tool_calls", None)
        body.pop("tool_choice", None)
    return body


def _option(body: b.JSON, key: str, value: Any) -> None:
    if key == "tools":
        body["tools"] = [_tool(tool) for tool in b.tool_dicts(value)]
    elif key == "tool_choice":
        how, name = b.chosen(value)
        choice = {"type": "function", "name": name} if how == "tool" else value if how == "raw" else how
        body["tool_choice"] = "required" if choice == "any" else choice
    elif key == "response_format":
        shape = value.get("json_schema")
        body.setdefault("text", {})["format"] = {"type": "json_schema", **shape} if shape else value
    elif key == "reasoning_effort":
        body.setdefault("reasoning", {})["effort"] = value
    elif key == "text" and b.is_object(body.get("text")):
        body["text"] = {**value, **body["text"]}
    else:
        body[_RENAMED.get(key, key)] = value


def _tool(tool: b.JSON) -> b.JSON:
    return {"type": "function", **tool["function"]} if b.is_object(tool.get("function")) else tool


def encode_message(message: BaseMessage) -> list[b.JSON]:
    """Return the items that one message becomes."""
    if isinstance(message, AIMessage):
        return _assistant(message)
    if isinstance(message, ToolMessage):
        output = _content(message)
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
    if isinstance(message, SystemMessage):
        role = str(message.additional_kwargs.get("role") or "system")
    elif isinstance(message, HumanMessage):
        role = "user"
    elif isinstance(message, ChatMessage):
        role = message.role
    else:
        raise cannot_carry(WIRE, f"a message of type {message.type!r}")
    return [{"role": role, "content": _content(message)}]


def _content(message: BaseMessage) -> Any:
    if isinstance(message.content, str):
        return message.content
    return [part(block) for block in b.blocks_of(message.content)]


def part(block: b.Block) -> b.JSON:
    """Return a content block as an input part."""
    kind = block.get("type")
    if kind in ("text", "text-plain"):
        return {
            "type": "input_text",
            "text": block.get("text", ""),
            **b.beside(block, ("text", "mime_type", "title", "context")),
        }
    if kind == "image_url":
        inner = block["image_url"]
        inner = {"url": inner} if isinstance(inner, str) else inner
        return {"type": "input_image", "image_url": inner["url"], **{k: v for k, v in inner.items() if k != "url"}}
    if kind == "file" and b.is_object(block.get("file")):
        return {"type": "input_file", **block["file"]}
    if str(kind).startswith("input_"):
        return {k: v for k, v in block.items() if k != "index"}
    if kind == "non_standard":
        return block["value"]
    how, value, mime = b.media(block)
    more = b.beside(block, _MEDIA)
    if kind == "image" and how:
        url = value if how == "url" else b.data_url(value, b.need_mime(block, mime, WIRE)) if how == "base64" else None
        return {"type": "input_image", **({"image_url": url} if url else {"file_id": value}), **more}
    if kind == "file" and how == "base64":
        name = block.get("filename") or more.pop("filename", None) or "file"
        return {
            "type": "input_file",
            "filename": name,
            "file_data": b.data_url(value, b.need_mime(block, mime, WIRE)),
            **more,
        }
    if kind == "file" and how:
        return {"type": "input_file", "file_url" if how == "url" else "file_id": value, **more}
    if kind == "audio" and how == "base64":
        return {"type": "input_audio", "input_audio": {"data": value, "format": mime.removeprefix("audio/") or "wav"}}
    raise cannot_carry(WIRE, f"{kind} content" + (f" by {how}" if how else ""))


def _assistant(message: AIMessage) -> list[b.JSON]:
    items: list[b.JSON] = []
    for block in b.pieces_of(message):
        kind = block.get("type")
        extras = block.get("extras") or b.EMPTY
        if kind in ("tool_call", "invalid_tool_call"):
            call = {"type": "function_call", "call_id": block.get("id"), "name": block.get("name")}
            items.append({**call, "arguments": b.arguments_text(block), **_unless(extras, "item_id")})
        elif kind == "reasoning":
            if "item" in extras:
                items.append({"type": "reasoning", "id": block.get("id"), **extras["item"]})
        elif kind == "text":
            _say(items, block, {"type": "output_text", "text": block.get("text", "")})
        elif kind == "refusal":
            _say(items, block, {"type": "refusal", "refusal": block.get("refusal", "")})
        elif kind in ("server_tool_call", "image") and "item" in extras:
            result = {"result": block["base64"]} if kind == "image" else {}
            items.append({**extras["item"], **result})
        elif kind == "non_standard":
            items.append(block["value"])
        elif kind not in ("server_tool_call", "server_tool_result"):
            raise cannot_carry(WIRE, f"{kind} content of an assistant")
    return items


def _unless(values: b.JSON, *names: str) -> b.JSON:
    return {k: v for k, v in values.items() if k not in names}


def _say(items: list[b.JSON], block: b.Block, said: b.JSON) -> None:
    """Add a part to the last message item if it is the same message, else open one."""
    notes = [_native(a) for a in block.get("annotations") or b.NOTHING]
    if block.get("id"):
        said["annotations"] = notes
        last = items[-1] if items else {}
        if last.get("id") == block["id"]:
            last["content"].append(said)
        else:
            item = {"type": "message", "role": "assistant", "id": block["id"], "status": "completed", "content": [said]}
            items.append({**item, **(block.get("extras") or {})})
    else:
        part = {**said, "annotations": notes} if notes else said
        items.append({"type": "message", "role": "assistant", "content": [part]})


def _native(annotation: b.JSON) -> b.JSON:
    if annotation.get("type") == "non_standard_annotation":
        return annotation["value"]
    return {**{k: v for k, v in annotation.items() if k != "extras"}, "type": "url_citation"}


# -- decode -----------------------------------------------------------------------------------------


def decode(body: b.JSON, provider: str = "openai") -> list[AIMessage]:
    """Return the one message of a whole reply. Raises: ModelError when the response failed."""
    if body.get("error") or "output" not in body:
        raise from_reply(provider, None, body)
    blocks: list[b.Block] = []
    logprobs: list[Any] = []
    mixed = False
    for item in body["output"]:
        found = _item(item, logprobs, with_id=mixed)
        mixed = mixed or any(x["type"] not in ("text", "tool_call", "invalid_tool_call") for x in found)
        blocks += found
    facts = _facts(body, blocks)
    if logprobs:
        facts["logprobs"] = logprobs
    meta = b.metadata(facts, provider, spoke=b.spoke(blocks))
    return [b.message_of(blocks, response_metadata=meta, usage_metadata=usage_of(body.get("usage")))]


def _facts(body: b.JSON, blocks: list[b.Block]) -> b.JSON:
    facts = {key: body[key] for key in _FACTS if body.get(key)}
    facts["message_ids"] = [item.get("id") for item in body.get("output") or b.NOTHING if item.get("type") == "message"]
    facts["token_usage"] = body.get("usage")
    reason = (body.get("incomplete_details") or b.EMPTY).get("reason")
    called = any(x["type"] in ("tool_call", "invalid_tool_call") for x in blocks)
    facts["finish_reason"] = {"max_output_tokens": "length"}.get(reason, reason) or ("tool_calls" if called else "stop")
    return facts


def _item(item: b.JSON, logprobs: list[Any], *, with_id: bool) -> list[b.Block]:
    kind = item.get("type")
    if kind == "message" and item.get("role") == "assistant":
        return [_said(p, item, logprobs, with_id=with_id) for p in item.get("content") or b.NOTHING]
    if kind == "function_call":
        return [b.call_block(item.get("name"), item.get("arguments"), item.get("call_id"), _call_extras(item))]
    if kind == "reasoning":
        block: b.Block = {"type": "reasoning", "reasoning": _thoughts(item), "id": item.get("id")}
        return [{**block, "extras": {"item": _rest(item)}}]
    if kind == "image_generation_call" and item.get("result"):
        mime = f"image/{item.get('output_format') or 'png'}"
        rest = {k: v for k, v in item.items() if k != "result"}
        return [
            {
                "type": "image",
                "base64": item["result"],
                "mime_type": mime,
                "id": item.get("id"),
                "extras": {"item": rest},
            }
        ]
    if str(kind).endswith("_call"):
        name = str(kind).removesuffix("_call")
        args = item.get("action") or {k: item[k] for k in ("queries", "code", "arguments") if item.get(k)}
        return [
            {"type": "server_tool_call", "id": item.get("id"), "name": name, "args": args, "extras": {"item": item}}
        ]
    return [{"type": "non_standard", "value": item}]


def _call_extras(item: b.JSON) -> b.JSON:
    return {"item_id": item.get("id"), **({"namespace": item["namespace"]} if item.get("namespace") else {})}


def _thoughts(item: b.JSON) -> str:
    parts = [p.get("text", "") for p in [*(item.get("summary") or b.NOTHING), *(item.get("content") or b.NOTHING)]]
    return "\n\n".join(p for p in parts if p)


def _rest(item: b.JSON) -> b.JSON:
    rest = {k: v for k, v in item.items() if k not in ("id", "type") and v not in (None, [], "")}
    return {"summary": item.get("summary") or [], **rest}


def _said(said: b.JSON, item: b.JSON, logprobs: list[Any], *, with_id: bool) -> b.Block:
    if said.get("type") == "refusal":
        return {"type": "refusal", "refusal": said.get("refusal", "")}
    logprobs.extend(said.get("logprobs") or b.NOTHING)
    block: b.Block = {"type": "text", "text": said.get("text", "")}
    if said.get("annotations"):
        block["annotations"] = [annotation(a) for a in said["annotations"]]
    if with_id or "annotations" in block:
        block["id"] = item.get("id")
        if item.get("phase"):
            block["extras"] = {"phase": item["phase"]}
    return block


def annotation(native: b.JSON) -> b.JSON:
    """Return a standard citation for a url_citation; others are kept whole."""
    if native.get("type") == "url_citation":
        return {**native, "type": "citation"}
    return {"type": "non_standard_annotation", "value": native}


def usage_of(usage: Any) -> b.JSON | None:
    """Return usage_metadata; input_tokens counts the cached ones too."""
    if not b.is_object(usage) or usage.get("input_tokens") is None:
        return None
    given, made = usage["input_tokens"], usage.get("output_tokens") or 0
    out: b.JSON = {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": usage.get("total_tokens") or given + made,
    }
    if details := b.counts(cache_read=(usage.get("input_tokens_details") or b.EMPTY).get("cached_tokens")):
        out["input_token_details"] = details
    if details := b.counts(reasoning=(usage.get("output_tokens_details") or b.EMPTY).get("reasoning_tokens")):
        out["output_token_details"] = details
    return out


# -- stream -----------------------------------------------------------------------------------------


def decode_event(event: b.JSON, into: b.StreamState, provider: str = "openai") -> AIMessageChunk | None:
    """Return what an event adds, or None. Raises: ModelError for an error event or a failed response."""
    kind = event.get("type")
    if kind in ("error", "response.failed"):
        raise from_reply(provider, None, event.get("response") or event)
    read = _EVENTS.get(str(kind))
    return read(event, into) if read is not None else None


def _arguments(event: b.JSON, into: b.StreamState) -> AIMessageChunk:
    into.memory["args", _item_of(event)] = True
    return into.calls([b.fragment(None, event["delta"], None, _item_of(event))])


def _summary_part(event: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    return _thought({**event, "delta": "\n\n"}, into) if event.get("summary_index") else None


def _note(event: b.JSON, into: b.StreamState) -> AIMessageChunk:
    return into.block({"type": "text", "text": "", "annotations": [annotation(event["annotation"])]}, _place(event))


def _refusal(event: b.JSON, into: b.StreamState) -> AIMessageChunk:
    into.spoke = True
    return into.block({"type": "refusal", "refusal": event["delta"]}, _place(event))


def _item_of(event: b.JSON) -> Any:
    """Return what tells the items of a stream apart: their index, or their id where a server leaves the index out."""
    index = event.get("output_index")
    return index if index is not None else event.get("item_id") or (event.get("item") or b.EMPTY).get("id")


def _place(event: b.JSON) -> str:
    return f"{event.get('output_index', 0)}.{event.get('content_index', 0)}"


def _text_delta(event: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    if event.get("logprobs"):
        into.facts.setdefault("logprobs", []).extend(event["logprobs"])
    if not event["delta"]:
        return None
    if not into.mixed:
        return into.text(event["delta"])
    place = _place(event)
    chunk = into.text(event["delta"], place)
    if ("said", place) not in into.memory:
        into.memory["said", place] = True
        block: Any = chunk.content[0]
        block["id"] = event.get("item_id")
        if phase := into.memory.get(("phase", _item_of(event))):
            block["extras"] = {"phase": phase}
    return chunk


def _thought(event: b.JSON, into: b.StreamState) -> AIMessageChunk:
    into.thought = True
    return into.block({"type": "reasoning", "reasoning": event["delta"]}, _item_of(event))


def _added(event: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    item, index = event["item"], _item_of(event)
    if item["type"] == "reasoning":
        into.thought = into.mixed = True
    elif item["type"] == "message" and item.get("phase"):
        into.memory["phase", index] = item["phase"]
    if item["type"] != "function_call":
        return None
    args = item.get("arguments") or None
    if args:
        into.memory["args", index] = True
    return into.calls([b.fragment(item.get("name"), args, item.get("call_id"), index, _call_extras(item))])


def _done(event: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    item, index = event["item"], _item_of(event)
    into.memory.setdefault("items", []).append(item)
    if item["type"] == "reasoning":
        block = {"type": "reasoning", "reasoning": "", "id": item.get("id"), "extras": {"item": _rest(item)}}
        return into.block(block, index)
    if item["type"] == "function_call":
        if ("args", index) in into.memory or not item.get("arguments"):
            return None
        return into.calls([b.fragment(None, item["arguments"], None, index)])
    if item["type"] == "message" and item.get("role") == "assistant":
        return None
    into.spoke = True
    (block,) = _item(item, [], with_id=True)
    return into.block(block, index)


def _complete(event: b.JSON, into: b.StreamState) -> None:
    response = event["response"]
    into.finished = True
    into.usage = response.get("usage") or b.EMPTY
    output: list[Any] = response.get("output") or into.memory.get("items", [])
    called = [{"type": "tool_call"} for item in output if item.get("type") == "function_call"]
    into.facts.update(_facts({**response, "output": output}, called))


_EVENTS: dict[str, Callable[[b.JSON, b.StreamState], AIMessageChunk | None]] = {
    "response.output_text.delta": _text_delta,
    "response.function_call_arguments.delta": _arguments,
    "response.reasoning_summary_text.delta": _thought,
    "response.reasoning_text.delta": _thought,
    "response.reasoning_summary_part.added": _summary_part,
    "response.output_item.added": _added,
    "response.output_item.done": _done,
    "response.output_text.annotation.added": _note,
    "response.refusal.delta": _refusal,
    "response.completed": _complete,
    "response.incomplete": _complete,
}


def finish(into: b.StreamState, provider: str = "openai") -> AIMessageChunk:
    """Return the closing chunk of a stream that ended well."""
    return into.close(usage_of(into.usage), provider)
