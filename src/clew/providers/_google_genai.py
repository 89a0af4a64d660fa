"""Google's generateContent wire (Gemini API and Vertex AI): encode, decode, stream.

Source: Gemini API reference, "Generating content", "Thinking" and "Function calling", and recorded exchanges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clew._ids import new_id
from clew.errors import ModelContentFilterError
from clew.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from clew.providers import _blocks as b
from clew.providers._errors import cannot_carry, from_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages import AIMessageChunk, BaseMessage

WIRE = "google generateContent"
MADE_UP = "clew-"
"""Prefix of call ids that we made because the wire had none: they never go on the wire."""

_TOP = frozenset({"safetySettings", "cachedContent", "labels", "toolConfig", "modelArmorConfig", "generationConfig"})
_RENAMED = {"max_tokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens", "n": "candidateCount"}
_NATIVE = (
    "inlineData", "fileData", "inline_data", "file_data", "functionCall", "functionResponse", "executableCode",
    "codeExecutionResult", "toolCall", "toolResponse",
)  # fmt: skip
_MEDIA = (
    "url",
    "base64",
    "data",
    "file_id",
    "mime_type",
    "source_type",
    "title",
    "context",
    "text",
    "filename",
    "reasoning",
)
_BLOCKED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "MODEL_ARMOR"})


# -- encode -----------------------------------------------------------------------------------------


def encode(messages: Sequence[BaseMessage], options: b.JSON) -> b.JSON:
    """Return the request body; neighbours of one role become one content, system messages the instruction.

    options: parameters in the wire's names, in snake or camel case. Raises: ModelInvalidRequestError.
    """
    system: list[b.JSON] = []
    contents: list[b.JSON] = []
    names: dict[str | None, str] = {}
    for message in messages:
        if isinstance(message, SystemMessage):
            system += _parts(message.content)
            continue
        role, parts = _turn(message, names)
        if contents and contents[-1]["role"] == role and role == "user" and "functionResponse" in parts[0]:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    body: b.JSON = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": system}
    config: b.JSON = {}
    for key, value in options.items():
        if value is not None and value != []:
            _option(body, config, key, value)
    if config:
        body["generationConfig"] = {**config, **body.get("generationConfig", {})}
    return body


def _option(body: b.JSON, config: b.JSON, key: str, value: Any) -> None:
    name = _RENAMED.get(key) or _camel(key)
    if key == "tools":
        body["tools"] = _tools(b.tool_dicts(value))
    elif key == "tool_choice":
        how, chosen = b.chosen(value)
        mode: b.JSON = value if how == "raw" else {"mode": "ANY" if how == "tool" else how.upper()}
        if how == "tool":
            mode["allowedFunctionNames"] = [chosen]
        body["toolConfig"] = {**body.get("toolConfig", {}), "functionCallingConfig": mode}
    elif key == "stop":
        config["stopSequences"] = [value] if isinstance(value, str) else list(value)
    elif key == "response_format":
        config["responseMimeType"] = "application/json"
        if shape := value.get("json_schema"):
            config["responseJsonSchema"] = shape["schema"]
    elif key in ("thinking_budget", "include_thoughts", "thinking_level"):
        config.setdefault("thinkingConfig", {})[name] = value
    elif key in ("strict", "parallel_tool_calls"):
        return  # the wire has no such switch, and calls are parallel and typed by the schema anyway
    elif name in _TOP:
        body[name] = {**value, **body.get(name, {})} if b.is_object(value) else value
    else:
        config[name] = value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _tools(tools: list[b.JSON]) -> list[b.JSON]:
    declared: list[b.JSON] = []
    out: list[b.JSON] = []
    for tool in tools:
        function = tool.get("function")
        if not b.is_object(function):
            out.append(tool)
            continue
        if not declared:
            out.append({"functionDeclarations": declared})
        entry: b.JSON = {"name": function["name"]}
        if function.get("description"):
            entry["description"] = function["description"]
        if (function.get("parameters") or b.EMPTY).get("properties"):
            entry["parametersJsonSchema"] = function["parameters"]
        declared.append(entry)
    return out


def _turn(message: BaseMessage, names: dict[str | None, str]) -> tuple[str, list[b.JSON]]:
    if isinstance(message, AIMessage):
        names.update({c["id"]: c["name"] for c in message.tool_calls})
        return "model", _model(message)
    if isinstance(message, ToolMessage):
        return "user", [_response(message, names)]
    if isinstance(message, HumanMessage):
        return "user", _parts(message.content) or [{"text": ""}]
    if isinstance(message, ChatMessage):
        return message.role, _parts(message.content)
    raise cannot_carry(WIRE, f"a message of type {message.type!r}")


def _parts(content: Any) -> list[b.JSON]:
    return [part(block) for block in b.blocks_of(content)]


def _response(message: ToolMessage, names: dict[str | None, str]) -> b.JSON:
    name = message.name or names.get(message.tool_call_id)
    if not name:
        raise cannot_carry(
            WIRE, f"the result of call {message.tool_call_id!r} without its tool's name", "set ToolMessage.name"
        )
    text = message.text
    value: Any = None
    if text.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = None
    if not b.is_object(value):
        value = {"error" if message.status == "error" else "output": text}
    out: b.JSON = {"name": name, "response": value}
    if message.tool_call_id and not message.tool_call_id.startswith(MADE_UP):
        out["id"] = message.tool_call_id
    media = [part(x) for x in b.blocks_of(message.content) if x.get("type") not in ("text", "text-plain")]
    if media:
        out["parts"] = media
    return {"functionResponse": out}


def part(block: b.Block) -> b.JSON:
    """Return a content block as a part."""
    kind = block.get("type")
    signed = {"thoughtSignature": (block.get("extras") or b.EMPTY).get("thought_signature")}
    more = signed if signed["thoughtSignature"] else {}
    if kind in ("text", "text-plain"):
        return {"text": block.get("text", ""), **more}
    if kind == "reasoning":
        return {"text": block.get("reasoning", ""), "thought": True, **more}
    if kind == "non_standard":
        return {**block["value"], **more}
    if kind is None or any(key in block for key in _NATIVE):
        return {k: v for k, v in block.items() if k not in ("type", "index")}
    if kind == "image_url":
        inner = block["image_url"]
        return part({"type": "image", "url": inner if isinstance(inner, str) else inner["url"]})
    how, value, mime = b.media(block)
    if not how:
        raise cannot_carry(WIRE, f"{kind} content")
    extra = {k: v for k, v in b.beside(block, _MEDIA).items() if k != "thought_signature"}
    if how == "base64":
        return {"inlineData": {"mimeType": b.need_mime(block, mime, WIRE), "data": value}, **extra, **more}
    return {"fileData": {"fileUri": value, **({"mimeType": mime} if mime else {})}, **extra, **more}


def _model(message: AIMessage) -> list[b.JSON]:
    parts: list[b.JSON] = []
    for block in b.pieces_of(message):
        kind = block.get("type")
        extras = block.get("extras") or b.EMPTY
        if kind in ("tool_call", "invalid_tool_call"):
            args = block.get("args")
            call: b.JSON = {
                "name": block.get("name"),
                "args": args if b.is_object(args) else {"invalid_arguments": args},
            }
            if block.get("id") and not str(block["id"]).startswith(MADE_UP):
                call["id"] = block["id"]
            signature = extras.get("thought_signature")
            parts.append({"functionCall": call, **({"thoughtSignature": signature} if signature else {})})
        elif kind == "reasoning":
            if "thought_signature" in extras or extras.get("thought"):
                parts.append(part(block))
        elif kind in ("server_tool_call", "server_tool_result"):
            if "part" in extras:
                parts.append(extras["part"])
        elif kind != "refusal":
            parts.append(part(block))
    return parts or [{"text": ""}]


# -- decode -----------------------------------------------------------------------------------------


def decode(body: Any, provider: str = "google") -> list[AIMessage]:
    """Return one message per candidate. body: a reply, or the list of replies of an unstreamed stream.

    Raises: ModelContentFilterError when the prompt was blocked, ModelError when the reply is an error.
    """
    if b.is_array(body):
        return [_joined(body, provider)]
    candidates = body.get("candidates")
    if not candidates:
        raise _blocked(body, provider)
    usage = usage_of(body.get("usageMetadata"))
    return [_candidate(c, body, usage if i == 0 else None, provider) for i, c in enumerate(candidates)]


def _joined(bodies: list[b.JSON], provider: str) -> AIMessage:
    from clew.messages import message_chunk_to_message
    from clew.messages.ai import add_ai_message_chunks

    into = b.StreamState()
    chunks = [c for body in bodies if (c := decode_event(body, into, provider)) is not None]
    message = message_chunk_to_message(add_ai_message_chunks(*chunks, finish(into, provider)))
    assert isinstance(message, AIMessage)
    return message


def _blocked(body: b.JSON, provider: str) -> Exception:
    feedback = body.get("promptFeedback") or b.EMPTY
    if reason := feedback.get("blockReason"):
        more = feedback.get("blockReasonMessage") or "the prompt was blocked"
        return ModelContentFilterError(f"{provider}: {reason}: {more}", provider=provider)
    return from_reply(
        provider, None, body if body.get("error") else {"error": {"message": "no candidates in the answer"}}
    )


def _candidate(candidate: b.JSON, body: b.JSON, usage: b.JSON | None, provider: str) -> AIMessage:
    blocks = [_block(p) for p in (candidate.get("content") or b.EMPTY).get("parts") or b.NOTHING]
    if candidate.get("finishReason") in _BLOCKED:
        blocks.append(_refusal(candidate))
    facts = {**_facts(body), **_candidate_facts(candidate)}
    meta = b.metadata(facts, provider, spoke=b.spoke(blocks))
    return b.message_of(blocks, response_metadata=meta, usage_metadata=usage)


def _refusal(candidate: b.JSON) -> b.Block:
    reason = candidate["finishReason"]
    return {"type": "refusal", "refusal": candidate.get("finishMessage") or f"the answer was stopped: {reason}"}


def _facts(body: b.JSON) -> b.JSON:
    out: b.JSON = {
        "model": body.get("modelVersion"),
        "id": body.get("responseId"),
        "token_usage": body.get("usageMetadata"),
    }
    known = ("candidates", "modelVersion", "responseId", "usageMetadata")
    return {**out, **{_snake(k): v for k, v in body.items() if k not in known}}


def _candidate_facts(candidate: b.JSON) -> b.JSON:
    out: b.JSON = {"finish_reason": candidate.get("finishReason")}
    return {**out, **{_snake(k): v for k, v in candidate.items() if k not in ("content", "finishReason", "index")}}


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def _block(native: b.JSON) -> b.Block:
    """Return a part as a standard block; its signature rides in extras."""
    extras: b.JSON = {}
    if native.get("thoughtSignature"):
        extras["thought_signature"] = native["thoughtSignature"]
    if "functionCall" in native:
        call = native["functionCall"]
        return b.call_block(call.get("name"), call.get("args"), call.get("id") or MADE_UP + new_id()[:12], extras)
    if native.get("thought") and "text" in native:
        return {"type": "reasoning", "reasoning": native["text"], "extras": {"thought": True, **extras}}
    if "text" in native:
        block: b.Block = {"type": "text", "text": native["text"]}
    elif "inlineData" in native:
        data = native["inlineData"]
        kind = str(data.get("mimeType", "")).split("/")[0]
        block = {"type": kind if kind in ("image", "audio", "video") else "file", "base64": data.get("data")}
        block["mime_type"] = data.get("mimeType")
    else:
        return _server(native) or {"type": "non_standard", "value": native}
    return {**block, "extras": extras} if extras else block


def _server(native: b.JSON) -> b.Block | None:
    """A tool that Google ran: the part itself goes back as it came."""
    kept = {"extras": {"part": native}}
    if "executableCode" in native:
        return {
            "type": "server_tool_call",
            "id": "",
            "name": "code_execution",
            "args": native["executableCode"],
            **kept,
        }
    if "codeExecutionResult" in native:
        return {
            "type": "server_tool_result",
            "tool_call_id": "",
            "status": "success",
            "output": native["codeExecutionResult"],
            **kept,
        }
    if "toolCall" in native:
        call = native["toolCall"]
        return {
            "type": "server_tool_call",
            "id": call.get("id"),
            "name": str(call.get("toolType")).lower(),
            "args": call.get("args"),
            **kept,
        }
    if "toolResponse" in native:
        reply = native["toolResponse"]
        return {
            "type": "server_tool_result",
            "tool_call_id": reply.get("id"),
            "status": "success",
            "output": reply.get("response"),
            **kept,
        }
    return None


def usage_of(usage: Any) -> b.JSON | None:
    """Return usage_metadata: thoughts count as output, prompts of tools as input."""
    if not b.is_object(usage) or not (usage.get("promptTokenCount") or usage.get("totalTokenCount")):
        return None
    given = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    thought = usage.get("thoughtsTokenCount") or 0
    made = (usage.get("candidatesTokenCount") or 0) + thought
    out: b.JSON = {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": usage.get("totalTokenCount") or given + made,
    }
    if details := b.counts(cache_read=usage.get("cachedContentTokenCount")):
        out["input_token_details"] = details
    if details := b.counts(reasoning=thought):
        out["output_token_details"] = details
    return out


# -- stream -----------------------------------------------------------------------------------------


def decode_event(event: b.JSON, into: b.StreamState, provider: str = "google") -> AIMessageChunk | None:
    """Return what an event adds, or None. Usage is a running total: the last one counts, in the closing chunk.

    Raises: ModelContentFilterError when the prompt was blocked, ModelError for an error event.
    """
    candidates = event.get("candidates")
    if event.get("usageMetadata"):
        into.usage = event["usageMetadata"]
    if not candidates:
        if event.get("error") or event.get("promptFeedback"):
            raise _blocked(event, provider)
        return None
    candidate = candidates[0]
    if candidate.get("finishReason") or len(candidate) > 2 or not into.facts:
        into.facts.update({k: v for k, v in {**_facts(event), **_candidate_facts(candidate)}.items() if v is not None})
        into.finished = into.finished or bool(candidate.get("finishReason"))
    chunk: AIMessageChunk | None = None
    for native in (candidate.get("content") or b.EMPTY).get("parts") or b.NOTHING:
        piece = _piece(native, into)
        if piece is not None:
            chunk = piece if chunk is None else chunk + piece
    if candidate.get("finishReason") in _BLOCKED:
        piece = into.block(_refusal(candidate), "refusal")
        chunk = piece if chunk is None else chunk + piece
        into.spoke = True
    return chunk


def _piece(native: b.JSON, into: b.StreamState) -> AIMessageChunk | None:
    text = native.get("text")
    if text is not None and not native.get("thought") and not native.get("thoughtSignature"):
        return into.text(text, into.memory.setdefault("at", 0)) if text else None
    block = _block(native)
    if block["type"] in ("tool_call", "invalid_tool_call"):
        index = into.memory["calls"] = into.memory.get("calls", -1) + 1
        return into.calls([b.fragment(block["name"], b.arguments_text(block), block["id"], index, block.get("extras"))])
    if block["type"] == "reasoning":
        into.thought = True
        return into.block(
            block if block["reasoning"] or len(block["extras"]) > 1 else {**block}, _index(into, "reasoning")
        )
    if block["type"] == "text":
        into.spoke = into.spoke or bool(block["text"])
        return into.block(block, _index(into, "text"))
    into.spoke = True
    return into.block(block, _index(into, None))


def _index(into: b.StreamState, kind: str | None) -> int:
    """Pieces of one kind in a row are one block; others begin a new one."""
    if kind is None or into.memory.get("kind", kind) != kind:
        into.memory["at"] = into.memory.get("at", 0) + 1
    into.memory["kind"] = kind
    return into.memory.setdefault("at", 0)


def finish(into: b.StreamState, provider: str = "google") -> AIMessageChunk:
    """Return the closing chunk of a stream that ended well."""
    into.facts["token_usage"] = into.usage
    return into.close(usage_of(into.usage), provider)
