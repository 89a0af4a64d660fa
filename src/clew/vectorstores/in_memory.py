"""A vector store in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clew._ids import new_id
from clew.documents import Document
from clew.vectorstores._filters import matches, parse
from clew.vectorstores._keywords import KeywordIndex
from clew.vectorstores._matrix import VectorMatrix, diverse
from clew.vectorstores.base import VectorStore, documents_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clew.embeddings import Embeddings

    Filter = Mapping[str, Any] | Callable[[Document], bool]

__all__ = ["InMemoryVectorStore"]


class InMemoryVectorStore(VectorStore):
    """Documents in a dict, their vectors in one float32 matrix, their words in one index. Needs numpy.

    embedding: the model that turns texts into vectors.
    """

    def __init__(self, embedding: Embeddings) -> None:
        self._embedding = embedding
        self._documents: dict[str, Document] = {}
        self._matrix: VectorMatrix | None = None
        self._words: KeywordIndex | None = None

    @property
    def embeddings(self) -> Embeddings:
        """The model that turns texts into vectors."""
        return self._embedding

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
        return self._put(documents_of(texts, metadatas, ids))

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        """Add documents; return their ids. `ids=` overrides those of the documents."""
        return self._put(_with_ids(documents, ids))

    async def aadd_documents(self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any) -> list[str]:
        """Add documents; return their ids."""
        fresh = _with_ids(documents, ids)
        self._keep(fresh, await self._embedding.aembed_documents([d.page_content for d in fresh]) if fresh else [])
        return [str(document.id) for document in fresh]

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; return their ids. An id that is there already is replaced."""
        return await self.aadd_documents(documents_of(texts, metadatas, ids))

    def _put(self, fresh: list[Document]) -> list[str]:
        self._keep(fresh, self._embedding.embed_documents([d.page_content for d in fresh]) if fresh else [])
        return [str(document.id) for document in fresh]

    def _keep(self, fresh: list[Document], vectors: Sequence[Any]) -> None:
        if not fresh:
            return
        ids = [str(document.id) for document in fresh]
        self._vectors().add(ids, vectors)
        for document in fresh:
            self._documents[str(document.id)] = document
            if self._words is not None:
                self._words.add(str(document.id), document.page_content)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        for key in ids or ():
            if self._documents.pop(key, None) is not None and self._words is not None:
                self._words.remove(key)
        self._vectors().delete(ids or ())
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        return self.delete(ids)

    def delete_where(self, filter: Mapping[str, Any]) -> int:
        """Delete the documents that meet a filter; return how many."""
        condition = parse(filter)
        found = [key for key, document in list(self._documents.items()) if matches(condition, document.metadata)]
        self.delete(found)
        return len(found)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        return [_copied(self._documents[key]) for key in ids if key in self._documents]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        return self.get_by_ids(ids)

    # -- searching ------------------------------------------------------------------------------------

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest in meaning, the nearest first."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest in meaning, the nearest first."""
        return [document for document, _ in await self.asimilarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their scores."""
        return self.similarity_search_with_score_by_vector(self._embedding.embed_query(query), k, **kwargs)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their scores."""
        return self.similarity_search_with_score_by_vector(await self._embedding.aembed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector."""
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, **kwargs)]

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents nearest to a vector, with their scores; `filter` as in `VectorStore`."""
        found = self._vectors().nearest(embedding, k, self._accepting(filter))
        return [(_copied(self._documents[key]), score) for key, score in found if key in self._documents]

    def keyword_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents that share most with the words of a query, with their BM25 scores."""
        if self._words is None:
            words = KeywordIndex()
            for key, document in list(self._documents.items()):
                words.add(key, document.page_content)
            self._words = words
        found = self._words.search(query, k, self._accepting(filter))
        return [(_copied(self._documents[key]), score) for key, score in found]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near and unlike each other, of the fetch_k nearest."""
        return self.max_marginal_relevance_search_by_vector(
            self._embedding.embed_query(query), k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return k documents that are near a vector and unlike each other, of the fetch_k nearest."""
        keys = [key for key, _ in self._vectors().nearest(embedding, fetch_k, self._accepting(kwargs.get("filter")))]
        chosen = diverse(embedding, self._vectors().vectors(keys), k, lambda_mult) if keys else []
        return [_copied(self._documents[keys[place]]) for place in chosen]

    def _vectors(self) -> VectorMatrix:
        if self._matrix is None:
            self._matrix = VectorMatrix("InMemoryVectorStore")
        return self._matrix

    def _accepting(self, given: Filter | None) -> Callable[[str], bool] | None:
        if given is None:
            return None
        if callable(given):
            return lambda key: bool(given(self._documents[key]))
        condition = parse(given)
        return lambda key: matches(condition, self._documents[key].metadata)

    # -- making and keeping ---------------------------------------------------------------------------

    @classmethod
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
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def dump(self, path: str) -> None:
        """Write the store to a JSON file; the metadata must be JSON. The file appears whole or not at all."""
        keys = list(self._documents)
        rows: list[list[float]] = self._vectors().vectors(keys).tolist() if keys else []
        content = {
            key: {"id": key, "vector": row, "text": self._documents[key].page_content,
                  "metadata": self._documents[key].metadata}
            for key, row in zip(keys, rows, strict=True)
        }  # fmt: skip
        fresh = Path(f"{path}.new")
        fresh.write_text(json.dumps(content), encoding="utf-8")
        fresh.replace(path)

    @classmethod
    def load(cls, path: str, embedding: Embeddings, **kwargs: Any) -> Self:
        """Return the store that `dump` wrote."""
        store = cls(embedding, **kwargs)
        items = list(json.loads(Path(path).read_text(encoding="utf-8")).values())
        documents = [Document(page_content=i["text"], metadata=i["metadata"], id=i["id"]) for i in items]
        store._keep(documents, [item["vector"] for item in items])
        return store


def _with_ids(documents: Sequence[Document], ids: Sequence[str] | None) -> list[Document]:
    """Return copies that carry ids: the caller's objects stay the caller's.

    Raises: ValueError when ids are given for some documents only.
    """
    if ids is not None and len(ids) != len(documents):
        raise ValueError(f"{len(documents)} documents but {len(ids)} ids")
    return [
        document.model_copy(update={"id": (ids[place] if ids else None) or document.id or new_id()}, deep=True)
        for place, document in enumerate(documents)
    ]


def _copied(document: Document) -> Document:
    """Return a document that the caller may change."""
    return document.model_copy(update={"metadata": dict(document.metadata)})
