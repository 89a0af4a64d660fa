"""What a store of notes must do."""

from __future__ import annotations

from abc import ABC, abstractmethod

from clew.runnables.config import run_in_executor

__all__ = ["BaseEntityStore"]


class BaseEntityStore(ABC):
    """Notes about named things, of one session.

    Any text is a name. An empty or missing note is no note: setting one deletes. The async faces run the blocking ones
    in a worker thread unless overridden.
    """

    @abstractmethod
    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the note about a thing, or the default."""

    @abstractmethod
    def set(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""

    @abstractmethod
    def clear(self) -> None:
        """Delete all notes of this session."""

    async def aget(self, key: str, default: str | None = None) -> str | None:
        """Return the note about a thing, or the default."""
        return await run_in_executor(None, self.get, key, default)

    async def aset(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        await run_in_executor(None, self.set, key, value)

    async def adelete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        await run_in_executor(None, self.delete, key)

    async def aexists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return await run_in_executor(None, self.exists, key)

    async def aclear(self) -> None:
        """Delete all notes of this session."""
        await run_in_executor(None, self.clear)
