"""Count the tokens that models report, over a block of code or as a handler given by hand."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew._kernel.usage import combine
from clew.callbacks._manager import ambient_handlers
from clew.callbacks.base import BaseCallbackHandler

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from clew.outputs import LLMResult

UNKNOWN_MODEL = "unknown"
ABANDONED = "clew.abandoned"
"""Custom event: an answer came after its caller had left; the data is its LLMResult."""


def reports_of(response: LLMResult | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (model name, usage) of each answer in a result that says what it used."""
    for generations in response.generations if response is not None else ():
        for generation in generations[:1]:
            message = getattr(generation, "message", None)
            usage = getattr(message, "usage_metadata", None)
            if message is None or not usage:
                continue
            metadata: dict[str, Any] = message.response_metadata or {}
            yield metadata.get("model_name") or metadata.get("model") or UNKNOWN_MODEL, usage


def is_free(usage: dict[str, Any]) -> bool:
    """Whether the answer came from a cache."""
    return usage.get("total_cost") == 0 and "total_cost" in usage


class UsageMetadataCallbackHandler(BaseCallbackHandler):
    """Add up what models used, by model name.

    usage_metadata: {model name: usage}; only what was paid for: answers from a cache are counted apart, in
    cached_metadata and cache_hits. Answers that came after their caller had left count too.
    Source: models document, usage (get_usage_metadata_callback); differs: cached answers are not billed again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.usage_metadata: dict[str, Any] = {}
        self.cached_metadata: dict[str, Any] = {}
        self.cache_hits = 0

    def __repr__(self) -> str:
        return str(self.usage_metadata)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Add the usage of an answer."""
        for model, usage in reports_of(response):
            with self._lock:
                if is_free(usage):
                    self.cache_hits += 1
                    counts = {key: value for key, value in usage.items() if key != "total_cost"}
                    self.cached_metadata[model] = combine(self.cached_metadata.get(model), counts)
                else:
                    self.usage_metadata[model] = combine(self.usage_metadata.get(model), usage)

    def on_llm_error(self, error: BaseException, *, response: LLMResult | None = None, **kwargs: Any) -> None:
        """Add what a call had used when it broke off, as far as the provider had said."""
        if response is not None:
            self.on_llm_end(response)

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Add the usage of an answer that nobody waited for any more."""
        if name == ABANDONED:
            self.on_llm_end(data)


@contextmanager
def get_usage_metadata_callback(
    name: str = "usage_metadata_callback",
) -> Generator[UsageMetadataCallbackHandler, None, None]:
    """Count the tokens of all model calls in a block, by model.

    name: accepted for those who move over, without effect.
    Yields: the handler; its `usage_metadata` is {model name: usage}. Calls from tasks started in the block count; those
    from threads that do not carry the caller's context do not.
    """
    handler = UsageMetadataCallbackHandler()
    token = ambient_handlers.set((*ambient_handlers.get(), handler))
    try:
        yield handler
    finally:
        ambient_handlers.reset(token)
