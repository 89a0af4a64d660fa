"""Chat models and embeddings over Ollama's own API. The `ollama` package is imported at the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from pydantic import AliasChoices, Field

from clew.providers import _ollama_chat as wire
from clew.providers._base import AsyncEvents, Events, WireChatModel
from clew.providers._ollama_client import OllamaClient, alines, lines
from clew.providers._ollama_embeddings import OllamaEmbeddings as OllamaEmbeddings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.messages import AIMessage, AIMessageChunk, BaseMessage
    from clew.providers._blocks import JSON, StreamState

__all__ = ["ChatOllama", "OllamaEmbeddings"]


class ChatOllama(WireChatModel):
    """Chat with a model that an Ollama server runs.

    base_url: of the server; None means $OLLAMA_HOST or http://127.0.0.1:11434. num_ctx: tokens of context.
    reasoning: True or an effort ("low" …) for models that think, False to keep them from it. keep_alive: how long the
    model stays loaded ("5m"). Other options go into model_kwargs or the call's keywords, by their names on the wire.
    Raises, at a call: the errors of `clew.errors.ModelError`.
    """

    provider: ClassVar[str] = "ollama"

    max_tokens: int | None = Field(default=None, validation_alias=AliasChoices("max_tokens", "num_predict"))
    num_ctx: int | None = None
    top_k: int | None = None
    seed: int | None = None
    repeat_penalty: float | None = None
    reasoning: bool | str | None = None
    keep_alive: str | float | None = None
    base_url: str | None = Field(default=None, validation_alias=AliasChoices("base_url", "host"))

    def _params(self) -> JSON:
        names = ("num_ctx", "top_k", "seed", "repeat_penalty", "reasoning", "keep_alive")
        return {**super()._params(), **{n: v for n in names if (v := getattr(self, n)) is not None}}

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        return wire.encode(messages, {"model": self.model, **options})

    def _decode(self, body: JSON) -> list[AIMessage]:
        return wire.decode(body)

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        return wire.decode_event(event, into)

    def _finish(self, into: StreamState) -> AIMessageChunk:
        return wire.finish(into)

    def _client(self) -> OllamaClient:
        key = self.api_key.get_secret_value() if self.api_key else None
        return OllamaClient(self.base_url, key, self.timeout, tuple(self.default_headers.items()))

    def _post(self, body: JSON) -> JSON:
        return self._client().post("/api/chat", body)

    async def _apost(self, body: JSON) -> JSON:
        return await self._client().apost("/api/chat", body)

    def _open(self, body: JSON) -> Events:
        reply = self._client().open("/api/chat", body)
        return Events(_stream(reply), reply.close)

    async def _aopen(self, body: JSON) -> AsyncEvents:
        reply = await self._client().aopen("/api/chat", body)
        return AsyncEvents(_astream(reply), reply.aclose)


def _stream(reply: Any) -> Iterator[JSON]:
    for line in lines(reply.iter_bytes()):
        yield msgspec.json.decode(line)


async def _astream(reply: Any) -> AsyncIterator[JSON]:
    async for line in alines(reply.aiter_bytes()):
        yield msgspec.json.decode(line)
