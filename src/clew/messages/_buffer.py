"""A conversation as one string, for prompts of text models and for summaries.

A reader (person or model) tells the turns apart by their prefixes. Lines inside a message that look like a prefix are
indented, so that nobody can write another's turn.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.messages.chat import ChatMessage
from clew.messages.function import FunctionMessage
from clew.messages.human import HumanMessage
from clew.messages.system import SystemMessage
from clew.messages.tool import ToolMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

_BREAK = r"(\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029])"
_HAS_BREAK = re.compile(_BREAK)


def get_buffer_string(
    messages: Sequence[BaseMessage],
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
    format: Literal["prefix", "xml"] = "prefix",
) -> str:
    """Return the messages as text, one "Prefix: content" after the other.

    format: "xml" makes `<message type="human">…</message>` elements instead, with their text escaped.
    Raises: ValueError for what is no message. Cost: O(total size).
    """
    prefixes = (human_prefix, ai_prefix, system_prefix, function_prefix, tool_prefix)
    if format == "xml":
        return message_separator.join(_element(message) for message in messages)
    if format != "prefix":
        raise ValueError(f"format must be 'prefix' or 'xml', not {format!r}")
    guard: re.Pattern[str] | None = None
    lines: list[str] = []
    for message in messages:
        text = _said(message)
        if _HAS_BREAK.search(text):
            if guard is None:
                roles = {m.role for m in messages if isinstance(m, ChatMessage)}
                names = "|".join(re.escape(name) for name in sorted({*prefixes, *roles}, key=len, reverse=True) if name)
                guard = re.compile(f"{_BREAK}(?=(?:{names})[ \t]*[:\uff1a])", re.IGNORECASE)
            text = guard.sub(r"\1  ", text)
        lines.append(f"{_prefix(message, prefixes)}: {text}")
    return message_separator.join(lines)


def _prefix(message: BaseMessage, prefixes: tuple[str, str, str, str, str]) -> str:
    if isinstance(message, HumanMessage):
        return prefixes[0]
    if isinstance(message, AIMessage):
        return prefixes[1]
    if isinstance(message, SystemMessage):
        return prefixes[2]
    if isinstance(message, FunctionMessage):
        return prefixes[3]
    if isinstance(message, ToolMessage):
        return prefixes[4]
    if isinstance(message, ChatMessage):
        return message.role
    raise ValueError(f"can't show {type(message).__name__} in a conversation: {message!r}")


def _said(message: BaseMessage) -> str:
    if not isinstance(message, BaseMessage):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        raise ValueError(f"can't show {type(message).__name__} in a conversation: {message!r}")
    text = message.text
    if isinstance(message, AIMessage):
        calls: list[Any] = message.tool_calls
        if calls:
            shown = [{"name": call["name"], "args": call["args"], "id": call.get("id")} for call in calls]
            text = f"{text}{' ' if text else ''}{json.dumps(shown, ensure_ascii=False, default=str)}"
        elif "function_call" in message.additional_kwargs:
            text = f"{text}{message.additional_kwargs['function_call']}"
    return text


def _element(message: BaseMessage) -> str:
    from xml.sax.saxutils import escape, quoteattr

    if not isinstance(message, BaseMessage):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        raise ValueError(f"can't show {type(message).__name__} in a conversation: {message!r}")
    kind = message.role if isinstance(message, ChatMessage) else message.type.removesuffix("MessageChunk").lower()
    return f"<message type={quoteattr(kind)}>{escape(_said(message))}</message>"
