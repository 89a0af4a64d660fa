"""Count the tokens of whole conversations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.usage._tokens import TokenCount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.language_models.base import BaseLanguageModel
    from clew.messages import BaseMessage

PER_MESSAGE = 4  # what the chat format puts around each message, its role included
PER_NAME = 1
PER_REPLY = 3  # the head of the answer that the model goes on from
PER_BLOCK = {
    "image": 765,
    "image_url": 765,
    "audio": 500,
    "input_audio": 500,
    "video": 2000,
    "file": 1500,
    "document": 1500,
}


def count_messages(model: BaseLanguageModel[Any], messages: Sequence[BaseMessage], tools: Sequence[Any] | None) -> int:
    """See `BaseLanguageModel.get_num_tokens_from_messages`.

    Source: OpenAI's published rule for chat prompts (3 per message and 1 for its role, 1 per name, 3 for the reply).
    """
    total, is_estimate = 0, bool(tools)
    for message in messages:
        text, fixed = _readable(message)
        count = model.get_num_tokens(text)
        is_estimate = is_estimate or bool(fixed) or getattr(count, "is_estimate", False)
        total += PER_MESSAGE + count + fixed + (PER_NAME if message.name else 0)
    if tools:
        from clew.language_models._tools import convert_tools

        total += model.get_num_tokens(tools_text(convert_tools(tools)))
    return TokenCount(total + (PER_REPLY if messages else 0), is_estimate=is_estimate)


def _readable(message: BaseMessage) -> tuple[str, int]:
    """Return the text that the model reads, and the tokens of blocks that are no text."""
    parts: list[str] = []
    fixed = 0
    if isinstance(message.content, str):
        parts.append(message.content)
    else:
        for block in message.content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block.get("text"), str):
                parts.append(block["text"])
            elif block.get("type") in PER_BLOCK:
                fixed += PER_BLOCK[block["type"]]
            elif block.get("type") not in ("tool_use", "tool_call", "function_call"):  # counted as tool calls below
                parts.append(json.dumps(block, ensure_ascii=False, default=str))
    calls = getattr(message, "tool_calls", ())
    parts.extend(f"{call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}" for call in calls)
    return "\n".join(parts), fixed


def tools_text(tools: Sequence[dict[str, Any]]) -> str:
    """Return tool definitions about as a model reads them: as signatures, far shorter than their JSON Schema.

    Source: as observed by many of OpenAI's chat models; other providers use forms of similar length.
    """
    lines = ["## functions", "namespace functions {"]
    for tool in tools:
        function: dict[str, Any] = tool.get("function") or tool
        parameters: dict[str, Any] = function.get("parameters") or function.get("input_schema") or {}
        lines += [f"// {line}" for line in str(function.get("description") or "").splitlines()]
        lines += [f"type {function.get('name')} = (_: {_type(parameters)}) => any;"]
    return "\n".join([*lines, "}"])


def _type(schema: dict[str, Any], depth: int = 0) -> str:
    """Return a JSON Schema as a type in the manner of TypeScript; depth limits schemas that contain themselves."""
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    options: list[dict[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or []
    if options:
        return " | ".join(_type(option, depth + 1) for option in options)
    kind = schema.get("type")
    if kind == "array":
        return _type(schema.get("items") or {}, depth + 1) + "[]"
    if kind != "object" or depth > 8:
        return "number" if kind == "integer" else str(kind or "any")
    required = schema.get("required", ())
    members: list[str] = []
    properties: dict[str, Any] = schema.get("properties") or {}
    for name, part in properties.items():
        if part.get("description"):
            members.append(f"// {part['description']}")
        members.append(f"{name}{'' if name in required else '?'}: {_type(part, depth + 1)},")
    return "\n".join(["{", *members, "}"])
