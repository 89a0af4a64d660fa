"""Chat models over Anthropic's API. The `anthropic` package is imported at the first call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import AliasChoices, Field, SecretStr

from clew._lazy import need
from clew.providers import _anthropic_messages as wire
from clew.providers._retry import aretrying, retrying
from clew.providers._stainless import StainlessChatModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from clew.language_models import LanguageModelInput
    from clew.messages import AIMessage, AIMessageChunk, BaseMessage
    from clew.providers._blocks import JSON, StreamState

__all__ = ["ChatAnthropic"]

_COUNT = "_count_tokens"
"""Marks a body that asks for a count rather than an answer; never sent."""


class ChatAnthropic(StainlessChatModel):
    """Chat over Anthropic's messages API, or a server that speaks it.

    max_tokens: of the answer; the wire requires it. thinking: as in {"type": "enabled", "budget_tokens": 2048}.
    betas: names for the `anthropic-beta` header. Other parameters go into model_kwargs or the call's keywords.
    Raises, at a call: the errors of `clew.errors.ModelError`.
    """

    provider: ClassVar[str] = "anthropic"

    max_tokens: int | None = Field(default=4096, validation_alias=AliasChoices("max_tokens", "max_tokens_to_sample"))
    top_k: int | None = None
    thinking: dict[str, Any] | None = None
    effort: str | None = None
    betas: list[str] | None = None
    base_url: str | None = Field(default=None, validation_alias=AliasChoices("base_url", "anthropic_api_url"))
    api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("api_key", "anthropic_api_key"))

    def _params(self) -> JSON:
        own = {"top_k": self.top_k, "thinking": self.thinking, "effort": self.effort, "betas": self.betas}
        return {**super()._params(), **{k: v for k, v in own.items() if v is not None}}

    def _encode(self, messages: Sequence[BaseMessage], options: JSON) -> JSON:
        options = {"model": self.model, **options}
        if not options["stream"]:
            del options["stream"]
        return wire.encode(messages, options)

    def count_tokens(self, messages: LanguageModelInput, tools: Sequence[Any] = (), **kwargs: Any) -> int:
        """Return the input tokens of a request, counted by the provider (one free request)."""
        body = self._count_request(messages, tools, kwargs)
        return retrying(lambda: self._try_post({**body}), self.max_retries)["input_tokens"]

    async def acount_tokens(self, messages: LanguageModelInput, tools: Sequence[Any] = (), **kwargs: Any) -> int:
        """Return the input tokens of a request, counted by the provider (one free request)."""
        body = self._count_request(messages, tools, kwargs)
        return (await aretrying(lambda: self._atry_post({**body}), self.max_retries))["input_tokens"]

    def _count_request(self, messages: LanguageModelInput, tools: Sequence[Any], kwargs: JSON) -> JSON:
        own = {"model": self.model, "thinking": self.thinking, "betas": self.betas, "tools": list(tools)}
        return {**wire.encode(self._convert_input(messages).to_messages(), {**own, **kwargs}), _COUNT: True}

    def _decode(self, body: JSON) -> list[AIMessage]:
        return wire.decode(body)

    def _decode_event(self, event: JSON, into: StreamState) -> AIMessageChunk | None:
        return wire.decode_event(event, into)

    def _finish(self, into: StreamState) -> AIMessageChunk:
        return wire.finish(into)

    def _sdk(self) -> ModuleType:
        return need("anthropic", "anthropic", type(self).__name__)

    def _path(self, body: JSON) -> str:
        return "/v1/messages/count_tokens" if body.pop(_COUNT, False) else "/v1/messages"

    def _client_arguments(self) -> tuple[str, JSON]:
        key = self.api_key.get_secret_value() if self.api_key else None
        if key is None and self.base_url and not os.environ.get("ANTHROPIC_API_KEY"):
            key = "none"  # a server of one's own may want no key; the SDK insists on one
        return "Anthropic", {
            "base_url": self.base_url, "api_key": key, "timeout": self.timeout, "default_headers": self.default_headers,
        }  # fmt: skip

    def _request_options(self, body: JSON) -> JSON:
        headers = dict(body.pop("extra_headers", None) or {})
        body.update(body.pop("extra_body", None) or {})
        betas = body.pop("betas", None)
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        return {"headers": headers} if headers else {}
