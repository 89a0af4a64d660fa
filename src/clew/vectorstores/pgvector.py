"""A vector store in Postgres, by the pgvector extension: shared by processes and machines.

Nearness is searched exactly unless `index=True` builds an HNSW index; words by a text-search column over text that is
segmented first, so Chinese is found as well; metadata in jsonb with every key and value a bound parameter.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self, cast

from clew._postgres import Pool, migrate
from clew.documents import Document
from clew.errors import SerializationError
from clew.vectorstores._filters import parse
from clew.vectorstores._matrix import diverse
from clew.vectorstores._segment import segment
from clew.vectorstores._sql_filters import Postgres, where
from clew.vectorstores.base import VectorStore, documents_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.embeddings import Embeddings

__all__ = ["PGVectorStore"]


class PGVectorStore(VectorStore):
    """Documents in a Postgres table with their vectors.

    connection: "postgresql://user@host/db". embedding: the model that turns texts into vectors. table: a plain name.
    dimensions: of the vectors; asked of the model when None. index: build an HNSW index, faster above 100,000 rows and
    no longer exact.
    Raises: StorageError when the server can't do its work; SerializationError for metadata that is not JSON.
    """

    def __init__(
        self,
        connection: str,
        embedding: Embeddings,
        *,
        table: str = "documents",
        dimensions: int | None = None,
        index: bool = False,
    ) -> None:
        if not table.isidentifier():
            raise ValueError(f"table must be a plain name, not {table!r}")
        self._embedding = embedding
        self._t = table
        self._connection = connection
        self._dimensions = dimensions
        self._index = index
        self._ready = False
        self._kept = Pool(connection)

    def close(self) -> None:
        """Close the connections."""
        self._kept.close()

    @property
    def embeddings(self) -> Embeddings:
        """The model that turns texts into vectors."""
        return self._embedding

    def _pool(self) -> Pool:
        pool = self._kept
        if not self._ready:
            size = self._dimensions or len(self._embedding.embed_query("dimensions"))
            table = self._t
            statements = [
                "CREATE EXTENSION IF NOT EXISTS vector",
                f"CREATE TABLE IF NOT EXISTS {table} (n BIGSERIAL PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
                "content TEXT NOT NULL, metadata JSONB NOT NULL, words TSVECTOR NOT NULL, "
                f"vector vector({size}) NOT NULL)",
                f"CREATE INDEX IF NOT EXISTS {table}_words ON {table} USING gin (words)",
            ]
            if self._index:
                statements.append(
                    f"CREATE INDEX IF NOT EXISTS {table}_near ON {table} USING hnsw (vector vector_cosine_ops)"
                )
            migrate(pool, f"vectors:{table}:{self._index}", statements)
            self._ready = True
        return pool

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
        fresh = documents_of(texts, metadatas, ids)
        if not fresh:
            return []
        vectors = self._embedding.embed_documents([d.page_content for d in fresh])
        rows = {
            str(d.id): (str(d.id), _text(d.page_content), _json(d.metadata), _words(d.page_content), _vector(vector))
            for d, vector in zip(fresh, vectors, strict=True)
        }  # an id given twice: the last one counts
        columns = [list(column) for column in zip(*rows.values(), strict=True)]
        self._pool().run(
            "adding documents",
            lambda c: c.execute(
                f"INSERT INTO {self._t} (id, content, metadata, words, vector) "
                "SELECT i, c, m::jsonb, w::tsvector, v::vector FROM unnest(%s::text[], %s::text[], %s::text[], "
                "%s::text[], %s::text[]) AS given (i, c, m, w, v) ON CONFLICT (id) DO UPDATE SET "
                "content = excluded.content, metadata = excluded.metadata, words = excluded.words, "
                "vector = excluded.vector",
                columns,
            ),
        )
        return [str(document.id) for document in fresh]

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        self._pool().run(
            "deleting documents", lambda c: c.execute(f"DELETE FROM {self._t} WHERE id = ANY(%s)", (list(ids or ()),))
        )
        return True

    def delete_where(self, filter: Mapping[str, Any]) -> int:
        """Delete the documents that meet a filter; return how many."""
        condition, values = where(parse(filter), Postgres())
        return self._pool().run(
            "deleting documents", lambda c: c.execute(f"DELETE FROM {self._t} WHERE {condition}", values).rowcount
        )

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        query = f"SELECT id, content, metadata::text, 0 FROM {self._t} WHERE id = ANY(%s)"
        rows = self._fetch("reading documents", query, [list(ids)])
        found = {row[0]: _document(row) for row in rows}
        return [found[key] for key in ids if key in found]

    # -- searching ------------------------------------------------------------------------------------

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest in meaning, the nearest first."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their scores."""
        return self.similarity_search_with_score_by_vector(self._embedding.embed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector."""
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, **kwargs)]

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents nearest to a vector, with their scores; `filter` as in `VectorStore`, dicts only."""
        condition, values = _condition(filter)
        vector = _vector(embedding)
        rows = self._fetch(
            "searching by vector",
            f"SELECT id, content, metadata::text, 1 - (vector <=> %s::vector) FROM {self._t} WHERE {condition} "
            "ORDER BY vector <=> %s::vector, n LIMIT %s",
            [vector, *values, vector, k],
        )
        return [(_document(row), float(row[3])) for row in rows]

    def keyword_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents that share most with the words of a query, with Postgres's rank."""
        words = dict.fromkeys(segment(query))
        if not words:
            return []
        asked = " | ".join(_lexeme(word) for word in words)
        condition, values = _condition(filter)
        rows = self._fetch(
            "searching by words",
            f"SELECT id, content, metadata::text, ts_rank_cd(words, %s::tsquery, 1) FROM {self._t} "
            f"WHERE words @@ %s::tsquery AND {condition} ORDER BY 4 DESC, n LIMIT %s",
            [asked, asked, *values, k],
        )
        return [(_document(row), float(row[3])) for row in rows]

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
        import numpy as np

        condition, values = _condition(kwargs.get("filter"))
        rows = self._fetch(
            "searching by vector",
            f"SELECT id, content, metadata::text, vector::text FROM {self._t} WHERE {condition} "
            "ORDER BY vector <=> %s::vector, n LIMIT %s",
            [*values, _vector(embedding), fetch_k],
        )
        if not rows:
            return []
        found = np.array([json.loads(row[3]) for row in rows], dtype=np.float32)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return [_document(rows[place]) for place in diverse(embedding, found, k, lambda_mult)]

    def _fetch(self, doing: str, sql: str, values: list[Any]) -> list[Any]:
        return self._pool().run(doing, lambda c: c.execute(sql, values).fetchall())

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        connection: str = "postgresql://postgres@localhost/vectors",
        **kwargs: Any,
    ) -> Self:
        """Return a store that holds these texts."""
        store = cls(connection, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _condition(filter: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    if callable(filter):
        raise ValueError("PGVectorStore filters in the server: give a dict of conditions, not a function")
    return ("TRUE", []) if filter is None else where(parse(filter), Postgres())


def _vector(values: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, values))) + "]"


