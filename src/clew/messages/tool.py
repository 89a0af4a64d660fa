"""The result of a tool, and the calls that ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from clew.messages.base import BaseMessage, BaseMessageChunk, checked_content, known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "InvalidToolCall",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "invalid_tool_call",
    "tool_call",
    "tool_call_chunk",
]


class ToolCall(TypedDict):
    """A complete request to run a tool."""

    name: str
    args: dict[str, Any]
    id: str | None
    type: NotRequired[Literal["tool_call"]]


class ToolCallChunk(TypedDict):
    """A piece of a tool call: `args` is JSON text that may not be complete."""

    name: str | None
    args: str | None
    id: str | None
    index: int | None
    type: NotRequired[Literal["tool_call_chunk"]]


class InvalidToolCall(TypedDict):
    """A call that can't be made: `args` is the raw text, `error` says why."""

    name: str | None
    args: str | None
    id: str | None
    error: str | None
    type: NotRequired[Literal["invalid_tool_call"]]


def tool_call(*, name: str, args: dict[str, Any], id: str | None) -> ToolCall:
    """Make a ToolCall."""
    return ToolCall(name=name, args=args, id=id, type="tool_call")


def tool_call_chunk(
    *, name: str | None = None, args: str | None = None, id: str | None = None, index: int | None = None
) -> ToolCallChunk:
    """Make a ToolCallChunk."""
    return ToolCallChunk(name=name, args=args, id=id, index=index, type="tool_call_chunk")


def invalid_tool_call(
    *, name: str | None = None, args: str | None = None, id: str | None = None, error: str | None = None
) -> InvalidToolCall:
    """Make an InvalidToolCall."""
    return InvalidToolCall(name=name, args=args, id=id, error=error, type="invalid_tool_call")


@known("tool")
class ToolMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="tool", tag_field="_"):
    """What a tool answered to one call.

    tool_call_id: the id of the call that it answers. artifact: the full result, which the model does not see.
    status: "success" or "error".
    """

    tool_call_id: str
    type: str = "tool"
    artifact: Any = None
    status: Literal["success", "error"] = "success"

    def __post_init__(self) -> None:
        content = self.content
        if type(content) is not str:
            self.content = _result_content(content)
        if type(self.tool_call_id) is not str:
            self.tool_call_id = str(self.tool_call_id)
        if self.status != "success" and self.status != "error":
            raise ValueError(f"ToolMessage.status must be 'success' or 'error', not {self.status!r}")


@known("ToolMessageChunk")
class ToolMessageChunk(
    BaseMessageChunk, ToolMessage, kw_only=True, omit_defaults=True, tag="ToolMessageChunk", tag_field="_"
):
    """A part of a streamed tool message."""

    type: str = "ToolMessageChunk"

    def __add__(self, other: Any) -> Any:
        total = super().__add__(other)
        parts = cast("list[Any]", other) if isinstance(other, list) else [other]
        for part in parts:
            if part.tool_call_id != self.tool_call_id:
                raise ValueError("can't add tool messages that answer different calls")
            if part.artifact is not None:
                total.artifact = part.artifact
            if part.status == "error":
                total.status = "error"
        return total


def _result_content(content: Any) -> str | list[Any]:
    """A tool may return anything: what is no content becomes its text."""
    if isinstance(content, (list, tuple)) and not all(isinstance(item, (str, dict)) for item in content):  # pyright: ignore[reportUnknownVariableType]
        return [item if isinstance(item, (str, dict)) else str(item) for item in content]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if content is None or isinstance(content, (str, list, tuple)):
        return checked_content(content)
    return str(content)


def normal_calls(calls: Sequence[Mapping[str, Any]], kind: str) -> list[Any]:
    """Return calls whose `type` is filled in; the caller's dicts are not changed. Raises: ValueError."""
    out: list[Any] = []
    for call in calls:
        if not isinstance(call, dict):
            raise ValueError(f"a tool call is a dict with name, args and id, not {call!r}")
        if call.get("type") == kind and "id" in call and "args" in call:
            out.append(call)
        elif kind != "tool_call":
            out.append({"name": None, "args": None, "id": None, "error": None, **call, "type": kind})
        elif not call.get("name"):
            raise ValueError(f"a tool call needs the name of the tool: {call!r}")
        else:
            out.append({"args": {}, "id": None, **call, "type": kind})
    return out
