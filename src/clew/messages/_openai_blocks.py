"""Single content blocks in the form of OpenAI's chat completions."""

from __future__ import annotations

from typing import Any, Literal

_KNOWN = frozenset({"text", "image_url", "input_audio", "file", "refusal"})


def to_openai_block(block: dict[str, Any], *, lenient: bool = True) -> dict[str, Any] | None:
    """Return the block as chat completions have it; None for what has no place there (reasoning).

    lenient: let blocks of unknown types through. Raises: ValueError for them otherwise.
    """
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block.get("text", "")}
    if kind in ("reasoning", "thinking", "redacted_thinking"):
        return None
    if kind in ("image", "audio", "file", "video"):
        return convert_to_openai_data_block(block)
    if kind in _KNOWN or lenient:
        return dict(block)
    raise ValueError(f"OpenAI has no content block of type {kind!r}: {block!r}")


def convert_to_openai_image_block(block: dict[str, Any]) -> dict[str, Any]:
    """Return an image block as {"type": "image_url", …}.

    Raises: ValueError if the block has neither a url nor data with a mime_type.
    """
    return {"type": "image_url", "image_url": {"url": _location(block, "image"), **_detail(block)}}


def convert_to_openai_data_block(
    block: dict[str, Any], api: Literal["chat/completions", "responses"] = "chat/completions"
) -> dict[str, Any]:
    """Return an image, audio or file block in OpenAI's form.

    block: a standard block ("url" | "base64" | "file_id"), the older one ("source_type"), or Anthropic's ("source").
    Raises: ValueError if OpenAI can't carry it.
    """
    kind = block.get("type")
    if kind == "image":
        if api == "responses":
            if file_id := _file_id(block):
                return {"type": "input_image", "file_id": file_id, **_detail(block)}
            return {"type": "input_image", "image_url": _location(block, "image"), **_detail(block)}
        return convert_to_openai_image_block(block)
    if kind == "file":
        return _file_block(block, api)
    if kind == "audio":
        data, mime = data_of(block)
        if data is None:
            raise ValueError("OpenAI takes audio as base64 data only")
        format = (mime or "audio/wav").rsplit("/", 1)[-1]
        return {"type": "input_audio", "input_audio": {"data": data, "format": {"mpeg": "mp3"}.get(format, format)}}
    raise ValueError(f"OpenAI has no content block of type {kind!r}")


def _file_block(block: dict[str, Any], api: str) -> dict[str, Any]:
    more: dict[str, Any] = {**(block.get("metadata") or {}), **(block.get("extras") or {})}
    name: Any = block.get("filename") or block.get("name") or more.get("filename")
    if file_id := _file_id(block):
        return {"type": "input_file", "file_id": file_id} if api == "responses" else {
            "type": "file", "file": {"file_id": file_id},
        }  # fmt: skip
    url = block.get("url")
    if url and not url.startswith("data:"):
        if api == "responses":
            return {"type": "input_file", "file_url": url}
        raise ValueError("OpenAI chat completions take files as data or file_id, not by url")
    data, mime = data_of(block)
    if data is None:
        raise ValueError("a file block needs base64 data, a url or a file_id")
    member: dict[str, Any] = {"file_data": f"data:{mime or 'application/pdf'};base64,{data}"}
    member["filename"] = name or "file"
    return {"type": "input_file", **member} if api == "responses" else {"type": "file", "file": member}


def data_of(block: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return (base64 data or None, mime type or None) of an image, audio, video or file block of any form."""
    mime = block.get("mime_type") or block.get("media_type")
    data = block.get("base64") or block.get("data")
    source = block.get("source")
    if data is None and isinstance(source, dict):
        data = source.get("data")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        mime = mime or source.get("media_type")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    url = block.get("url")
    if data is None and isinstance(url, str) and url.startswith("data:"):
        mime, data = split_data_url(url)
    if isinstance(data, bytes):
        import base64

        data = base64.b64encode(data).decode()
    return data, mime  # pyright: ignore[reportUnknownVariableType]


def split_data_url(url: str) -> tuple[str | None, str | None]:
    """Return (mime type, base64 data) of a data URL; (None, None) if it is none or not in base64."""
    head, comma, data = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        return None, None
    return head[5:-7].split(";")[0] or None, data


def _file_id(block: dict[str, Any]) -> str | None:
    if file_id := block.get("file_id"):
        return file_id
    return block.get("id") if block.get("source_type") == "id" else None


def _location(block: dict[str, Any], what: str) -> str:
    source = block.get("source")
    url = block.get("url") or (source.get("url") if isinstance(source, dict) else None)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if url:
        return url  # pyright: ignore[reportUnknownVariableType]
    data, mime = data_of(block)
    if data is None:
        raise ValueError(f"an {what} block needs a url or base64 data")
    if mime is None:
        raise ValueError(f"an {what} block with data needs its mime_type")
    return f"data:{mime};base64,{data}"


def _detail(block: dict[str, Any]) -> dict[str, Any]:
    more: dict[str, Any] = {**(block.get("metadata") or {}), **(block.get("extras") or {})}
    detail: Any = block.get("detail") or more.get("detail")
    return {"detail": detail} if detail else {}
