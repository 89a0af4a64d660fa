"""Chat models and embeddings over Google's API: Gemini, and Vertex AI through the same SDK.

The `google-genai` package is imported at the first call. Requests go through its API client, which knows addresses,
keys and credentials; bodies stay ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from pydantic import AliasChoices, Field, SecretStr

from clew.providers import _google_genai as wire
from clew.providers._base import AsyncEvents, Events, WireChatModel
from clew.providers._google_client import GoogleClient
from clew.providers._google_embeddings import GoogleGenerativeAIEmbeddings as GoogleGenerativeAIEmbeddings
from clew.providers._sse import aevents, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.messages import AIMessage, AIMessageChunk, BaseMessage
    from clew.providers._blocks import JSON, StreamState

__all__ = ["ChatGemini", "ChatGoogleGenerativeAI", "ChatVertexAI", "GoogleGenerativeAIEmbeddings"]


class ChatGoogleGenerativeAI(WireChatModel):
    """Chat over Google's generateContent.

    vertexai: use Vertex AI, with project and location (or the SDK's environment variables) and Google credentials.
    thinking_budget, include_thoughts: of models that think. safety_settings: a list of {"category", "threshold"}.
    Other parameters go into model_kwargs or the call's keywords, by their names on the wire (snake or camel case).
    Raises, at a call: the errors of `clew.errors.ModelError`.
    """

    provider: ClassVar[str] = "google"

    max_tokens: int | None = Field(default=None, validation_alias=AliasChoices("max_tokens", "max_output_tokens"))
    top_k: int | None = None
    seed: int | None = None
    thinking_budget: int | None = None
    include_thoughts: bool | None = None
    response_modalities: list[str] | None = None
    safety_settings: list[dict[str, Any]] | None = None
    cached_content: str | None = None
    api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("api_key", "google_api_key"))
    api_version: str | None = None
    vertexai: bool = False
    project: str | None = None
    location: str | None = None
    credentials: Any = Field(default=None, exclude=True, repr=False)

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The key is never shown."""
        return {"api_key": "GOOGLE_API_KEY"}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {
            **super()._get_ls_params(stop, **kwargs),
            "ls_provider": "google_vertexai" if self.vertexai else "google_genai",
        }

    def _params(self) -> JSON:
        names = (
            "top_k", "seed", "thinking_budget", "include_thoughts", "response_modalities", "safety_settings",
            "cached_content",
        )  # fmt: skip
        return {**super()._params(), **{n: v for n in names if (v := getattr(self, n)) is not None}}

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        streams = options.pop("stream")
        model = options.pop("model", self.model)
        body = wire.encode(messages, options)
        body["_path"] = wire_path(model, vertex=self.vertexai, stream=streams)
        return body

    def _decode(self, body: JSON) -> list[AIMessage]:
        return wire.decode(body)

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        return wire.decode_event(event, into)

    def _finish(self, into: StreamState) -> AIMessageChunk:
        return wire.finish(into)

    # -- the SDK

    def _client(self) -> GoogleClient:
        key = self.api_key.get_secret_value() if self.api_key else None
        return GoogleClient(
            key, self.base_url, self.api_version, self.timeout, tuple(self.default_headers.items()),
            self.vertexai, self.project, self.location, self.credentials,
        )  # fmt: skip

    def _post(self, body: JSON) -> JSON:
        return msgspec.json.decode(self._client().post(*_split(body)))

    async def _apost(self, body: JSON) -> JSON:
        return msgspec.json.decode(await self._client().apost(*_split(body)))

    def _open(self, body: JSON) -> Events:
        reply = self._client().open(*_split(body))
        return Events(_stream(reply), reply.close)

    async def _aopen(self, body: JSON) -> AsyncEvents:
        reply = await self._client().aopen(*_split(body))
        return AsyncEvents(_astream(reply), reply.aclose)


class ChatGemini(ChatGoogleGenerativeAI):
    """ChatGoogleGenerativeAI under its short name."""


class ChatVertexAI(ChatGoogleGenerativeAI):
    """ChatGoogleGenerativeAI on Vertex AI."""

    vertexai: bool = True


def wire_path(model: str, *, vertex: bool, stream: bool) -> str:
    """Return the path of a call: "models/NAME:generateContent", or under publishers/ on Vertex AI."""
    if not model.startswith(("models/", "publishers/", "projects/", "tunedModels/")):
        model = f"publishers/google/models/{model}" if vertex else f"models/{model}"
    return f"{model}:streamGenerateContent?alt=sse" if stream else f"{model}:generateContent"


def _split(body: JSON) -> tuple[str, JSON]:
    """Return (path, body)."""
    return body.pop("_path"), body


def _stream(reply: Any) -> Iterator[JSON]:
    for _, data in events(reply.iter_bytes()):
        yield msgspec.json.decode(data)


async def _astream(reply: Any) -> AsyncIterator[JSON]:
    async for _, data in aevents(reply.aiter_bytes()):
        yield msgspec.json.decode(data)
