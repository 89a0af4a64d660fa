"""Merge the fragments that a stream delivers.

A fragment is a JSON-like value. Three rules, all linear in the number of fragments:
text that grows (`merge_fragments`) is joined, facts about the answer (`merge_facts`) keep their last value, and lists
of blocks (`BlockSum`) grow, where a block with an `index` continues the block of the same index and type.
Merging never raises. It is associative as long as a key keeps its type from fragment to fragment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOT_JOINED = frozenset({
    "id", "type", "name", "index", "role", "object", "status", "model", "model_name", "model_provider", "mime_type",
    "media_type", "url", "file_id", "format", "source_type", "tool_call_id", "call_id", "item_id", "tool_use_id",
    "finish_reason", "stop_reason", "system_fingerprint", "service_tier", "phase", "created", "title",
})  # fmt: skip
"""Keys whose text names or classifies something: a repeated value is the same value, not more of it."""


def merge_fragments(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Join n partial mappings: text is concatenated, except under the keys in NOT_JOINED.

    Returns: a new dict; keys in order of first appearance. Cost: O(total size).
    """
    return _merge(parts, join=True)


def merge_facts(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Merge n mappings of facts: the last value of a key counts, None never replaces a value.

    Nested mappings are merged by the same rule, lists grow. Returns: a new dict.
    """
    return _merge(parts, join=False)


def merge_lists(*lists: Sequence[Any] | None) -> list[Any]:
    """Concatenate lists; dicts with the same `index` (and type) continue each other."""
    total = BlockSum(join_text=False)
    for items in lists:
        if items:
            total.extend(items)
    return total.result()


def _merge(parts: Iterable[Mapping[str, Any]], *, join: bool) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for key, value in part.items():
            if value is None:
                columns.setdefault(key, [])
            elif key in columns:
                columns[key].append(value)
            else:
                columns[key] = [value]
    return {key: _merge_values(key, values, join) for key, values in columns.items()}


def _merge_values(key: str, values: list[Any], join: bool) -> Any:
    if not values:
        return None
    last = values[-1]
    if isinstance(last, str):
        if join and key not in NOT_JOINED:
            return "".join(values) if all(isinstance(value, str) for value in values) else last
        return next((value for value in reversed(values) if value != ""), last)
    if isinstance(last, dict):
        return _merge(_of(dict, values), join=join)
    if isinstance(last, list):
        return merge_lists(*_of(list, values)) if len(values) > 1 else [*cast("list[Any]", last)]
    return last


def _of(kind: type, values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, kind)]


class BlockSum:
    """The sum of many partial lists of blocks, built in linear time.

    join_text: whether neighbouring plain strings melt into one (message content) or stay apart (other lists).
    """

    __slots__ = ("_items", "_join_text", "_latest")

    def __init__(self, *, join_text: bool = True) -> None:
        self._join_text = join_text
        # an item is a list of str pieces, a list of dict pieces, or a one-element tuple with anything else
        self._items: list[Any] = []
        self._latest: dict[Any, list[dict[str, Any]]] = {}

    def extend(self, items: Iterable[Any]) -> None:
        """Add the items of one fragment, in order."""
        for item in items:
            if isinstance(item, str):
                self.add_text(item)
            elif isinstance(item, dict):
                self._add_block(item)  # pyright: ignore[reportUnknownArgumentType] - JSON-like
            else:
                self._items.append((item,))

    def add_text(self, text: str) -> None:
        """Add a plain string: it continues the last item when that is text too."""
        if self._join_text and self._items:
            last: Any = self._items[-1]
            if isinstance(last, list) and isinstance(last[0], str):
                cast("list[str]", last).append(text)
                return
        self._items.append([text] if self._join_text else (text,))

    def _add_block(self, block: dict[str, Any]) -> None:
        index = block.get("index")
        if index is None:
            self._items.append([block])
            return
        kind = block.get("type")
        pieces = self._latest.get((index, kind))
        if pieces is None and kind is None:
            pieces = self._latest.get(index)
        if pieces is None and (untyped := self._latest.get((index, None))) is not None:
            pieces = untyped  # a block that began without its type
            del self._latest[index, None]
        if pieces is None:
            pieces = []
            self._items.append(pieces)
        pieces.append(block)
        self._latest[index, kind] = self._latest[index] = pieces

    def result(self) -> list[Any]:
        """Return the merged list; what was added is not changed."""
        merged: list[Any] = []
        for item in self._items:
            if isinstance(item, tuple):
                merged.append(item[0])
            elif isinstance(item[0], str):
                merged.append("".join(item))
            else:
                merged.append(dict(item[0]) if len(item) == 1 else _merge(item, join=True))
        return merged


def merge_contents(contents: Iterable[str | list[Any]]) -> str | list[Any]:
    """Join n message contents, each a string or a list of strings and blocks.

    Returns: a string when all are strings, else a list. Cost: O(total size).
    """
    texts: list[str] = []
    blocks: BlockSum | None = None
    for content in contents:
        if not isinstance(content, str):
            if blocks is None:
                blocks = BlockSum()
                if text := "".join(texts):
                    blocks.add_text(text)
            blocks.extend(content)
        elif blocks is None:
            texts.append(content)
        elif content:
            blocks.add_text(content)
    return "".join(texts) if blocks is None else blocks.result()
