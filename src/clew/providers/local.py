"""A chat model in this machine: no key, no network, the same messages, streams, schemas and usage as any other.

`ChatLocal()` is SmolLM2-135M from its wheel; a path to a .gguf file serves any other model. The engine runs in a
process of its own (see `_local_engine`), started by the first call and shared by all models with the same file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from pydantic import AliasChoices, Field

from clew.providers import _loopback as http
from clew.providers import _openai_chat as wire
from clew.providers._base import AsyncEvents, Events, WireChatModel
from clew.providers._sse import aevents, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.messages import AIMessage, AIMessageChunk, BaseMessage
    from clew.providers._blocks import JSON, StreamState
    from clew.providers._local_engine import Server


class ChatLocal(WireChatModel):
    """Chat with a model that runs in this machine.

    model: "smollm2", or the path of a .gguf file. context: tokens of prompt and answer together. threads: of the
    engine; None means half the cores, at most eight. seed: makes sampling repeatable.
    Raises, at the first call: MissingDependencyError when the model or an engine is not installed,
    ModelConnectionError when the engine does not start or died, ContextOverflowError when the prompt is too long.
    """

    provider: ClassVar[str] = "local"
    structured_method: ClassVar[str] = "prompted"
    native_tools: ClassVar[bool] = False

    model: str = Field(default="smollm2", validation_alias=AliasChoices("model", "model_name"))
    context: int = 4096
    threads: int | None = None
    seed: int | None = None

    @property
    def lc_secrets(self) -> dict[str, str]:
        """None: a local model has no key."""
        return {}

    def _params(self) -> JSON:
        own = super()._params()
        return own if self.seed is None else {**own, "seed": self.seed}

    def start(self) -> Server:
        """Start the engine now rather than at the first call, and return its server (url, key, log)."""
        from clew.providers._local_engine import server_for

        return server_for(self.model, context=self.context, threads=self.threads)

    def get_token_ids(self, text: str) -> list[int]:
        """Return the model's own tokens of a text."""
        with http.post(self._request("/tokenize", {"content": text})) as response:
            return msgspec.json.decode(response.read())["tokens"]

    def _request(self, path: str, body: JSON) -> http.Request:
        server = self.start()
        return http.Request(server.url + path, server.key, body, self.timeout)

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        if options["stream"] and self.stream_usage:
            options["stream_options"] = {"include_usage": True}
        return wire.encode(messages, {"model": self.model, **options})

    def _decode(self, body: JSON) -> list[AIMessage]:
        return wire.decode(body, "local")

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        return wire.decode_event(event, into, "local")

    def _finish(self, into: StreamState) -> AIMessageChunk:
        return wire.finish(into, "local")

    def _post(self, body: JSON) -> JSON:
        with http.post(self._request(_PATH, body)) as response:
            return msgspec.json.decode(response.read())

    async def _apost(self, body: JSON) -> JSON:
        response = await http.apost(await self._arequest(_PATH, body))
        try:
            return msgspec.json.decode(await response.read())
        finally:
            await response.aclose()

    def _open(self, body: JSON) -> Events:
        response = http.post(self._request(_PATH, body))
        return Events(_decoded(response), response.close)

    async def _aopen(self, body: JSON) -> AsyncEvents:
        response = await http.apost(await self._arequest(_PATH, body))
        return AsyncEvents(_adecoded(response), response.aclose)

    async def _arequest(self, path: str, body: JSON) -> http.Request:
        """Starting the engine takes up to seconds, so it happens in a thread."""
        import asyncio

        return await asyncio.to_thread(self._request, path, body)


_PATH = "/v1/chat/completions"


def _decoded(response: Any) -> Iterator[JSON]:
    for _, data in events(http.chunks(response)):
        if data != b"[DONE]":
            yield msgspec.json.decode(data)


async def _adecoded(response: http.AsyncResponse) -> AsyncIterator[JSON]:
    async for _, data in aevents(response.chunks()):
        if data != b"[DONE]":
            yield msgspec.json.decode(data)
