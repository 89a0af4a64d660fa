"""The part of a chat model that is the same over every wire: one call, one stream, their errors and retries.

A wire gives `_encode`, `_decode`, `_decode_event`, `_finish` (pure), and four doors to its SDK: `_post`, `_open` and
their async twins. Nothing of an SDK is imported before the first call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from pydantic import AliasChoices, ConfigDict, Field, SecretStr, model_validator

from clew.language_models import BaseChatModel
from clew.messages.ai import add_ai_message_chunks
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from clew.providers._blocks import JSON, StreamState
from clew.providers._errors import cut, wrap
from clew.providers._json import is_object
from clew.providers._retry import aretrying, retrying

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
    from clew.messages import AIMessage, AIMessageChunk, BaseMessage


class Events:
    """An open stream: iterate it for its events (decoded JSON), close it to let go of the connection.

    owner: the client, which has to live as long as its stream.
    """

    __slots__ = ("_close", "_owner", "_source")

    def __init__(self, source: Iterator[JSON], close: Callable[[], Any], owner: Any = None) -> None:
        self._source = source
        self._close = close
        self._owner = owner

    def __iter__(self) -> Iterator[JSON]:
        return self._source

    def close(self) -> None:
        """Close the provider's stream; safe to repeat."""
        self._close()


class AsyncEvents:
    """The async twin of Events."""

    __slots__ = ("_close", "_source")

    def __init__(self, source: AsyncIterator[JSON], close: Callable[[], Awaitable[Any]]) -> None:
        self._source = source
        self._close = close

    def __aiter__(self) -> AsyncIterator[JSON]:
        return self._source

    async def aclose(self) -> None:
        """Close the provider's stream; safe to repeat."""
        await self._close()


