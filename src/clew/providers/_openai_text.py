"""OpenAI's older completions wire: text in, text out, which base models and local servers still speak.

Source: OpenAI API reference, "Completions", and recorded exchanges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from pydantic import AliasChoices, ConfigDict, Field, SecretStr

from clew._lazy import need
from clew.errors import ModelInvalidRequestError
from clew.language_models.llms import BaseLLM
from clew.outputs import Generation, GenerationChunk, LLMResult
from clew.providers import _openai_chat as chat
from clew.providers import _stainless as doors
from clew.providers._errors import cut, from_reply, wrap
from clew.providers._json import JSON
from clew.providers._retry import aretrying, retrying
from clew.providers._sse import aevents, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun


class OpenAI(BaseLLM):
    """A text model over OpenAI's completions API, or a server that speaks it.

    service, base_url, api_key, timeout, max_retries: as in ChatOpenAI. model_kwargs: further parameters of the wire.
    """

    model_config = ConfigDict(
        populate_by_name=True, arbitrary_types_allowed=True, protected_namespaces=(), defer_build=True
    )

    model: str = Field(default="gpt-3.5-turbo-instruct", validation_alias=AliasChoices("model", "model_name"))
    temperature: float | None = None
    max_tokens: int | None = None
    service: str = "openai"
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: float | None = None
    max_retries: int = 2
    default_headers: dict[str, str] = Field(default_factory=dict)
    model_kwargs: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "openai"

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The key is never shown."""
        return {"api_key": "OPENAI_API_KEY"}

    def _request(self, prompt: Any, stop: list[str] | None, *, stream: bool, **kwargs: Any) -> JSON:
        own = {"model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens}
        options: JSON = {**own, **self.model_kwargs, **kwargs, "prompt": prompt, "stop": stop}
        if stream:
            options["stream"] = True
            options.setdefault("stream_options", {"include_usage": True})
            if (options.get("n") or 1) > 1:
                raise ModelInvalidRequestError("n > 1 can't be streamed: use generate", provider="openai")
        return {k: v for k, v in options.items() if v is not None}

    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        body = self._request(prompts, stop, stream=False, **kwargs)
        return decode(retrying(lambda: self._post(body), self.max_retries), len(prompts))

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        body = self._request(prompts, stop, stream=False, **kwargs)
        return decode(await aretrying(lambda: self._apost(body), self.max_retries), len(prompts))

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        body = self._request(prompt, stop, stream=True, **kwargs)
        reply = retrying(lambda: self._open(body), self.max_retries)
        reader = Reader()
        try:
            for _, data in events(reply.iter_bytes()):
                if (chunk := reader.read(data)) is not None:
                    yield chunk
        except Exception as error:
            _raise(error)
        finally:
            reply.close()
        reader.check()

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        body = self._request(prompt, stop, stream=True, **kwargs)
        reply = await aretrying(lambda: self._aopen(body), self.max_retries)
        reader = Reader()
        try:
            async for _, data in aevents(reply.aiter_bytes()):
                if (chunk := reader.read(data)) is not None:
                    yield chunk
        except Exception as error:
            _raise(error)
        finally:
            await reply.aclose()
        reader.check()

    # -- the SDK

    def _arguments(self) -> JSON:
        from clew.providers.openai import address, key_for

        key = key_for(self.service, self.base_url, self.api_key)
        common = {"timeout": self.timeout, "default_headers": self.default_headers}
        return {"base_url": address(self.service, self.base_url), "api_key": key, **common}

    def _post(self, body: JSON) -> JSON:
        try:
            sdk = need("openai", "openai", "OpenAI")
            client = doors.blocking_client(sdk, "openai", "OpenAI", self._arguments())
            return doors.decoded(client.post("/completions", cast_to=doors.response_type(sdk), body=body).content)
        except Exception as error:
            _raise(error)

    async def _apost(self, body: JSON) -> JSON:
        try:
            sdk = need("openai", "openai", "OpenAI")
            client = await doors.async_client(sdk, "openai", "OpenAI", self._arguments())
            reply = await client.post("/completions", cast_to=doors.response_type(sdk), body=body)
            return doors.decoded(reply.content)
        except Exception as error:
            _raise(error)

    def _open(self, body: JSON) -> Any:
        try:
            sdk = need("openai", "openai", "OpenAI")
            client = doors.blocking_client(sdk, "openai", "OpenAI", self._arguments())
            kind = doors.response_type(sdk)
            return client.post("/completions", cast_to=kind, body=body, stream=True, stream_cls=sdk.Stream)
        except Exception as error:
            _raise(error)

    async def _aopen(self, body: JSON) -> Any:
        try:
            sdk = need("openai", "openai", "OpenAI")
            client = await doors.async_client(sdk, "openai", "OpenAI", self._arguments())
            kind = doors.response_type(sdk)
            return await client.post("/completions", cast_to=kind, body=body, stream=True, stream_cls=sdk.AsyncStream)
        except Exception as error:
            _raise(error)


def _raise(error: Exception) -> NoReturn:
    found = wrap(error, "openai")
    if found is None or found is error:
        raise error
    raise found from error


def decode(body: JSON, prompts: int = 1) -> LLMResult:
    """Return the answers, grouped by prompt (the wire has them in one row). Raises: ModelError for an error reply."""
    choices: list[JSON] = sorted(body.get("choices") or (), key=lambda choice: choice.get("index", 0))
    if not choices:
        raise from_reply("openai", None, body)
    each = max(1, len(choices) // prompts)
    generations = [
        [Generation(text=c.get("text") or "", generation_info=_info(c)) for c in choices[i : i + each]]
        for i in range(0, len(choices), each)
    ]
    facts = {k: v for k, v in body.items() if k not in ("choices", "object", "usage")}
    return LLMResult(generations=generations, llm_output={**facts, "token_usage": body.get("usage")})


def _info(choice: JSON) -> JSON:
    return {k: v for k, v in choice.items() if k not in ("text", "index") and v is not None}


class Reader:
    """Reads the events of one stream. usage: as usage_metadata, when it came."""

    def __init__(self) -> None:
        self.finished = False
        self.usage: JSON | None = None

    def read(self, data: bytes) -> GenerationChunk | None:
        """Return what an event adds, or None. Raises: ModelError for an error event."""
        if data == b"[DONE]":
            self.finished = True
            return None
        event: JSON = msgspec.json.decode(data)
        self.usage = chat.usage_of(event.get("usage")) or self.usage
        if not event.get("choices"):
            if event.get("error"):
                raise from_reply("openai", None, event)
            return None
        choice: JSON = event["choices"][0]
        self.finished = self.finished or bool(choice.get("finish_reason"))
        info = _info(choice)
        return GenerationChunk(text=choice.get("text") or "", generation_info=info or None)

    def check(self) -> None:
        """Raise: ModelConnectionError when the stream ended before the answer did."""
        if not self.finished:
            raise cut("openai")
