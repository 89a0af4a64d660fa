"""Give any message's content in standard blocks.

Known inputs: plain strings, standard blocks, the older `source_type` blocks, OpenAI (chat completions and responses),
Anthropic, Google and Ollama forms. A block of none of these is wrapped as "non_standard", so nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._kernel.tool_calls import parse_arguments
from clew.messages._openai_blocks import split_data_url
from clew.messages.content import KNOWN_BLOCK_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.messages.base import BaseMessage


def standard_blocks(message: BaseMessage) -> list[Any]:
    """Return the content of a message as standard blocks, tool calls included. Nothing is changed in place."""
    content = message.content
    out: list[Any] = []
    if isinstance(content, str):
        if content:
            out.append({"type": "text", "text": content})
    else:
        for item in cast("list[Any]", content):
            if isinstance(item, str):
                out.append({"type": "text", "text": item})
            else:
                out.extend(standard_block(item))
    reasoning = message.additional_kwargs.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning and not any(b["type"] == "reasoning" for b in out):
        out.insert(0, {"type": "reasoning", "reasoning": reasoning})
    refusal = message.additional_kwargs.get("refusal")
    if isinstance(refusal, str) and refusal and not any(b["type"] == "refusal" for b in out):
        out.append({"type": "refusal", "refusal": refusal})
    _with_calls(message, out)
    return out


def _with_calls(message: BaseMessage, out: list[Any]) -> None:
    """Let the parsed calls of the message stand for the raw ones in its content, and add what is missing."""
    from clew.messages.ai import AIMessage, AIMessageChunk

    if not isinstance(message, AIMessage):
        return
    if isinstance(message, AIMessageChunk) and message.chunk_position != "last":
        calls: list[Any] = [{**c, "type": "tool_call_chunk"} for c in message.tool_call_chunks]
    else:
        calls = [*message.tool_calls, *message.invalid_tool_calls]
    if not calls:
        return
    by_id = {call.get("id"): call for call in calls}
    seen: set[Any] = set()
    for position, block in enumerate(out):
        if block["type"] in ("tool_call", "invalid_tool_call", "tool_call_chunk"):
            call = by_id.get(block.get("id"))
            seen.add(block.get("id"))
            if call is not None:
                extras: dict[str, Any] = {**(block.get("extras") or {}), **(call.get("extras") or {})}
                out[position] = {**call, **({"extras": extras} if extras else {})}
    out.extend(dict(call) for call in calls if call.get("id") not in seen)


def standard_block(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the standard blocks that one block of any known form amounts to (usually one)."""
    kind = block.get("type")
    if kind is None and isinstance(block.get("text"), str) and len(block) == 1:
        return [{"type": "text", "text": block["text"]}]
    if "source_type" in block:
        return [_older(block)]
    reader = _READERS.get(cast("str", kind))
    if reader is not None:
        found = reader(block)
        if found is not None:
            return found
    if kind in KNOWN_BLOCK_TYPES:
        return [dict(block)]
    wrapped: dict[str, Any] = {"type": "non_standard", "value": block}
    if "index" in block:
        wrapped["index"] = block["index"]
    return [wrapped]


def _kept(block: dict[str, Any], *taken: str) -> dict[str, Any]:
    """{"index", "id", "extras"} of what is left over in a block."""
    out: dict[str, Any] = {key: block[key] for key in ("index", "id") if block.get(key) is not None}
    known = (*taken, "type", "index", "id", "extras")
    left = {key: value for key, value in block.items() if key not in known and value is not None}
    extras: dict[str, Any] = {**(block.get("extras") or {}), **left}
    if extras:
        out["extras"] = extras
    return out


def _older(block: dict[str, Any]) -> dict[str, Any]:
    """The blocks of version 0: {"type", "source_type": "url" | "base64" | "id" | "text", …}."""
    source = block["source_type"]
    out: dict[str, Any] = {"type": block["type"]}
    taken = ["source_type", "mime_type", "url", "data", "text", "metadata"]
    if source == "url":
        out["url"] = block.get("url")
    elif source == "base64":
        out["base64"] = block.get("data")
    elif source == "id":
        out["file_id"] = block.get("id")
    elif source == "text":
        out["type"] = "text-plain"
        out["text"] = block.get("text")
    if block.get("mime_type"):
        out["mime_type"] = block["mime_type"]
    rest = _kept(block, *taken)
    if source == "id":
        rest.pop("id", None)
    if block.get("metadata"):
        rest["extras"] = {**rest.get("extras", {}), **block["metadata"]}
    return {**out, **rest}


def _at(kind: str, url: str) -> dict[str, Any]:
    """A data block for a URL, which may hold the data itself."""
    mime, data = split_data_url(url)
    if data is None:
        return {"type": kind, "url": url}
    return {"type": kind, "base64": data, **({"mime_type": mime} if mime else {})}