class WireChatModel(BaseChatModel):
    """Base of the chat models that talk to a provider.

    timeout: seconds for one try. max_retries: further tries after a failure that may pass; a wait that the provider
    asks for is kept. model_kwargs: further parameters in the wire's own names; unknown arguments go there too.
    """

    provider: ClassVar[str] = ""
    """The wire's name."""

    model_config = ConfigDict(
        populate_by_name=True, arbitrary_types_allowed=True, protected_namespaces=(), defer_build=True
    )

    model: str = Field(validation_alias=AliasChoices("model", "model_name"))
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: str | list[str] | None = Field(default=None, validation_alias=AliasChoices("stop", "stop_sequences"))
    streaming: bool = False
    stream_usage: bool = True
    timeout: float | None = Field(default=None, validation_alias=AliasChoices("timeout", "request_timeout"))
    max_retries: int = 2
    base_url: str | None = None
    api_key: SecretStr | None = None
    default_headers: dict[str, str] = Field(default_factory=dict)
    model_kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown(cls, values: Any) -> Any:
        """Arguments that are no field are parameters of the wire: sent, never dropped in silence."""
        if not is_object(values):
            return values
        unknown = values.keys() - _names_of(cls)
        if not unknown:
            return values
        more = {name: values[name] for name in values if name in unknown}
        rest = {name: value for name, value in values.items() if name not in unknown}
        given: Any = values.get("model_kwargs") or {}
        return {**rest, "model_kwargs": {**given, **more}}

    @property
    def model_name(self) -> str:
        """The model's name, as `model`."""
        return self.model

    @property
    def _who(self) -> str:
        """The name in this model's errors and metadata."""
        return self.provider

    @property
    def _llm_type(self) -> str:
        return f"{self.provider}-chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "base_url": self.base_url, **self._params()}

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Constructor arguments that are never shown -> the variable that may hold them."""
        return {"api_key": f"{self.provider.upper()}_API_KEY"}

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Tell whether `dumps` may write this class down (without its key)."""
        return True

    # -- what a wire gives

    def _params(self) -> JSON:
        """Return the parameters that were set, by their names in the constructor."""
        own = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens, "stop": self.stop}
        return {**{k: v for k, v in own.items() if v is not None}, **self.model_kwargs}

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        raise NotImplementedError

    def _decode(self, body: JSON) -> list[AIMessage]:
        raise NotImplementedError

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        raise NotImplementedError

    def _finish(self, into: StreamState) -> AIMessageChunk:
        raise NotImplementedError

    def _post(self, body: JSON) -> JSON:
        raise NotImplementedError

    async def _apost(self, body: JSON) -> JSON:
        raise NotImplementedError

    def _open(self, body: JSON) -> Events:
        raise NotImplementedError

    async def _aopen(self, body: JSON) -> AsyncEvents:
        raise NotImplementedError

    # -- the documents' hooks

    def _prepare_request(
        self, messages: Sequence[BaseMessage], stop: list[str] | None = None, stream: bool = False, **kwargs: Any
    ) -> JSON:
        """Return the request body: the constructor's parameters, overridden by those of the call."""
        options = {**self._params(), **kwargs}
        if stop is not None:
            options["stop"] = stop
        options["stream"] = stream
        options.pop("ls_structured_output_format", None)
        return self._encode(messages, options)

    def _create_chat_result(self, response: JSON) -> ChatResult:
        """Return the result for a decoded reply."""
        messages = self._decode(response)
        generations = [ChatGeneration(message=m, generation_info=_info(m)) for m in messages]
        facts: JSON = messages[0].response_metadata
        model = facts.get("model") or self.model
        return ChatResult(generations=generations, llm_output={"model": model, "model_name": model})

    def _combine_llm_outputs(self, llm_outputs: list[dict[str, Any] | None]) -> dict[str, Any]:
        found: list[dict[str, Any]] = [output for output in llm_outputs if output]
        return {**found[0]} if found else {}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        body = self._prepare_request(messages, stop, False, **kwargs)
        return self._create_chat_result(retrying(lambda: self._try_post(body), self.max_retries))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        body = self._prepare_request(messages, stop, False, **kwargs)
        return self._create_chat_result(await aretrying(lambda: self._atry_post(body), self.max_retries))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        body = self._prepare_request(messages, stop, True, **kwargs)
        into = StreamState()
        decode, seen = self._decode_event, into.seen
        events = retrying(lambda: self._try_open(body), self.max_retries)
        try:
            for event in events:
                chunk = decode(event, into)
                if chunk is not None:
                    seen.append(chunk)
                    yield ChatGenerationChunk(message=chunk)
        except Exception as error:
            self._broken(error, into)
        finally:
            events.close()
        yield ChatGenerationChunk(message=self._closing(into))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        body = self._prepare_request(messages, stop, True, **kwargs)
        into = StreamState()
        decode, seen = self._decode_event, into.seen
        events = await aretrying(lambda: self._atry_open(body), self.max_retries)
        try:
            async for event in events:
                chunk = decode(event, into)
                if chunk is not None:
                    seen.append(chunk)
                    yield ChatGenerationChunk(message=chunk)
        except Exception as error:
            self._broken(error, into)
        finally:
            await events.aclose()
        yield ChatGenerationChunk(message=self._closing(into))

    # -- errors; each try has a body of its own, since the doors take out what goes elsewhere (headers, path)

    def _try_post(self, body: JSON) -> JSON:
        try:
            return self._post({**body})
        except Exception as error:
            self._raise(error)

    async def _atry_post(self, body: JSON) -> JSON:
        try:
            return await self._apost({**body})
        except Exception as error:
            self._raise(error)

    def _try_open(self, body: JSON) -> Events:
        try:
            return self._open({**body})
        except Exception as error:
            self._raise(error)

    async def _atry_open(self, body: JSON) -> AsyncEvents:
        try:
            return await self._aopen({**body})
        except Exception as error:
            self._raise(error)

    def _raise(self, error: Exception) -> NoReturn:
        found = wrap(error, self._who)
        if found is None or found is error:
            raise error
        raise found from error

    def _broken(self, error: Exception, into: StreamState) -> None:
        """Raise the error of a stream with what had come; an answer that was complete before it counts as whole."""
        found = wrap(error, self._who)
        if found is None:
            raise error
        if into.finished and isinstance(found, ConnectionError):
            return
        found.partial = _sum(into.seen)
        if found is error:
            raise error
        raise found from error

    def _closing(self, into: StreamState) -> AIMessageChunk:
        if not into.finished:
            error = cut(self._who)
            error.partial = _sum(into.seen)
            raise error
        return self._finish(into)


@functools.cache
def _names_of(cls: type[WireChatModel]) -> frozenset[str]:
    """The names that a constructor takes: fields and their other names."""
    names: set[str] = set(cls.model_fields)
    for field in cls.model_fields.values():
        alias = field.validation_alias
        if isinstance(alias, AliasChoices):
            names.update(choice for choice in alias.choices if isinstance(choice, str))
        elif isinstance(alias, str):
            names.add(alias)
    return frozenset(names)


def _info(message: AIMessage) -> JSON:
    facts: JSON = message.response_metadata
    return {"finish_reason": facts.get("finish_reason")}


def _sum(chunks: list[AIMessageChunk]) -> AIMessageChunk | None:
    return add_ai_message_chunks(*chunks) if chunks else None
