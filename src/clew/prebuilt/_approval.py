"""A person's word on a tool call, before it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from clew.types import interrupt

if TYPE_CHECKING:
    from clew.messages import ToolCall

Approve = bool | Collection[str] | Callable[["ToolCall"], bool] | None
"""Which calls need approval: all, those of these tools, or those that the function picks."""


class ToolDecision(TypedDict, total=False):
    """An answer to an approval question.

    args: for "edit", in place of the model's. message: for "reject", told to the model.
    """

    type: Literal["approve", "edit", "reject"]
    args: dict[str, Any]
    message: str


def needs_approval(approve: Approve, call: ToolCall) -> bool:
    """Say whether a person must allow this call."""
    if approve is None or isinstance(approve, bool):
        return bool(approve)
    return bool(approve(call)) if callable(approve) else call["name"] in approve


def ask(call: ToolCall) -> ToolCall | str:
    """Ask, and return the call to make, or the text that tells the model why it was not made.

    The question is {"tool_call": {...}, "answers": [...]}; the answer True or False, or a ToolDecision.
    """
    shown = {"name": call["name"], "args": call["args"], "id": call["id"]}
    question = {"tool_call": shown, "answers": ["approve", "edit", "reject"]}
    answer: Any = interrupt(question, response_schema=bool | ToolDecision)
    decision: dict[str, Any] = {"type": "approve" if answer else "reject"} if isinstance(answer, bool) else answer
    if decision.get("type") == "approve":
        return call
    if decision.get("type") == "edit":
        return {**call, "args": decision.get("args", call["args"])}
    return decision.get("message") or f"The user did not allow this call of {call['name']}."
