"""Vector stores: documents found by meaning, by words, or by both."""

from typing import TYPE_CHECKING

from clew import _lazy

if TYPE_CHECKING:
    from clew.vectorstores.base import VectorStore as VectorStore
    from clew.vectorstores.hybrid import HybridRetriever as HybridRetriever
    from clew.vectorstores.in_memory import InMemoryVectorStore as InMemoryVectorStore
    from clew.vectorstores.pgvector import PGVectorStore as PGVectorStore
    from clew.vectorstores.retriever import VectorStoreRetriever as VectorStoreRetriever
    from clew.vectorstores.sqlite import SQLiteVectorStore as SQLiteVectorStore

__all__ = [
    "HybridRetriever",
    "InMemoryVectorStore",
    "PGVectorStore",
    "SQLiteVectorStore",
    "VectorStore",
    "VectorStoreRetriever",
]

__getattr__, __dir__ = _lazy.attributes(
    __name__,
    {
        "HybridRetriever": ".hybrid",
        "InMemoryVectorStore": ".in_memory",
        "PGVectorStore": ".pgvector",
        "SQLiteVectorStore": ".sqlite",
        "VectorStore": ".base",
        "VectorStoreRetriever": ".retriever",
    },
)
