"""Embedding models: the base, fakes for tests, and two small ones that run on this machine."""

from typing import TYPE_CHECKING

from clew import _lazy

if TYPE_CHECKING:
    from clew.embeddings._named import init_embeddings as init_embeddings
    from clew.embeddings.base import Embeddings as Embeddings
    from clew.embeddings.fake import DeterministicFakeEmbedding as DeterministicFakeEmbedding
    from clew.embeddings.fake import FakeEmbeddings as FakeEmbeddings
    from clew.embeddings.local import LocalEmbeddings as LocalEmbeddings

__all__ = ["DeterministicFakeEmbedding", "Embeddings", "FakeEmbeddings", "LocalEmbeddings", "init_embeddings"]

__getattr__, __dir__ = _lazy.attributes(
    __name__,
    {
        "DeterministicFakeEmbedding": ".fake",
        "Embeddings": ".base",
        "FakeEmbeddings": ".fake",
        "LocalEmbeddings": ".local",
        "init_embeddings": "._named",
    },
)
