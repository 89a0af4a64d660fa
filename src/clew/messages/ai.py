"""What the model says, whole or in parts.

Parts add up with `+`. A sum keeps the list of its parts and works out its fields when one is read, so adding n parts
in a loop costs O(n), and `add_ai_message_chunks` does it at once. `tool_calls` of a part or sum holds only complete
calls; a sum that is read, changed or branched off in between is right too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import NotRequired, TypedDict

from clew._kernel.merge import merge_contents, merge_facts, merge_fragments
from clew._kernel.tool_calls import ToolCallSum, split_calls
from clew._kernel.usage import combine, fold_usage
from clew.messages.base import BaseMessage, BaseMessageChunk, checked_content, known
from clew.messages.tool import InvalidToolCall, ToolCall, ToolCallChunk, normal_calls

if TYPE_CHECKING:
    from collections.abc import Iterable


class InputTokenDetails(TypedDict, total=False):
    """Parts of input_tokens."""

    audio: int
    cache_creation: int
    cache_read: int


class OutputTokenDetails(TypedDict, total=False):
    """Parts of output_tokens."""

    audio: int
    reasoning: int


class UsageMetadata(TypedDict):
    """Tokens of one model call."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: NotRequired[InputTokenDetails]
    output_token_details: NotRequired[OutputTokenDetails]


@known("ai")
class AIMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="ai", tag_field="_"):
    """What the model answered.

    tool_calls: calls to be made, {"name", "args" (dict), "id", "type"}. invalid_tool_calls: what can't be parsed.
    usage_metadata: tokens of the call, or None.
    """

    type: str = "ai"
    tool_calls: list[ToolCall] = []
    invalid_tool_calls: list[InvalidToolCall] = []
    usage_metadata: UsageMetadata | None = None

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            self.content = checked_content(self.content)
        if self.tool_calls:
            self.tool_calls = normal_calls(self.tool_calls, "tool_call")
        elif self.additional_kwargs and "tool_calls" in self.additional_kwargs and not self.invalid_tool_calls:
            from clew.messages._openai import read_tool_calls

            self.tool_calls, self.invalid_tool_calls = read_tool_calls(self.additional_kwargs["tool_calls"])
        if self.invalid_tool_calls:
            self.invalid_tool_calls = normal_calls(self.invalid_tool_calls, "invalid_tool_call")


_LAZY = frozenset({
    "content", "additional_kwargs", "response_metadata", "name", "id", "model_extra", "tool_calls",
    "invalid_tool_calls", "usage_metadata", "tool_call_chunks", "chunk_position", "usage_mode",
})  # fmt: skip


@known("AIMessageChunk")
class AIMessageChunk(
    BaseMessageChunk, AIMessage, kw_only=True, omit_defaults=True, dict=True, tag="AIMessageChunk", tag_field="_"
):
    """A part of a streamed answer.

    tool_call_chunks: pieces of tool calls. chunk_position: "last" when nothing more comes.
    usage_mode: how usage_metadata is merged: "delta" (added up), "running" or "final" (the last one counts).
    """

    type: str = "AIMessageChunk"
    tool_call_chunks: list[ToolCallChunk] = []
    chunk_position: Literal["last"] | None = None
    usage_mode: Literal["delta", "running", "final"] = "delta"

    # A sum has `_parts` = (list of parts, how many of them are mine) and its fields are unset until one is read.

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            self.content = checked_content(self.content)
        if self.tool_call_chunks:
            if not self.tool_calls:
                del self.tool_calls, self.invalid_tool_calls  # worked out when read
        elif self.tool_calls:
            self.tool_calls = normal_calls(self.tool_calls, "tool_call")
            self.tool_call_chunks = _as_fragments(self.tool_calls)

    def __getattr__(self, name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        parts = self.__dict__.pop("_parts", None)
        if parts is not None:
            _fill(self, parts[0][: parts[1]])
            return getattr(self, name)
        _set(self, "tool_calls", None)
        _set(self, "invalid_tool_calls", None)
        calls, invalid = split_calls(self.tool_call_chunks, is_final=self.chunk_position == "last")
        _set(self, "tool_calls", calls)
        _set(self, "invalid_tool_calls", invalid)
        return calls if name == "tool_calls" else invalid

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parts" in self.__dict__:
            _ = self.content
        if name in ("tool_call_chunks", "chunk_position") and self.tool_call_chunks:
            _set(self, name, value)
            del self.tool_calls, self.invalid_tool_calls
        else:
            _set(self, name, value)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, AIMessageChunk):
            if isinstance(other, list):
                return add_ai_message_chunks(self, *other)  # pyright: ignore[reportUnknownArgumentType] - checked there
            return NotImplemented
        mine = self.__dict__.get("_parts")
        if mine is None:
            parts, count = [_snapshot(self)], 1
        else:
            parts, count = mine
        if "_parts" in other.__dict__:
            return add_ai_message_chunks(self, other)
        part = _snapshot(other)
        if count != len(parts):
            parts = parts[:count]
        parts.append(part)
        if parts[count] is not part:  # another thread went on from the same sum
            parts = [*parts[:count], part]
        return _pending(type(self), parts, count + 1)

    def __copy__(self) -> AIMessageChunk:
        return _snapshot(self)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), {name: getattr(self, name) for name in self.__struct_fields__})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__)

    __hash__ = None  # type: ignore[assignment]  # messages can change

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"


