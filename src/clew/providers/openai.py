"""Chat models and embeddings over OpenAI's API, and over everything that speaks it.

`ChatOpenAI(base_url=…)` reaches any compatible server; `service="groq"` takes address, key variable and quirks from
the table in `_table`. The `openai` package is imported at the first call.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import AliasChoices, Field, SecretStr

from clew._lazy import need
from clew.errors import ModelAuthenticationError, ModelInvalidRequestError
from clew.providers import _openai_chat as chat
from clew.providers import _openai_responses as responses
from clew.providers._openai_embeddings import OpenAIEmbeddings as OpenAIEmbeddings
from clew.providers._openai_text import OpenAI as OpenAI
from clew.providers._stainless import DONE, StainlessChatModel
from clew.providers._table import SERVICES, Service

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from clew.messages import AIMessage, AIMessageChunk, BaseMessage
    from clew.providers._blocks import JSON, StreamState

__all__ = ["AzureChatOpenAI", "ChatOpenAI", "OpenAI", "OpenAIEmbeddings"]


class ChatOpenAI(StainlessChatModel):
    """Chat over OpenAI's chat completions (default) or responses API, or a service that speaks them.

    service: a line of the table ("openai", "groq", "mistral", "vllm" …). base_url: overrides the service's address.
    use_responses_api: True for the responses API. reasoning_effort: "low", "medium" … for models that reason.
    Other parameters go into model_kwargs or the call's keywords, by their names on the wire.
    Raises, at a call: the errors of `clew.errors.ModelError`, whatever the service.
    """

    provider: ClassVar[str] = "openai"
    structured_method: ClassVar[str] = "json_schema"

    model: str = Field(default="gpt-4o-mini", validation_alias=AliasChoices("model", "model_name"))
    service: str = "openai"
    base_url: str | None = Field(default=None, validation_alias=AliasChoices("base_url", "openai_api_base"))
    api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("api_key", "openai_api_key"))
    organization: str | None = None
    use_responses_api: bool = False
    reasoning_effort: str | None = None
    seed: int | None = None
    n: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Check the service's name."""
        super().model_post_init(context)
        if self.service not in SERVICES:
            raise ValueError(f"unknown service {self.service!r}; known: {', '.join(sorted(SERVICES))}")

    @property
    def _row(self) -> Service:
        return SERVICES[self.service]

    @property
    def _who(self) -> str:
        return self.service

    def _quirks(self) -> chat.Quirks:
        row = self._row
        if self.service == "openai" and self.base_url and "openai.com" not in self.base_url:
            return row.quirks._replace(max_tokens="max_tokens")
        return row.quirks

    def _params(self) -> JSON:
        names = ("reasoning_effort", "n", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty")
        own = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.seed is not None:
            own["seed"] = self.seed
        return {**super()._params(), **own}

    # -- the wires

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        options = {"model": self.model, **options}
        if not options["stream"]:
            del options["stream"]
        if self.use_responses_api:
            body = responses.encode(messages, options)
            if self._row.flat_schema and "response_format" in options:
                body["response_format"] = options["response_format"]
            return body
        quirks = self._quirks()
        for name, wire_name in (("max_tokens", quirks.max_tokens), ("seed", quirks.seed)):
            if name in options and name != wire_name:
                options.setdefault(wire_name, options.pop(name))
        if options.get("stream"):
            if (options.get("n") or 1) > 1:
                raise ModelInvalidRequestError(
                    "n > 1 can't be streamed: use invoke or generate", provider=self.provider
                )
            if self.stream_usage and quirks.stream_usage:
                options.setdefault("stream_options", {"include_usage": True})
        return chat.encode(messages, options, quirks)

    def _decode(self, body: JSON) -> list[AIMessage]:
        return (responses if self.use_responses_api else chat).decode(body, self._who)

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        if event is DONE:
            into.finished = True
            return None
        return (responses if self.use_responses_api else chat).decode_event(event, into, self._who)

    def _finish(self, into: StreamState) -> AIMessageChunk:
        return (responses if self.use_responses_api else chat).finish(into, self._who)

    # -- the SDK

    def _sdk(self) -> ModuleType:
        return need("openai", "openai", type(self).__name__)

    def _path(self, body: JSON) -> str:
        return "/responses" if self.use_responses_api else "/chat/completions"

    def _client_arguments(self) -> tuple[str, JSON]:
        arguments: JSON = {
            "base_url": address(self.service, self.base_url),
            "api_key": key_for(self.service, self.base_url, self.api_key),
            "organization": self.organization,
            "timeout": self.timeout,
            "default_headers": self.default_headers,
        }
        return "OpenAI", arguments

    def _request_options(self, body: JSON) -> JSON:
        headers = body.pop("extra_headers", None)
        body.update(body.pop("extra_body", None) or {})
        return {"headers": headers} if headers else {}


class AzureChatOpenAI(ChatOpenAI):
    """ChatOpenAI on an Azure OpenAI resource.

    azure_endpoint: https://NAME.openai.azure.com, else $AZURE_OPENAI_ENDPOINT. azure_deployment: defaults to the model.
    api_version: as in "2024-10-21", else $OPENAI_API_VERSION. azure_ad_token: in place of a key.
    """

    service: str = "azure_openai"
    azure_endpoint: str | None = None
    azure_deployment: str | None = None
    api_version: str | None = None
    azure_ad_token: SecretStr | None = None

    def _client_arguments(self) -> tuple[str, JSON]:
        endpoint = self.azure_endpoint or os.environ.get("AZURE_OPENAI_ENDPOINT")
        token = self.azure_ad_token.get_secret_value() if self.azure_ad_token else None
        arguments: JSON = {
            "base_url": self.base_url,
            "azure_endpoint": None if self.base_url else endpoint,
            "azure_deployment": None if self.base_url else self.azure_deployment,
            "api_version": self.api_version or os.environ.get("OPENAI_API_VERSION") or "2024-10-21",
            "azure_ad_token": token,
            "api_key": None if token else key_for(self.service, None, self.api_key),
            "timeout": self.timeout,
            "default_headers": self.default_headers,
        }
        return "AzureOpenAI", arguments


def address(service: str, base_url: str | None) -> str | None:
    """Return the address to call. Raises: ModelInvalidRequestError for a service that has one per customer."""
    row = SERVICES[service]
    found = base_url or (os.environ.get(row.url_variable) if row.url_variable else None) or row.base_url
    if found == "":
        raise ModelInvalidRequestError(f"{service} has an address of your own: give base_url", provider=service)
    return found


def key_for(service: str, base_url: str | None, api_key: SecretStr | None) -> str:
    """Return the key to send. Raises: ModelAuthenticationError that names the variables that may hold it."""
    row = SERVICES[service]
    if api_key is not None:
        return api_key.get_secret_value()
    for variable in row.key_variables:
        if value := os.environ.get(variable):
            return value
    if row.needs_key and not base_url:
        names = " or ".join(row.key_variables)
        raise ModelAuthenticationError(f"{service} needs a key: give api_key or set {names}", provider=service)
    return "none"
