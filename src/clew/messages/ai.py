"""What the model says, whole or in parts.

Parts add up with `+`. A sum keeps the list of its parts and works out its fields when one is read, so adding n parts
in a loop costs O(n), and `add_ai_message_chunks` does it at once. `tool_calls` of a part or sum holds only complete
calls; a sum that is read, changed or branched off in between is right too.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat
from operator import attrgetter, call
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from clew._kernel.merge import merge_contents, merge_facts, merge_fragments
from clew._kernel.tool_calls import ToolCallSum, may_hold_call, split_calls
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
    tool_calls: list[ToolCall] = []  # noqa: RUF012 - msgspec makes a new one each time
    invalid_tool_calls: list[InvalidToolCall] = []  # noqa: RUF012 - msgspec makes a new one each time
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
    A sum works out its fields when one is read; before that, msgspec's own encoders find them unset.
    """

    type: str = "AIMessageChunk"
    tool_call_chunks: list[ToolCallChunk] = []  # noqa: RUF012 - msgspec makes a new one each time
    chunk_position: Literal["last"] | None = None
    usage_mode: Literal["delta", "running", "final"] = "delta"

    # A sum has `_parts` = (list of parts, how many of them are mine) and its fields are unset until one is read.

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            self.content = checked_content(self.content)
        if self.tool_call_chunks:
            if not self.tool_calls:
                _read_calls(self)
        elif self.tool_calls:
            _set(self, "tool_calls", normal_calls(self.tool_calls, "tool_call"))
            _set(self, "tool_call_chunks", _as_fragments(self.tool_calls))

    def __getattr__(self, name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        state: Any = self.__dict__
        parts = state.get("_parts")
        if parts is not None:  # several threads may come here at once; they all fill in the same
            _fill(self, parts[0][: parts[1]])
            state.pop("_parts", None)
        return _SLOTS[name](self)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parts" in self.__dict__:
            _ = self.content
        _set(self, name, value)
        if name == "tool_call_chunks" or (name == "chunk_position" and self.tool_call_chunks):
            _read_calls(self)

    def __add__(self, other: AIMessageChunk | list[AIMessageChunk]) -> AIMessageChunk:
        if not isinstance(other, AIMessageChunk):
            if isinstance(other, list):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
                return add_ai_message_chunks(self, *other)
            return NotImplemented
        if "_parts" in other.__dict__:
            return add_ai_message_chunks(self, other)
        mine = self.__dict__.get("_parts")
        parts: list[AIMessageChunk]
        parts, count = ([_snapshot(self)], 1) if mine is None else mine
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

    __hash__ = None  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - messages can change

    def __repr__(self) -> str:
        from clew.messages._model import shown_fields

        fields = ", ".join(f"{name}={value!r}" for name, value in shown_fields(self))
        return f"{type(self).__name__}({fields})"


_set: Any = BaseMessage.__setattr__
_copy: Any = getattr(BaseMessage, "__copy__")  # noqa: B009 - msgspec's stubs leave it out


def _snapshot(chunk: AIMessageChunk) -> AIMessageChunk:
    """A shallow copy, so that what is done to the chunk later does not change the sum."""
    if "_parts" in chunk.__dict__:
        _ = chunk.content
    return _copy(chunk)


def _read_calls(chunk: AIMessageChunk) -> None:
    """Work out the complete (and, at the end, the invalid) calls of the chunk's fragments."""
    fragments = chunk.tool_call_chunks
    is_final = chunk.chunk_position == "last"
    if is_final or may_hold_call(fragments):
        calls, invalid = split_calls(fragments, is_final=is_final)
    else:
        calls, invalid = [], []
    _set(chunk, "tool_calls", calls)
    _set(chunk, "invalid_tool_calls", invalid)


_map: Any = map
_SLOTS: Any = {name: getattr(AIMessageChunk, name).__get__ for name in _LAZY}
_UNSET: Any = tuple(getattr(AIMessageChunk, name).__delete__ for name in sorted(_LAZY))
"""Slot deleters: called in C they cost half of what `del` statements do, and this is the inner loop of `+`."""


def _pending(cls: type[AIMessageChunk], parts: list[AIMessageChunk], count: int) -> AIMessageChunk:
    out = cls("")
    deque(_map(call, _UNSET, repeat(out)), 0)
    vars(out)["_parts"] = (parts, count)
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


_columns: Any = attrgetter(
    "content", "additional_kwargs", "response_metadata", "model_extra", "name", "id",
    "usage_metadata", "usage_mode", "chunk_position", "tool_call_chunks",
)  # fmt: skip


def _fill(out: AIMessageChunk, parts: list[AIMessageChunk]) -> None:
    """Work out the sum of the parts into `out`. Each part is visited once: thousands don't fit a cache."""
    columns: Any = zip(*map(_columns, parts), strict=True)
    texts, kwargs, facts, extras, names, ids, usages, modes, positions, fragments = columns
    contents: list[Any] = [content for content in texts if content]
    if not contents and isinstance(texts[0], list):
        contents = [[]]
    _set(out, "content", merge_contents(contents))
    _set(out, "additional_kwargs", merge_fragments(*filter(None, kwargs)))
    _set(out, "response_metadata", merge_facts(*filter(None, facts)))
    _set(out, "model_extra", merge_facts(*filter(None, extras)) or None)
    _set(out, "name", next((name for name in names if name is not None), None))
    _set(out, "id", _best_id([id for id in ids if id is not None]))
    reports = ((usage, mode) for usage, mode in zip(usages, modes, strict=True) if usage is not None)
    total, mode = fold_usage(reports)
    _set(out, "usage_metadata", total)
    _set(out, "usage_mode", mode)
    _set(out, "chunk_position", "last" if any(positions) else None)
    calls = ToolCallSum()
    for pieces in filter(None, fragments):
        calls.extend(pieces)
    _set(out, "tool_call_chunks", calls.result())
    _read_calls(out)


def _best_id(ids: list[str]) -> str | None:
    """The provider's own id, else the run's, else one made up on the way."""
    if not ids:
        return None
    own = next((id for id in ids if not id.startswith("lc_")), None)
    return own or next((id for id in ids if id.startswith("lc_run-")), ids[0])


def add_ai_message_chunks(left: AIMessageChunk, *others: AIMessageChunk) -> AIMessageChunk:
    """Add n + 1 parts at once.

    Returns: a new chunk of left's class. Raises: TypeError for anything that is no AIMessageChunk. Cost: O(total size).
    """
    parts: list[AIMessageChunk] = []
    for chunk in (left, *others):
        if not isinstance(chunk, AIMessageChunk):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
            raise TypeError(f"can't add {type(chunk).__name__} to an AIMessageChunk")
        mine = chunk.__dict__.get("_parts")
        if mine is None:
            parts.append(chunk)
        else:
            parts.extend(mine[0][: mine[1]])
    out = type(left)("")
    _fill(out, parts)  # at once, so no part has to be kept
    return out


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Add two usages, details included; None counts as nothing."""
    return cast("UsageMetadata", combine(left, right))


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """Subtract a usage from another; no count falls below 0."""
    return cast("UsageMetadata", combine(left, right, -1))
