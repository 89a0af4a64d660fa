"""Long-term memory: values under namespaces, in memory, SQLite, Postgres or Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp
    from clew.store.memory import InMemoryStore

__all__ = [
    "BaseStore",
    "GetOp",
    "InMemoryStore",
    "Item",
    "ListNamespacesOp",
    "PutOp",
    "SearchItem",
    "SearchOp",
]

__getattr__, __dir__ = attributes(
    __name__,
    {name: ".memory" if name == "InMemoryStore" else ".base" for name in __all__},
)
