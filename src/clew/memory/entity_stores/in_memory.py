"""Notes in a dict."""

from __future__ import annotations

from clew.memory.entity_stores.base import BaseEntityStore

__all__ = ["InMemoryEntityStore"]


class InMemoryEntityStore(BaseEntityStore):
    """Notes that are gone with the object.

    store: the dict they are kept in.
    """

    def __init__(self, store: dict[str, str] | None = None) -> None:
        self.store: dict[str, str] = {} if store is None else store

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the note about a thing, or the default."""
        return self.store.get(key, default)

    def set(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        if value:
            self.store[key] = value
        else:
            self.delete(key)

    def delete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        self.store.pop(key, None)

    def exists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return key in self.store

    def clear(self) -> None:
        """Delete all notes of this session."""
        self.store.clear()

    async def aget(self, key: str, default: str | None = None) -> str | None:
        """Return the note about a thing, or the default."""
        return self.get(key, default)

    async def aset(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        self.set(key, value)

    async def adelete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        self.delete(key)

    async def aexists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return self.exists(key)

    async def aclear(self) -> None:
        """Delete all notes of this session."""
        self.clear()
