"""What a store of documents that are found by meaning must do.

A store gives `add_texts` (or `add_documents`), `similarity_search_with_score` and `from_texts`; the rest follows. Every
search takes `filter`: a dict of metadata conditions (`{"lang": "en", "year": {"$gte": 2020}}`) or, where the documents
are in this process, a function of a document.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from clew._ids import new_id
from clew.documents import Document
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clew.embeddings import Embeddings
    from clew.vectorstores.retriever import VectorStoreRetriever

__all__ = ["VectorStore"]


class VectorStore(ABC):
    """Documents, and their vectors. Scores are cosines: 1 is the same direction, 0 has nothing in common."""

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that turns texts into vectors, if the store has one."""
        return None

    # -- writing --------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; return their ids. An id that is there already is replaced."""
        if type(self).add_documents is VectorStore.add_documents:
            raise NotImplementedError(f"{type(self).__name__} must implement add_texts or add_documents")
        return self.add_documents(documents_of(texts, metadatas, ids), **kwargs)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents; return their ids. `ids=` overrides those of the documents."""
        if type(self).add_texts is VectorStore.add_texts:
            raise NotImplementedError(f"{type(self).__name__} must implement add_texts or add_documents")
        kwargs.setdefault("ids", [document.id or new_id() for document in documents])
        return self.add_texts([d.page_content for d in documents], [d.metadata for d in documents], **kwargs)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; return their ids. An id that is there already is replaced."""
        return await run_in_executor(None, lambda: self.add_texts(texts, metadatas, ids=ids, **kwargs))

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents; return their ids."""
        return await run_in_executor(None, lambda: self.add_documents(documents, **kwargs))

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        raise NotImplementedError(f"{type(self).__name__} can't delete")

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        return await run_in_executor(None, lambda: self.delete(ids, **kwargs))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        raise NotImplementedError(f"{type(self).__name__} can't look documents up by id")

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        return await run_in_executor(None, self.get_by_ids, ids)

    # -- searching ------------------------------------------------------------------------------------

    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Search by "similarity", "similarity_score_threshold" or "mmr"."""
        if search_type == "similarity":
            return self.similarity_search(query, **kwargs)
        if search_type == "similarity_score_threshold":
            return [document for document, _ in self.similarity_search_with_relevance_scores(query, **kwargs)]
        if search_type == "mmr":
            return self.max_marginal_relevance_search(query, **kwargs)
        raise ValueError(f"search_type is similarity, similarity_score_threshold or mmr, not {search_type!r}")

    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Search by "similarity", "similarity_score_threshold" or "mmr"."""
        if search_type == "similarity":
            return await self.asimilarity_search(query, **kwargs)
        if search_type == "similarity_score_threshold":
            return [document for document, _ in await self.asimilarity_search_with_relevance_scores(query, **kwargs)]
        if search_type == "mmr":
            return await self.amax_marginal_relevance_search(query, **kwargs)
        raise ValueError(f"search_type is similarity, similarity_score_threshold or mmr, not {search_type!r}")

    @abstractmethod
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest in meaning, the nearest first."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their scores."""
        raise NotImplementedError(f"{type(self).__name__} has no scores")

    def similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, *, score_threshold: float | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k nearest documents with scores from 0 to 1, those below a threshold left out."""
        return _relevant(self.similarity_search_with_score(query, k, **kwargs), score_threshold)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector."""
        raise NotImplementedError(f"{type(self).__name__} can't search by vector")

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near and unlike each other, of the fetch_k nearest.

        lambda_mult: 1 looks at nearness only, 0 at variety only.
        """
        raise NotImplementedError(f"{type(self).__name__} has no search for variety")

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near a vector and unlike each other, of the fetch_k nearest."""
        raise NotImplementedError(f"{type(self).__name__} has no search for variety")

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest in meaning, the nearest first."""
        return await run_in_executor(None, lambda: self.similarity_search(query, k, **kwargs))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their scores."""
        return await run_in_executor(None, lambda: self.similarity_search_with_score(query, k, **kwargs))

    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, *, score_threshold: float | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k nearest documents with scores from 0 to 1, those below a threshold left out."""
        return _relevant(await self.asimilarity_search_with_score(query, k, **kwargs), score_threshold)

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector."""
        return await run_in_executor(None, lambda: self.similarity_search_by_vector(embedding, k, **kwargs))

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near and unlike each other, of the fetch_k nearest."""
        return await run_in_executor(
            None, lambda: self.max_marginal_relevance_search(query, k, fetch_k, lambda_mult, **kwargs)
        )

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near a vector and unlike each other, of the fetch_k nearest."""
        return await run_in_executor(
            None, lambda: self.max_marginal_relevance_search_by_vector(embedding, k, fetch_k, lambda_mult, **kwargs)
        )

    # -- making ---------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store that holds these texts."""

    @classmethod
    def from_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Return a store that holds these documents."""
        if "ids" not in kwargs and any(document.id for document in documents):
            kwargs["ids"] = [document.id or new_id() for document in documents]
        return cls.from_texts(
            [d.page_content for d in documents], embedding, [d.metadata for d in documents], **kwargs
        )

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store that holds these texts."""
        return await run_in_executor(None, lambda: cls.from_texts(texts, embedding, metadatas, ids=ids, **kwargs))

    @classmethod
    async def afrom_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Return a store that holds these documents."""
        return await run_in_executor(None, lambda: cls.from_documents(documents, embedding, **kwargs))

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return a retriever over this store; `search_type` and `search_kwargs` say how it searches."""
        from clew.vectorstores.retriever import VectorStoreRetriever

        return VectorStoreRetriever(vectorstore=self, **kwargs)


def documents_of(
    texts: Iterable[str], metadatas: Sequence[dict[str, Any]] | None, ids: Sequence[str] | None
) -> list[Document]:
    """Return texts, metadata and ids as documents; those without an id get a new one.

    Raises: ValueError when the three are not equally many.
    """
    contents = list(texts)
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given is not None and len(given) != len(contents):
            raise ValueError(f"{len(contents)} texts but {len(given)} {name}")
    return [
        Document(
            page_content=content,
            metadata=dict(metadatas[place] or {}) if metadatas else {},
            id=(ids[place] if ids else None) or new_id(),
        )
        for place, content in enumerate(contents)
    ]


def _relevant(found: list[tuple[Document, float]], threshold: float | None) -> list[tuple[Document, float]]:
    scored = [(document, min(max(score, 0.0), 1.0)) for document, score in found]
    return [pair for pair in scored if threshold is None or pair[1] >= threshold]
