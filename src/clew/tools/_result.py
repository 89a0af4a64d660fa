"""What a tool returns, as the model is told."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, Literal, cast

from clew.messages.content import KNOWN_BLOCK_TYPES
from clew.messages.tool import ToolMessage

_BLOCKS = KNOWN_BLOCK_TYPES | {
    "image_url",
    "document",
    "search_result",
    "json",
    "input_audio",
    "input_text",
    "input_image",
}


def to_message(
    content: Any, artifact: Any, call_id: str, name: str, status: Literal["success", "error"] = "success"
) -> Any:
    """Return the ToolMessage that answers a call; messages and commands that a tool made itself pass as they are."""
    if is_final(content):
        return content
    return ToolMessage(as_content(content), artifact=artifact, tool_call_id=call_id, name=name, status=status)


def is_final(content: Any) -> bool:
    """Whether a tool gave the answer in its last form: a ToolMessage, a Command, or a list with one of them."""
    if isinstance(content, (str, dict)):
        return False
    if isinstance(content, ToolMessage):
        return True
    if isinstance(content, list):
        items = cast("list[Any]", content)
        return bool(items) and any(not isinstance(item, list) and is_final(item) for item in items)
    types: Any = sys.modules.get("clew.types")
    return types is not None and isinstance(content, types.Command)


def as_content(value: Any) -> str | list[Any]:
    """Return text as it is, content blocks as they are, and anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and any(isinstance(item, dict) for item in items) and all(map(_is_block, items)):
            return items
    return to_json(value)


def _is_block(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and cast("dict[str, Any]", item).get("type") in _BLOCKS)


def to_json(value: Any) -> str:
    """Return a value as JSON text.

    Sets become sorted lists, dates ISO texts, bytes base64, NaN and infinities texts, enums their values, pydantic and
    dataclass objects objects, other keys and values their `str()`.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_default)
    except (ValueError, TypeError):
        return json.dumps(_plain(value, set()), ensure_ascii=False, default=str)


def _default(value: Any) -> Any:
    out = _converted(value)
    if out is value:
        return str(value)
    return out


def _converted(value: Any) -> Any:
    """One step towards JSON; the value itself if there is none."""
    if isinstance(value, (set, frozenset)):
        items: list[Any] = list(cast("set[Any]", value))
        try:
            return sorted(items)
        except TypeError:
            return sorted(items, key=str)
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(bytes(cast("bytes", value))).decode()
    return value if isinstance(value, type) else _converted_object(value)


def _converted_object(value: Any) -> Any:
    if callable(convert := getattr(value, "isoformat", None)):  # dates and times
        return convert()
    if callable(convert := getattr(value, "model_dump", None)):  # pydantic
        return convert(mode="json")
    if callable(convert := getattr(value, "tolist", None)):  # numpy
        return convert()
    names: Any = getattr(value, "__dataclass_fields__", None) or getattr(value, "__struct_fields__", None)
    if names is not None:
        return {name: getattr(value, name) for name in names}
    enum: Any = sys.modules.get("enum")
    return value.value if enum is not None and isinstance(value, enum.Enum) else value


def _plain(value: Any, above: set[int]) -> Any:
    """The slow way: for odd keys, NaN, and cycles (which become a text)."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if id(value) in above:
        return "<cycle>"
    above = above | {id(value)}
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {key if isinstance(key, str) else str(_key(key)): _plain(item, above) for key, item in members.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, above) for item in cast("list[Any]", value)]
    out = _converted(value)
    return str(value) if out is value else _plain(out, above)


def _key(key: Any) -> Any:
    out = _converted(key)
    return out if not isinstance(out, (dict, list)) else key
