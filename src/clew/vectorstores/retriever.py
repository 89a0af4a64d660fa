"""A vector store as a retriever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from clew.retrievers import BaseRetriever
from clew.vectorstores.base import VectorStore

if TYPE_CHECKING:
    from clew.documents import Document

__all__ = ["VectorStoreRetriever"]

_TYPES = ("similarity", "similarity_score_threshold", "mmr")


class VectorStoreRetriever(BaseRetriever):
    """Find documents of a vector store.

    search_type: "similarity", "similarity_score_threshold" (with `score_threshold` in search_kwargs) or "mmr".
    search_kwargs: `k`, `filter`, `score_threshold`, `fetch_k`, `lambda_mult`.
    Raises: ValueError for another search type, or a threshold outside 0 to 1.
    """

    vectorstore: VectorStore
    search_type: str = "similarity"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.search_type not in _TYPES:
            raise ValueError(f"search_type is one of {_TYPES}, not {self.search_type!r}")
        if self.search_type == "similarity_score_threshold":
            threshold = self.search_kwargs.get("score_threshold")
            if not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
                raise ValueError(f"search_kwargs needs a score_threshold from 0 to 1, and has {threshold!r}")
        return self

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        return self.vectorstore.search(query, self.search_type, **{**self.search_kwargs, **kwargs})

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        return await self.vectorstore.asearch(query, self.search_type, **{**self.search_kwargs, **kwargs})

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents to the store; return their ids."""
        return self.vectorstore.add_documents(documents, **kwargs)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents to the store; return their ids."""
        return await self.vectorstore.aadd_documents(documents, **kwargs)
