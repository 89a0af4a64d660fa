"""Embeddings over Ollama's wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from clew.embeddings import Embeddings
from clew.providers._errors import wrap
from clew.providers._ollama_client import OllamaClient
from clew.providers._retry import aretrying, retrying

if TYPE_CHECKING:
    from clew.providers._blocks import JSON


class OllamaEmbeddings(BaseModel, Embeddings):
    """Embed texts with a model that an Ollama server runs. base_url, timeout: as in ChatOllama."""

    model_config = ConfigDict(protected_namespaces=(), defer_build=True, arbitrary_types_allowed=True)

    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    dimensions: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    keep_alive: str | float | None = None
    timeout: float | None = None
    max_retries: int = 2

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        return retrying(lambda: self._post(texts), self.max_retries)["embeddings"] if texts else []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        return (await aretrying(lambda: self._apost(texts), self.max_retries))["embeddings"] if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return self.embed_documents([text])[0]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return (await self.aembed_documents([text]))[0]

    def _body(self, texts: list[str]) -> JSON:
        more = {"dimensions": self.dimensions, "options": self.options or None, "keep_alive": self.keep_alive}
        return {"model": self.model, "input": texts, **{k: v for k, v in more.items() if v is not None}}

    def _client(self) -> OllamaClient:
        return OllamaClient(self.base_url, self.api_key.get_secret_value() if self.api_key else None, self.timeout, ())

    def _post(self, texts: list[str]) -> JSON:
        try:
            return self._client().post("/api/embed", self._body(texts))
        except Exception as error:
            raise wrap(error, "ollama") or error from error

    async def _apost(self, texts: list[str]) -> JSON:
        try:
            return await self._client().apost("/api/embed", self._body(texts))
        except Exception as error:
            raise wrap(error, "ollama") or error from error