def _image_url(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    image = block.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(url, str):
        return None
    rest = _kept(block, "image_url")
    if isinstance(image, dict):
        more = {k: v for k, v in cast("dict[str, Any]", image).items() if k != "url" and v is not None}
        if more:
            rest["extras"] = {**rest.get("extras", {}), **more}
    return [{**_at("image", url), **rest}]


def _input_audio(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    audio = block.get("input_audio")
    if not isinstance(audio, dict):
        return None
    format = cast("dict[str, Any]", audio).get("format", "wav")
    mime = f"audio/{ {'mp3': 'mpeg'}.get(format, format) }"
    return [{"type": "audio", "base64": audio.get("data"), "mime_type": mime, **_kept(block, "input_audio")}]  # pyright: ignore[reportUnknownMemberType]


def _file(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    member = block.get("file")
    if isinstance(member, dict):
        return [_openai_file(cast("dict[str, Any]", member), _kept(block, "file"))]
    return None


def _input_file(block: dict[str, Any]) -> list[dict[str, Any]]:
    rest = _kept(block, "file_id", "file_data", "file_url", "filename")
    return [_openai_file({k: v for k, v in block.items() if k not in ("type", "id", "index", "extras")}, rest)]


def _openai_file(member: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "file"}
    if member.get("file_id"):
        out["file_id"] = member["file_id"]
    if member.get("file_url"):
        out["url"] = member["file_url"]
    if member.get("file_data"):
        out.update(_at("file", member["file_data"]))
        if "url" in out and not member.get("file_url"):
            out["base64"] = out.pop("url")
    if member.get("filename"):
        rest = {**rest, "extras": {**rest.get("extras", {}), "filename": member["filename"]}}
    return {**out, **rest}


def _input_image(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    if block.get("file_id"):
        return [{"type": "image", "file_id": block["file_id"], **_kept(block, "file_id", "image_url")}]
    url = block.get("image_url")
    return [{**_at("image", url), **_kept(block, "image_url")}] if isinstance(url, str) else None


def _source(kind: str) -> Callable[[dict[str, Any]], list[dict[str, Any]] | None]:
    """Anthropic's image and document: {"source": {"type": "base64" | "url" | "file" | "text" | "content", …}}."""

    def read(block: dict[str, Any]) -> list[dict[str, Any]] | None:
        source = block.get("source")
        if not isinstance(source, dict):
            return None
        source = cast("dict[str, Any]", source)
        rest = _kept(block, "source")
        how = source.get("type")
        if how == "base64":
            return [{"type": kind, "base64": source.get("data"), "mime_type": source.get("media_type"), **rest}]
        if how == "url":
            return [{"type": kind, "url": source.get("url"), **rest}]
        if how == "file":
            return [{"type": kind, "file_id": source.get("file_id"), **rest}]
        if how == "text":
            mime = source.get("media_type", "text/plain")
            return [{"type": "text-plain", "text": source.get("data"), "mime_type": mime, **rest}]
        return None

    return read


def _thinking(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "reasoning", "reasoning": block.get("thinking", ""), **_kept(block, "thinking")}]


def _redacted(block: dict[str, Any]) -> list[dict[str, Any]]:
    rest = _kept(block)
    rest["extras"] = {"redacted": True, **rest.get("extras", {})}
    return [{"type": "reasoning", "reasoning": "", **rest}]


def _reasoning(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    """OpenAI responses: {"type": "reasoning", "summary": [{"text"}], "encrypted_content"}."""
    if "summary" not in block and "reasoning_content" not in block and "content" not in block:
        return None
    parts: list[Any] = block.get("summary") or block.get("content") or []
    text: Any = "\n\n".join(part.get("text", "") for part in parts) or block.get("reasoning_content") or ""
    if isinstance(text, dict):
        text = cast("dict[str, Any]", text).get("text", "")
    return [{"type": "reasoning", "reasoning": text, **_kept(block, "summary", "content", "reasoning_content")}]


def _tool_use(block: dict[str, Any]) -> list[dict[str, Any]]:
    args = block.get("input")
    if isinstance(args, str):
        args = parse_arguments(args) if args else {}
    if args is None and isinstance(block.get("partial_json"), str):
        args = parse_arguments(block["partial_json"])
    rest = _kept(block, "name", "input", "partial_json", "caller")
    if args is None:
        raw = block.get("input") or block.get("partial_json")
        return [{"type": "invalid_tool_call", "name": block.get("name"), "args": raw, "error": None, **rest}]
    if block.get("caller"):
        rest["extras"] = {**rest.get("extras", {}), "caller": block["caller"]}
    return [{"type": "tool_call", "name": block.get("name"), "args": args, "id": block.get("id"), **rest}]


def _function_call(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    if "arguments" not in block:
        return None
    rest = _kept(block, "name", "arguments", "call_id", "status")
    if block.get("id"):
        rest["extras"] = {**rest.get("extras", {}), "item_id": block["id"]}
    rest["id"] = block.get("call_id") or block.get("id")
    args = parse_arguments(block["arguments"])
    if args is None:
        return [
            {"type": "invalid_tool_call", "name": block.get("name"), "args": block["arguments"], "error": None, **rest}
        ]
    return [{"type": "tool_call", "name": block.get("name"), "args": args, **rest}]


def _server_tool_use(block: dict[str, Any]) -> list[dict[str, Any]]:
    args = block.get("input")
    if isinstance(args, str):
        args = parse_arguments(args)
    return [{
        "type": "server_tool_call", "id": block.get("id"), "name": block.get("name"), "args": args or {},
        **{k: v for k, v in _kept(block, "name", "input").items() if k != "id"},
    }]  # fmt: skip


def server_tool_result(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Anthropic's {"type": "<tool>_tool_result", "tool_use_id", "content"}."""
    content = block.get("content")
    failed = isinstance(content, dict) and str(cast("dict[str, Any]", content).get("type", "")).endswith("error")
    return [{
        "type": "server_tool_result", "tool_call_id": block.get("tool_use_id", ""),
        "status": "error" if failed else "success", "output": content,
        **_extras_with(block, ("tool_use_id", "content"), {"block_type": block["type"]}),
    }]  # fmt: skip


def _extras_with(block: dict[str, Any], taken: tuple[str, ...], more: dict[str, Any]) -> dict[str, Any]:
    rest = _kept(block, *taken)
    rest["extras"] = {**rest.get("extras", {}), **more}
    return rest


def _text(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    if not any(key in block for key in ("citations", "annotations", "signature", "thought_signature", "cache_control")):
        return None
    out: dict[str, Any] = {"type": "text", "text": block.get("text", "")}
    cited: list[Any] = block.get("annotations") or block.get("citations") or []
    out.update(_kept(block, "text", "annotations", "citations"))
    if cited:
        out["annotations"] = [annotation(item) for item in cited]
    return [out]


def annotation(item: dict[str, Any]) -> dict[str, Any]:
    """Return a provider's annotation of a text as a standard citation, with its other members in extras."""
    kind = item.get("type")
    if kind in ("citation", "non_standard_annotation"):
        return dict(item)
    if kind == "url_citation" and isinstance(item.get("url_citation"), dict):
        item = {"type": kind, **item["url_citation"]}
    title = item.get("title") or item.get("document_title") or item.get("filename")
    if not (item.get("url") or item.get("cited_text") or title or item.get("file_id")):
        return {"type": "non_standard_annotation", "value": item}
    out: dict[str, Any] = {"type": "citation"}
    for key in ("url", "start_index", "end_index", "cited_text"):
        if item.get(key) is not None:
            out[key] = item[key]
    if title:
        out["title"] = title
    taken = ("type", "url", "start_index", "end_index", "cited_text", "title")
    extras = {key: value for key, value in item.items() if key not in taken and value is not None}
    if kind not in ("url_citation", None):
        extras["citation_type"] = kind
    return {**out, "extras": extras} if extras else out


def _media(block: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Google's {"type": "media", "mime_type", "data" | "file_uri"}."""
    mime = str(block.get("mime_type", ""))
    kind = mime.split("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    rest = {"mime_type": mime, **_kept(block, "mime_type", "data", "file_uri")}
    if block.get("data") is not None:
        data = block["data"]
        if isinstance(data, bytes):
            import base64

            data = base64.b64encode(data).decode()
        return [{"type": kind, "base64": data, **rest}]
    return [{"type": kind, "url": block["file_uri"], **rest}] if block.get("file_uri") else None


def _output_text(block: dict[str, Any]) -> list[dict[str, Any]]:
    return standard_block({**block, "type": "text"})


_READERS: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "text": _text,
    "input_text": _output_text,
    "output_text": _output_text,
    "image_url": _image_url,
    "input_image": _input_image,
    "input_audio": _input_audio,
    "file": _file,
    "input_file": _input_file,
    "image": _source("image"),
    "document": _source("file"),
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    "reasoning_content": _reasoning,
    "tool_use": _tool_use,
    "function_call": _function_call,
    "server_tool_use": _server_tool_use,
    "web_search_tool_result": server_tool_result,
    "web_fetch_tool_result": server_tool_result,
    "code_execution_tool_result": server_tool_result,
    "bash_code_execution_tool_result": server_tool_result,
    "text_editor_code_execution_tool_result": server_tool_result,
    "tool_search_tool_result": server_tool_result,
    "mcp_tool_result": server_tool_result,
    "media": _media,
}
