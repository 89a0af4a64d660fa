"""Embeddings with no meaning in them, for tests of what is built on embeddings."""

from __future__ import annotations

import hashlib
import random

from pydantic import BaseModel, ConfigDict

from clew.embeddings.base import Embeddings

__all__ = ["DeterministicFakeEmbedding", "FakeEmbeddings"]


class FakeEmbeddings(Embeddings, BaseModel):
    """A random vector for every text, another one each time. size: dimensions."""

    model_config = ConfigDict(defer_build=True)

    size: int

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order, all of one length."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that is looked up."""
        return [random.gauss(0.0, 1.0) for _ in range(self.size)]


class DeterministicFakeEmbedding(Embeddings, BaseModel):
    """A random vector for every text, the same one each time. size: dimensions."""

    model_config = ConfigDict(defer_build=True)

    size: int

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order, all of one length."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that is looked up."""
        seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        source = random.Random(seed)
        return [source.gauss(0.0, 1.0) for _ in range(self.size)]
