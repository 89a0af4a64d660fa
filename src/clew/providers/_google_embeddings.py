"""Embeddings over Google's wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr

from clew.embeddings import Embeddings
from clew.providers._errors import wrap
from clew.providers._google_client import GoogleClient
from clew.providers._retry import aretrying, retrying

if TYPE_CHECKING:
    from clew.providers._blocks import JSON


class GoogleGenerativeAIEmbeddings(BaseModel, Embeddings):
    """Embed texts over the Gemini API.

    task_type: as in "RETRIEVAL_DOCUMENT"; queries use "RETRIEVAL_QUERY" when it is set. dimensions: of the vectors.
    """

    model_config = ConfigDict(
        populate_by_name=True, protected_namespaces=(), defer_build=True, arbitrary_types_allowed=True
    )

    model: str = Field(default="gemini-embedding-001", validation_alias=AliasChoices("model", "model_name"))
    dimensions: int | None = Field(default=None, validation_alias=AliasChoices("dimensions", "output_dimensionality"))
    task_type: str | None = None
    chunk_size: int = 100
    base_url: str | None = None
    api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("api_key", "google_api_key"))
    api_version: str | None = None
    timeout: float | None = None
    max_retries: int = 2

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        bodies = self._bodies(texts, self.task_type)
        return [row for body in bodies for row in rows(retrying(lambda b=body: self._post(b), self.max_retries))]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        out: list[list[float]] = []
        for body in self._bodies(texts, self.task_type):
            out += rows(await aretrying(lambda b=body: self._apost(b), self.max_retries))
        return out

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        (body,) = self._bodies([text], self.task_type and "RETRIEVAL_QUERY")
        return rows(retrying(lambda: self._post(body), self.max_retries))[0]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        (body,) = self._bodies([text], self.task_type and "RETRIEVAL_QUERY")
        return rows(await aretrying(lambda: self._apost(body), self.max_retries))[0]

    def _name(self) -> str:
        return self.model if self.model.startswith("models/") else f"models/{self.model}"

    def _bodies(self, texts: list[str], task_type: str | None) -> list[JSON]:
        more: JSON = {"taskType": task_type} if task_type else {}
        if self.dimensions:
            more["outputDimensionality"] = self.dimensions
        requests = [{"model": self._name(), "content": {"parts": [{"text": text}]}, **more} for text in texts]
        return [{"requests": requests[i : i + self.chunk_size]} for i in range(0, len(requests), self.chunk_size)]

    def _client(self) -> GoogleClient:
        key = self.api_key.get_secret_value() if self.api_key else None
        return GoogleClient(key, self.base_url, self.api_version, self.timeout, ())

    def _post(self, body: JSON) -> JSON:
        try:
            return msgspec.json.decode(self._client().post(f"{self._name()}:batchEmbedContents", dict(body)))
        except Exception as error:
            raise wrap(error, "google") or error from error

    async def _apost(self, body: JSON) -> JSON:
        try:
            return msgspec.json.decode(await self._client().apost(f"{self._name()}:batchEmbedContents", dict(body)))
        except Exception as error:
            raise wrap(error, "google") or error from error


def rows(body: Any) -> list[list[float]]:
    """Return the vectors of a reply in the order of the texts."""
    return [item["values"] for item in body.get("embeddings") or [body["embedding"]]]
