"""Messages as people read them in a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.messages.base import get_msg_title_repr

if TYPE_CHECKING:
    from clew.messages.base import BaseMessage


def pretty(message: BaseMessage, *, html: bool = False) -> str:
    """Return a title line, the name, the content, and the tool calls.

    html: mark the title as bold for a terminal.
    """
    kind = message.type.removesuffix("MessageChunk")
    kind = "Ai" if kind in ("ai", "AI") else kind.title()
    lines = [get_msg_title_repr(f"{kind} Message", bold=html)]
    if message.name is not None:
        lines.append(f"Name: {message.name}")
    calls: list[Any] = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    if message.content or not calls:
        lines += ["", str(message.content)]
    if calls:
        lines.append("Tool Calls:")
    for call in calls:
        lines.append(f"  {call.get('name') or 'Tool'} ({call.get('id')})")
        lines.append(f" Call ID: {call.get('id')}")
        if call.get("error"):
            lines.append(f"  Error: {call['error']}")
        lines.append("  Args:")
        args = call.get("args")
        if isinstance(args, dict):
            lines += [f"    {key}: {_value(value)}" for key, value in args.items()]  # pyright: ignore[reportUnknownVariableType]
        else:
            lines.append(f"    {args}")
    return "\n".join(lines)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
