"""Tool calls and messages in the form of OpenAI's chat completions, which everybody's stored histories have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast

from clew._kernel.tool_calls import parse_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages.base import BaseMessage

_CALL_KEYS = frozenset({"id", "type", "function", "index"})


def read_tool_calls(raw: Any) -> tuple[list[Any], list[Any]]:
    """Return (tool calls, invalid tool calls) of a `tool_calls` list; nothing a model wrote makes it raise."""
    calls: list[Any] = []
    invalid: list[Any] = []
    for item in raw or ():
        if not isinstance(item, dict) or not isinstance(cast("dict[str, Any]", item).get("function"), dict):
            continue
        item = cast("dict[str, Any]", item)
        function: dict[str, Any] = item["function"]
        text: Any = function.get("arguments")
        args = cast("dict[str, Any]", text) if isinstance(text, dict) else parse_arguments(text)
        if args is None and not cast("str", text or "").strip():
            args = {}
        extras = {key: value for key, value in item.items() if key not in _CALL_KEYS}
        name = function.get("name")
        if args is not None and name:
            calls.append({"name": name, "args": args, "id": item.get("id"), "type": "tool_call", **extras})
        else:
            error = "the arguments are no JSON object" if name else "the call has no name"
            invalid.append({
                "name": name, "args": text, "id": item.get("id"), "error": error, "type": "invalid_tool_call", **extras,
            })  # fmt: skip
    return calls, invalid


def write_tool_calls(message: BaseMessage) -> list[dict[str, Any]]:
    """Return the `tool_calls` list that says the same; invalid calls go back as the model wrote them."""
    calls: list[Any] = [
        (call.get("id"), call["name"], json.dumps(call["args"], ensure_ascii=False))
        for call in getattr(message, "tool_calls", ())
    ]
    calls += [(c.get("id"), c.get("name"), c.get("args") or "") for c in getattr(message, "invalid_tool_calls", ())]
    return [{"type": "function", "id": id, "function": {"name": name, "arguments": text}} for id, name, text in calls]


_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}


def role_of(message: BaseMessage) -> str:
    """The role under which OpenAI knows a message."""
    kind = message.type.removesuffix("MessageChunk").lower()
    if kind == "chat":
        return message.role  # type: ignore[attr-defined,no-any-return]  # ChatMessage
    if kind == "system":
        return message.additional_kwargs.get("__openai_role__", "system")
    role = _ROLES.get(kind)
    if role is None:
        raise ValueError(f"a message of type {message.type!r} has no OpenAI role")
    return role


def convert_to_openai_messages(
    messages: Any,
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Return messages as OpenAI chat-completion dicts.

    messages: one message-like or a sequence of them. text_format: "string" joins text-only content, "block" makes
    blocks of it. pass_through_unknown_blocks: when false, a block that the format doesn't have is a ValueError.
    """
    from clew.messages._convert import convert_to_messages, is_one_message, to_message

    if text_format not in ("string", "block"):
        raise ValueError(f"text_format must be 'string' or 'block', not {text_format!r}")
    if is_one_message(messages):
        return _to_openai(to_message(messages), text_format, include_id, pass_through_unknown_blocks)
    return [
        _to_openai(message, text_format, include_id, pass_through_unknown_blocks)
        for message in convert_to_messages(messages)
    ]


def _to_openai(message: BaseMessage, text_format: str, include_id: bool, lenient: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"role": role_of(message)}
    if message.name is not None:
        out["name"] = message.name
    if include_id and message.id is not None:
        out["id"] = message.id
    calls = write_tool_calls(message)
    if calls:
        out["tool_calls"] = calls
    if (tool_call_id := getattr(message, "tool_call_id", None)) is not None:
        out["tool_call_id"] = tool_call_id
    content = message.content
    if isinstance(content, str):
        out["content"] = [{"type": "text", "text": content}] if text_format == "block" and content else content
    else:
        blocks = _blocks(cast("Sequence[Any]", content), lenient)
        if text_format == "string" and all(block["type"] == "text" for block in blocks):
            out["content"] = "\n".join(block["text"] for block in blocks)
        else:
            out["content"] = blocks
    return out


def _blocks(content: Sequence[Any], lenient: bool) -> list[dict[str, Any]]:
    from clew.messages._openai_blocks import to_openai_block

    out: list[dict[str, Any]] = []
    for block in content:
        if isinstance(block, str):
            out.append({"type": "text", "text": block})
        elif block.get("type") not in ("tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta"):
            converted = to_openai_block(block, lenient=lenient)
            if converted is not None:
                out.append(converted)
    return out
