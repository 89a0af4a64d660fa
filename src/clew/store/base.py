"""Long-term memory shared by threads: JSON-like values under a namespace and a key.

`batch` and `abatch` are what a store implements; everything else is built on them. Namespaces are matched by whole
labels on every backend: ("t", "a") never reads ("t", "ab").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from clew.errors import StorageConflictError
from clew.store._index import ensure_embeddings
from clew.store._paths import get_text_at_path, tokenize_path
from clew.store._types import (
    NOT_PROVIDED,
    Change,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    SearchResults,
    TTLConfig,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "NOT_PROVIDED",
    "BaseStore",
    "GetOp",
    "IndexConfig",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "NotProvided",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "SearchResults",
    "TTLConfig",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
]

_TRIES = 100


class BaseStore(ABC):
    """A store. Subclasses implement `batch` and `abatch`: run operations in order, answer each.

    Values handed in and out are copies. A put replaces the whole value and its vectors.
    """

    supports_ttl: bool = True
    ttl_config: TTLConfig | None = None

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, all or none; return an answer for each.

        Returns: Item or None for GetOp, SearchResults for SearchOp, None for PutOp, tuples for ListNamespacesOp.
        Raises: ValueError for a bad namespace or filter, SerializationError (a TypeError) for a value that can't be
        saved, StorageConflictError when an expected version is not there.
        """

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does without blocking the loop."""

    def get(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item, or None. refresh_ttl: whether this read restarts its time to live."""
        return self.batch([GetOp(tuple(namespace), str(key), refresh_ttl)])[0]  # type: ignore[return-value]

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item, or None."""
        return (await self.abatch([GetOp(tuple(namespace), str(key), refresh_ttl)]))[0]  # type: ignore[return-value]

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int | None = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> SearchResults:
        """Find items at or below a namespace.

        query: text to look for, by meaning when the store has an index, else by words; best first. Without it the
        latest change comes first. filter: see `clew.store._filter`. limit: None for all.
        Returns: a list with `next_offset`, which is None on the last page.
        """
        op = SearchOp(tuple(namespace_prefix), filter, limit, offset, query, refresh_ttl)
        return self.batch([op])[0]  # type: ignore[return-value]

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int | None = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> SearchResults:
        """Find items at or below a namespace; see `search`."""
        op = SearchOp(tuple(namespace_prefix), filter, limit, offset, query, refresh_ttl)
        return (await self.abatch([op]))[0]  # type: ignore[return-value]

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        expected_version: int | None = None,
    ) -> None:
        """Store a value, whole.

        index: False for no vectors, or the paths to embed instead of the store's. ttl: minutes to live, None for ever,
        the store's default when not given. expected_version: compare-and-set; `item.version` as read, or 0 when nothing
        may be there yet.
        Raises: ValueError, SerializationError, StorageConflictError (see `batch`).
        """
        self.batch([self._put_op(namespace, key, value, index, ttl, expected_version)])

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        expected_version: int | None = None,
    ) -> None:
        """Store a value, whole; see `put`."""
        await self.abatch([self._put_op(namespace, key, value, index, ttl, expected_version)])

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Remove an item; nothing happens when it is not there."""
        self.batch([PutOp(tuple(namespace), str(key), None)])

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        """Remove an item; nothing happens when it is not there."""
        await self.abatch([PutOp(tuple(namespace), str(key), None)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int | None = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that hold items, sorted. "*" in prefix or suffix stands for any one label."""
        return self.batch([_listing(prefix, suffix, max_depth, limit, offset)])[0]  # type: ignore[return-value]

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int | None = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that hold items, sorted."""
        return (await self.abatch([_listing(prefix, suffix, max_depth, limit, offset)]))[0]  # type: ignore[return-value]

    def update(self, namespace: tuple[str, ...], key: str, change: Change) -> None:
        """Read, change and write one item without losing anybody's update.

        change: value or None -> new value, or None to delete; called again when another writer was first.
        Raises: StorageConflictError after 100 lost races.
        """
        for _ in range(_TRIES):
            try:
                item = self.get(namespace, key)
                return self._settle(self.batch([_changed(namespace, key, item, change)]))
            except StorageConflictError:
                continue
        raise _lost(namespace, key)

    async def aupdate(self, namespace: tuple[str, ...], key: str, change: Change) -> None:
        """Read, change and write one item without losing anybody's update; see `update`."""
        for _ in range(_TRIES):
            try:
                item = await self.aget(namespace, key)
                return self._settle(await self.abatch([_changed(namespace, key, item, change)]))
            except StorageConflictError:
                continue
        raise _lost(namespace, key)

    def _settle(self, _: list[Result]) -> None:
        return None

    def _put_op(self, namespace: Any, key: Any, value: Any, index: Any, ttl: Any, expected: int | None) -> PutOp:
        if value is None:
            raise TypeError("a stored value is a mapping; use delete() to remove an item")
        if ttl is NOT_PROVIDED:
            ttl = (self.ttl_config or {}).get("default_ttl")
        elif ttl is not None and not self.supports_ttl:
            raise NotImplementedError(f"{type(self).__name__} has no time to live")
        return PutOp(tuple(namespace), str(key), value, index, ttl, expected)


def _listing(prefix: Any, suffix: Any, max_depth: int | None, limit: int | None, offset: int) -> ListNamespacesOp:
    conditions: list[MatchCondition] = []
    if prefix:
        conditions.append(MatchCondition("prefix", tuple(prefix)))
    if suffix:
        conditions.append(MatchCondition("suffix", tuple(suffix)))
    return ListNamespacesOp(tuple(conditions) or None, max_depth, limit, offset)


def _changed(namespace: Any, key: str, item: Item | None, change: Change) -> PutOp:
    value = change(item.value if item else None)
    return PutOp(tuple(namespace), key, value, expected_version=item.version if item else 0)


def _lost(namespace: Any, key: str) -> StorageConflictError:
    return StorageConflictError(f"{key!r} in {tuple(namespace)} changed under every one of {_TRIES} tries")
