"""Embeddings over OpenAI's wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr

from clew._lazy import need
from clew.embeddings import Embeddings
from clew.providers import _stainless as sdk_doors
from clew.providers._errors import wrap
from clew.providers._retry import aretrying, retrying

if TYPE_CHECKING:
    from clew.providers._blocks import JSON


class OpenAIEmbeddings(BaseModel, Embeddings):
    """Embed texts over OpenAI's API or a service that speaks it.

    dimensions: of the vectors, where the model can shorten them. chunk_size: texts per request.
    service, base_url, api_key, timeout, max_retries: as in ChatOpenAI.
    """

    model_config = ConfigDict(
        populate_by_name=True, protected_namespaces=(), defer_build=True, arbitrary_types_allowed=True
    )

    model: str = Field(default="text-embedding-3-small", validation_alias=AliasChoices("model", "model_name"))
    dimensions: int | None = None
    chunk_size: int = 1000
    service: str = "openai"
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: float | None = None
    max_retries: int = 2
    default_headers: dict[str, str] = Field(default_factory=dict)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        return [
            row
            for body in self._bodies(texts)
            for row in rows(retrying(lambda b=body: self._post(b), self.max_retries))
        ]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return n vectors for n texts, in order."""
        out: list[list[float]] = []
        for body in self._bodies(texts):
            out += rows(await aretrying(lambda b=body: self._apost(b), self.max_retries))
        return out

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return self.embed_documents([text])[0]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return (await self.aembed_documents([text]))[0]

    def _bodies(self, texts: list[str]) -> list[JSON]:
        more = {"dimensions": self.dimensions} if self.dimensions else {}
        starts = range(0, len(texts), self.chunk_size)
        return [
            {"model": self.model, "input": texts[i : i + self.chunk_size], "encoding_format": "float", **more}
            for i in starts
        ]

    def _arguments(self) -> JSON:
        from clew.providers.openai import address, key_for

        return {
            "base_url": address(self.service, self.base_url),
            "api_key": key_for(self.service, self.base_url, self.api_key),
            "timeout": self.timeout,
            "default_headers": self.default_headers,
        }

    def _post(self, body: JSON) -> JSON:
        try:
            sdk = need("openai", "openai", "OpenAIEmbeddings")
            client = sdk_doors.blocking_client(sdk, "openai", "OpenAI", self._arguments())
            return sdk_doors.decoded(
                client.post("/embeddings", cast_to=sdk_doors.response_type(sdk), body=body).content
            )
        except Exception as error:
            raise wrap(error, "openai") or error from error

    async def _apost(self, body: JSON) -> JSON:
        try:
            sdk = need("openai", "openai", "OpenAIEmbeddings")
            client = await sdk_doors.async_client(sdk, "openai", "OpenAI", self._arguments())
            reply = await client.post("/embeddings", cast_to=sdk_doors.response_type(sdk), body=body)
            return sdk_doors.decoded(reply.content)
        except Exception as error:
            raise wrap(error, "openai") or error from error


def rows(body: Any) -> list[list[float]]:
    """Return the vectors of a reply in the order of the texts; base64 ones are float32, little-endian."""
    found = sorted(body["data"], key=lambda item: item.get("index", 0))
    return [_vector(item["embedding"]) for item in found]


def _vector(value: Any) -> list[float]:
    if isinstance(value, str):
        import array
        import base64
        import sys

        numbers = array.array("f", base64.b64decode(value))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist()
    return value
