"""What an embedding model must do."""

from __future__ import annotations

from abc import ABC, abstractmethod

from clew.runnables.config import run_in_executor

__all__ = ["Embeddings"]


class Embeddings(ABC):
    """Turns texts into vectors whose nearness is nearness of meaning.

    The async faces run the blocking ones in a worker thread unless overridden.
    """

    @abstractmethod
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order, all of one length."""

    @abstractmethod
    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that is looked up."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order, all of one length."""
        return await run_in_executor(None, self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that is looked up."""
        return await run_in_executor(None, self.embed_query, text)