def _words(text: str) -> str:
    """Return the words of a text as Postgres reads a tsvector: each quoted, with its place."""
    return " ".join(f"{_lexeme(word)}:{min(n, 16383)}" for n, word in enumerate(segment(text, singles=True), 1))


def _lexeme(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _text(text: str) -> str:
    """Return text as Postgres takes it: NUL and half surrogates are written out, marked in front; reversible."""
    if "\x00" not in text and not text.startswith("\ue000"):
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return "\ue000" + json.dumps(text)


def _document(row: Sequence[Any]) -> Document:
    content = json.loads(row[1][1:]) if row[1].startswith("\ue000") else row[1]
    return Document(page_content=content, metadata=json.loads(row[2]), id=row[0])


def _json(metadata: dict[str, Any]) -> str:
    try:
        text = json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the metadata of a document must be JSON: {error}", path="$.metadata") from error
    if "\\u0000" in text or "\\ud8" in text:  # jsonb takes neither a NUL nor half a surrogate pair
        _refuse(metadata)
    return text


def _refuse(value: Any) -> None:
    """Raise when a text in metadata is one that jsonb can't hold."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            _refuse(key)
            _refuse(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            _refuse(item)
    elif isinstance(value, str) and ("\x00" in value or any(0xD800 <= ord(letter) < 0xE000 for letter in value)):
        raise SerializationError("metadata in Postgres can't hold a NUL or half a surrogate pair", path="$.metadata")
