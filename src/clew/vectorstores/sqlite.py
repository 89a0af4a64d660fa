"""A vector store in one SQLite file: rows, vectors and a full-text index beside each other, changed together.

Words are searched by SQLite's own FTS5, over text that is segmented first, so Chinese is found as well. Vectors are
searched in a matrix that each process keeps of the file; a counter in the file says when it is out of date.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from clew._sqlite import Database
from clew.documents import Document
from clew.errors import SerializationError
from clew.vectorstores._filters import parse
from clew.vectorstores._matrix import VectorMatrix, diverse
from clew.vectorstores._segment import segment
from clew.vectorstores._sql_filters import Sqlite, where
from clew.vectorstores.base import VectorStore, documents_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clew.embeddings import Embeddings

    Filter = Mapping[str, Any] | Callable[[Document], bool]

__all__ = ["SQLiteVectorStore"]


class SQLiteVectorStore(VectorStore):
    """Documents in a file: found by meaning, by words, and by metadata. Needs numpy.

    path: the file. embedding: the model that turns texts into vectors; always the same one for one table. table: name
    of the table; several stores may share a file.
    Raises: StorageError when the file can't do its work; SerializationError for metadata that is not JSON.
    """

    def __init__(self, path: str, embedding: Embeddings, *, table: str = "documents") -> None:
        if not table.isidentifier():
            raise ValueError(f"table must be a plain name, not {table!r}")
        self._embedding = embedding
        self._t = table
        self.database = Database(
            path,
            component=f"vectors:{table}",
            migrations=[
                f"CREATE TABLE {table} (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
                "content TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB NOT NULL, added REAL NOT NULL)",
                f"CREATE VIRTUAL TABLE {table}_words USING fts5(words, tokenize = 'porter unicode61')",
                f"CREATE TABLE {table}_state (deleted INTEGER NOT NULL)",
                f"INSERT INTO {table}_state VALUES (0)",
            ],
        )
        self._lock = threading.Lock()
        self._matrix = VectorMatrix("SQLiteVectorStore")
        self._seen = (0, 0)  # (highest n, deletions) of the file that the matrix shows

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
        fresh = documents_of(texts, metadatas, ids)
        if fresh:
            self._keep(fresh, self._embedding.embed_documents([d.page_content for d in fresh]))
        return [str(document.id) for document in fresh]

    def _keep(self, fresh: list[Document], vectors: Sequence[Any]) -> None:
        import numpy as np

        blobs = [np.asarray(vector, dtype=np.float32).tobytes() for vector in vectors]
        rows = {
            str(d.id): (str(d.id), d.page_content, _json(d.metadata), blob, time.time())
            for d, blob in zip(fresh, blobs, strict=True)
        }  # an id given twice: the last one counts
        with self.database.transaction() as connection:
            self._remove(connection, rows)
            for row in rows.values():
                n = connection.execute(
                    f"INSERT INTO {self._t} (id, content, metadata, vector, added) VALUES (?, ?, ?, ?, ?)", row
                ).lastrowid
                connection.execute(
                    f"INSERT INTO {self._t}_words (rowid, words) VALUES (?, ?)",
                    (n, " ".join(segment(row[1], singles=True))),
                )

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id; ids that are not there are passed over."""
        with self.database.transaction() as connection:
            self._remove(connection, ids or ())
        return True

    def delete_where(self, filter: Mapping[str, Any]) -> int:
        """Delete the documents that meet a filter; return how many."""
        condition, values = where(parse(filter), Sqlite())
        with self.database.transaction() as connection:
            found = connection.execute(f"SELECT id FROM {self._t} WHERE {condition}", values).fetchall()
            self._remove(connection, [row[0] for row in found])
        return len(found)

    def _remove(self, connection: Any, ids: Iterable[str]) -> None:
        gone = 0
        for key in ids:
            found = connection.execute(f"SELECT n FROM {self._t} WHERE id = ?", (key,)).fetchone()
            if found is not None:
                connection.execute(f"DELETE FROM {self._t} WHERE n = ?", found)
                connection.execute(f"DELETE FROM {self._t}_words WHERE rowid = ?", found)
                gone += 1
        if gone:
            connection.execute(f"UPDATE {self._t}_state SET deleted = deleted + ?", (gone,))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        query = f"SELECT id, content, metadata FROM {self._t} WHERE id = ?"
        rows = (self.database.execute(query, (key,)) for key in ids)
        return [_document(row[0]) for row in rows if row]

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
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents nearest to a vector, with their scores; `filter` as in `VectorStore`."""
        self._refresh()
        found = self._matrix.nearest(embedding, k, self._accepting(filter))
        documents = self._by_number([n for n, _ in found])
        return [(documents[n], score) for n, score in found if n in documents]

    def keyword_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents that share most with the words of a query, with their BM25 scores."""
        words = dict.fromkeys(segment(query))
        if not words:
            return []
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        condition, values = self._sql(filter)
        limit = -1 if callable(filter) else k
        rows = self.database.execute(
            f"SELECT d.id, d.content, d.metadata, -bm25({self._t}_words) FROM {self._t}_words "
            f"JOIN {self._t} d ON d.n = {self._t}_words.rowid WHERE {self._t}_words MATCH ? AND {condition} "
            f"ORDER BY bm25({self._t}_words), d.n LIMIT ?",
            (asked, *values, limit),
        )
        found = [(_document(row), float(row[3])) for row in rows]
        return [pair for pair in found if not callable(filter) or filter(pair[0])][:k]

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
        self._refresh()
        numbers = [n for n, _ in self._matrix.nearest(embedding, fetch_k, self._accepting(kwargs.get("filter")))]
        chosen = diverse(embedding, self._matrix.vectors(numbers), k, lambda_mult) if numbers else []
        documents = self._by_number(numbers)
        return [documents[numbers[place]] for place in chosen if numbers[place] in documents]

    def _refresh(self) -> None:
        """Bring the matrix up to date: with the new rows alone, unless something was deleted."""
        import numpy as np

        state = f"SELECT (SELECT coalesce(max(n), 0) FROM {self._t}), deleted FROM {self._t}_state"
        with self._lock, self.database.read() as connection:
            highest, deleted = connection.execute(state).fetchone()
            if (highest, deleted) == self._seen:
                return
            after = self._seen[0] if deleted == self._seen[1] else -1
            rows = connection.execute(f"SELECT n, vector FROM {self._t} WHERE n > ? ORDER BY n", (after,)).fetchall()
            if after < 0:
                self._matrix.clear()
            if rows:
                self._matrix.add(
                    [row[0] for row in rows], np.stack([np.frombuffer(row[1], dtype=np.float32) for row in rows])
                )
            self._seen = (rows[-1][0] if rows else highest, deleted)

    def _accepting(self, given: Filter | None) -> Callable[[int], bool] | None:
        if given is None:
            return None
        if callable(given):
            return lambda n: bool(found := self._by_number([n])) and bool(given(found[n]))
        condition, values = where(parse(given), Sqlite())
        allowed = {row[0] for row in self.database.execute(f"SELECT n FROM {self._t} WHERE {condition}", values)}
        return allowed.__contains__

    def _sql(self, given: Filter | None) -> tuple[str, list[Any]]:
        return ("TRUE", []) if given is None or callable(given) else where(parse(given), Sqlite())

    def _by_number(self, numbers: Sequence[int]) -> dict[int, Document]:
        marks = ",".join("?" * len(numbers))
        rows = self.database.execute(f"SELECT id, content, metadata, n FROM {self._t} WHERE n IN ({marks})", numbers)
        return {row[3]: _document(row) for row in rows}

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str = ":memory:",
        **kwargs: Any,
    ) -> Self:
        """Return a store that holds these texts."""
        store = cls(path, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _document(row: Sequence[Any]) -> Document:
    return Document(page_content=row[1], metadata=json.loads(row[2]), id=row[0])


def _json(metadata: dict[str, Any]) -> str:
    try:
        return json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the metadata of a document must be JSON: {error}", path="$.metadata") from error
