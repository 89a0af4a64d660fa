"""Assemble streamed tool calls, and decide which of them are complete.

Providers stream a call as fragments {"name", "args", "id", "index"}: usually the first one has name and id, the rest
only text of the arguments. Gateways leave out the index, repeat ids, send "null" for none, make up a fresh id per
fragment, or open several calls under one index. The rule here: a fragment with a name and a new id opens a call; a
fragment with neither continues the latest call of its index. A call is complete when its arguments are one closed JSON
object; until then nothing is guessed.
"""

from __future__ import annotations

from typing import Any, TypedDict, cast

from clew._kernel.merge import merge_fragments
from clew._kernel.partial_json import parse_json

NO_ID = frozenset({None, "", "null", "None", "undefined"})


class Fragment(TypedDict, total=False):
    """A piece of a tool call as a stream brings it."""

    name: str | None
    args: str | None
    id: str | None
    index: int | str | None
    type: str


class _Call:
    __slots__ = ("args", "extras", "id", "index", "name")

    def __init__(self, name: str | None, id: str | None, index: int | str | None) -> None:
        self.name = name
        self.id = id
        self.index = index
        self.args: list[str] = []
        self.extras: list[dict[str, Any]] = []

    def is_continued_by(self, name: str | None, id: str | None, args: str | None) -> bool:
        """Whether a fragment with this name and id (both may be None) goes on with this call."""
        if id is not None:
            if self.id == id or name is None:
                return True
            return self.id is None and self.name == name
        if name is None:
            return True
        if self.name is None:
            return self.id is not None
        return self.name == name and not (self._is_closed() and (args or "").lstrip()[:1] == "{")

    def _is_closed(self) -> bool:
        return bool(self.args) and self.args[-1].rstrip()[-1:] == "}"


class ToolCallSum:
    """The sum of many fragments, built in linear time."""

    __slots__ = ("_by_id", "_calls", "_latest")

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_id: dict[tuple[int | str | None, str], _Call] = {}
        self._latest: dict[int | str | None, _Call] = {}

    def extend(self, fragments: Any) -> None:
        """Add the fragments of one chunk, in order."""
        for fragment in fragments:
            self.add(fragment)

    def add(self, fragment: Any) -> None:
        """Add one fragment."""
        args = fragment.get("args")
        id = fragment.get("id")
        name = fragment.get("name") or None
        index = fragment.get("index")
        if id in NO_ID:
            id = None
        call = self._find(name, id, index)
        if call is None or not call.is_continued_by(name, id, args):
            call = _Call(name, id, index)
            self._calls.append(call)
            self._latest[index] = call
            if id is not None:
                self._by_id[index, id] = call
        else:
            if call.name is None:
                call.name = name
            if call.id is None and id is not None:
                call.id = id
                self._by_id[index, id] = call
        if args:
            call.args.append(args)
        if len(fragment) > 5 or (len(fragment) > 4 and "type" not in fragment):
            call.extras.append(fragment)

    def _find(self, name: str | None, id: str | None, index: int | str | None) -> _Call | None:
        """The call that a fragment may continue: the one with its id, else the latest of its index."""
        if id is not None:
            known = self._by_id.get((index, id))
            if known is not None:
                self._latest[index] = known
                return known
        call = self._latest.get(index)
        if call is None and index is None and self._calls and name is None and id is None:
            return self._calls[-1]
        return call

    def result(self) -> list[dict[str, Any]]:
        """Return one merged fragment per call, in order of opening."""
        merged: list[dict[str, Any]] = []
        for call in self._calls:
            whole: dict[str, Any] = {
                "name": call.name,
                "args": "".join(call.args),
                "id": call.id,
                "index": call.index,
                "type": "tool_call_chunk",
            }
            for extra in call.extras:
                for key, value in extra.items():
                    if value is None or key in _FRAGMENT_KEYS:
                        continue
                    known: Any = whole.get(key)
                    if isinstance(value, dict) and isinstance(known, dict):
                        whole[key] = merge_fragments(cast("Any", known), cast("Any", value))
                    else:
                        whole.setdefault(key, value)
            merged.append(whole)
        return merged


def parse_arguments(text: str | None) -> dict[str, Any] | None:
    """Return the arguments if the text is one closed JSON object, else None.

    Control characters inside strings are let through, as some models write them; nothing else is repaired.
    """
    if not text:
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON


def may_hold_call(fragments: Any) -> bool:
    """Whether any fragment can be a complete call by itself; False for nearly all pieces of a stream, and cheap."""
    return any(f.get("name") and (f.get("args") or "").rstrip()[-1:] == "}" for f in fragments)


def split_calls(fragments: Any, *, is_final: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return (complete calls, invalid calls) of merged fragments.

    is_final: nothing more will come. Then an empty text means "no arguments", and what is not complete is invalid.
    """
    calls: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for fragment in fragments:
        text: str | None = fragment.get("args")
        name: str | None = fragment.get("name")
        id: str | None = fragment.get("id")
        args = parse_arguments(text)
        if args is None and is_final and not (text or "").strip():
            args = {}
        extras = {k: v for k, v in fragment.items() if k not in _FRAGMENT_KEYS}
        if args is not None and name:
            calls.append({"name": name, "args": args, "id": id, "type": "tool_call", **extras})
        elif is_final:
            error = None if name else "the call has no name"
            invalid.append({
                "name": name, "args": text, "id": id, "error": error, "type": "invalid_tool_call", **extras,
            })  # fmt: skip
    return calls, invalid


_FRAGMENT_KEYS = frozenset({"name", "args", "id", "index", "type"})
