"""What goes into a store and what comes out: items, operations, options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict

import msgspec

NamespacePath = tuple[str, ...]
NamespaceMatchType = Literal["prefix", "suffix"]


class Item(msgspec.Struct, kw_only=True):
    """A stored value. version: a token that grows with every put, for compare-and-set. The value is a copy."""

    value: dict[str, Any]
    key: str
    namespace: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    version: int = 0

    def dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


class SearchItem(Item, kw_only=True):
    """An item that a search found. score: cosine (with an index) or BM25 (without), None when nothing was asked."""

    score: float | None = None

    def dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {**Item.dict(self), "score": self.score}


class SearchResults(list[SearchItem]):
    """A page of search results. next_offset: where the next page starts, or None when this is the last one."""

    next_offset: int | None = None

    @property
    def has_more(self) -> bool:
        """Whether more items match than this page holds."""
        return self.next_offset is not None


class GetOp(NamedTuple):
    """Read one item. refresh_ttl: whether reading restarts its time to live; None leaves that to the store."""

    namespace: tuple[str, ...]
    key: str
    refresh_ttl: bool | None = None


class SearchOp(NamedTuple):
    """Find items below a namespace. limit: at most that many, None for all."""

    namespace_prefix: tuple[str, ...]
    filter: Mapping[str, Any] | None = None
    limit: int | None = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool | None = None


class PutOp(NamedTuple):
    """Write one item, or delete it (value=None). ttl: minutes. expected_version: write only over that version, 0 for
    "not there yet".
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # type: ignore[assignment] - the documents' name
    ttl: float | None = None
    expected_version: int | None = None


class MatchCondition(NamedTuple):
    """Which namespaces to list; "*" stands for any one label."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List namespaces, sorted; max_depth cuts them to that many labels."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int | None = 100
    offset: int = 0


Op = GetOp | SearchOp | PutOp | ListNamespacesOp
Result = Item | list[SearchItem] | list[tuple[str, ...]] | None


class IndexConfig(TypedDict, total=False):
    """How values are embedded. fields: paths of the texts (["$"], the whole value, when not given)."""

    dims: int
    embed: Any
    fields: list[str] | None


class TTLConfig(TypedDict, total=False):
    """How long items live, in minutes. Items past their time are never returned; sweeping removes them."""

    refresh_on_read: bool
    default_ttl: float | None
    sweep_interval_minutes: float | None
    omit_expired: bool


class NotProvided:
    """The type of NOT_PROVIDED: no argument was given, which differs from None."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_PROVIDED"


NOT_PROVIDED = NotProvided()
Change = Callable[[dict[str, Any] | None], Mapping[str, Any] | None]