_set: Any = BaseMessage.__setattr__
_LAZY_ORDER = tuple(_LAZY)


def _snapshot(chunk: AIMessageChunk) -> AIMessageChunk:
    """A shallow copy, so that what is done to the chunk later does not change the sum."""
    if "_parts" in chunk.__dict__:
        _ = chunk.content
    if chunk.tool_call_chunks:
        _ = chunk.tool_calls
    return BaseMessage.__copy__(chunk)


def _pending(cls: type[AIMessageChunk], parts: list[AIMessageChunk], count: int) -> AIMessageChunk:
    out = cls("")
    del (
        out.content, out.additional_kwargs, out.response_metadata, out.name, out.id, out.model_extra, out.tool_calls,
        out.invalid_tool_calls, out.usage_metadata, out.tool_call_chunks, out.chunk_position, out.usage_mode,
    )  # fmt: skip
    out.__dict__["_parts"] = (parts, count)
    return out


def _rebuild(cls: type[AIMessageChunk], fields: dict[str, Any]) -> AIMessageChunk:
    return cls(**fields)


def _as_fragments(calls: Iterable[Any]) -> list[Any]:
    import json

    return [
        {
            "name": call["name"],
            "args": json.dumps(call["args"], ensure_ascii=False),
            "id": call["id"],
            "index": None,
            "type": "tool_call_chunk",
        }
        for call in calls
    ]


def _fill(out: AIMessageChunk, parts: list[AIMessageChunk]) -> None:
    """Work out the sum of the parts into `out`, whose fields are unset."""
    first = parts[0]
    contents: list[Any] = []
    kwargs: list[dict[str, Any]] = []
    facts: list[dict[str, Any]] = []
    extras: list[dict[str, Any]] = []
    usage: list[tuple[Any, str]] = []
    fragments: ToolCallSum | None = None
    position = name = None
    ids: list[str] = []
    for part in parts:
        if part.content:
            contents.append(part.content)
        if part.additional_kwargs:
            kwargs.append(part.additional_kwargs)
        if part.response_metadata:
            facts.append(part.response_metadata)
        if part.model_extra:
            extras.append(part.model_extra)
        if part.tool_call_chunks:
            if fragments is None:
                fragments = ToolCallSum()
            fragments.extend(part.tool_call_chunks)
        if part.usage_metadata is not None:
            usage.append((part.usage_metadata, part.usage_mode))
        if part.chunk_position is not None:
            position = part.chunk_position
        if part.id is not None:
            ids.append(part.id)
        if part.name is not None and name is None:
            name = part.name
    if not contents and isinstance(first.content, list):
        contents.append([])
    _set(out, "content", merge_contents(contents))
    _set(out, "additional_kwargs", merge_fragments(*kwargs) if kwargs else {})
    _set(out, "response_metadata", merge_facts(*facts) if facts else {})
    _set(out, "model_extra", merge_facts(*extras) if extras else None)
    _set(out, "name", name)
    _set(out, "id", _best_id(ids))
    total, mode = fold_usage(usage)
    _set(out, "usage_metadata", total)
    _set(out, "usage_mode", mode)
    _set(out, "chunk_position", position)
    if fragments is None:
        _set(out, "tool_call_chunks", [])
        _set(out, "tool_calls", [])
        _set(out, "invalid_tool_calls", [])
    else:
        _set(out, "tool_call_chunks", fragments.result())


def _best_id(ids: list[str]) -> str | None:
    """The provider's own id, else the run's, else one made up on the way."""
    for is_wanted in (lambda id: not id.startswith("lc_"), lambda id: id.startswith("lc_run-"), bool):
        for id in ids:
            if is_wanted(id):
                return id
    return ids[0] if ids else None


def add_ai_message_chunks(left: AIMessageChunk, *others: AIMessageChunk) -> AIMessageChunk:
    """Add n + 1 parts at once.

    Returns: a new chunk of left's class. Raises: TypeError for anything that is no AIMessageChunk. Cost: O(total size).
    """
    parts: list[AIMessageChunk] = []
    for chunk in (left, *others):
        if not isinstance(chunk, AIMessageChunk):
            raise TypeError(f"can't add {type(chunk).__name__} to an AIMessageChunk")
        mine = chunk.__dict__.get("_parts")
        if mine is None:
            parts.append(_snapshot(chunk))
        else:
            parts.extend(mine[0][: mine[1]])
    return _pending(type(left), parts, len(parts))


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Add two usages, details included; None counts as nothing."""
    return combine(left, right)  # type: ignore[return-value]  # the same keys


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Subtract a usage from another; no count falls below 0."""
    return combine(left, right, -1)  # type: ignore[return-value]  # the same keys
