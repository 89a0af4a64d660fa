"""Call the handlers of one event, each under its own error policy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clew._drive import drive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from clew.callbacks.base import BaseCallbackHandler

IGNORED_BY = {
    "on_llm_start": "ignore_llm",
    "on_chat_model_start": "ignore_chat_model",
    "on_llm_new_token": "ignore_llm",
    "on_llm_end": "ignore_llm",
    "on_llm_error": "ignore_llm",
    "on_chain_start": "ignore_chain",
    "on_chain_end": "ignore_chain",
    "on_chain_error": "ignore_chain",
    "on_tool_start": "ignore_agent",
    "on_tool_end": "ignore_agent",
    "on_tool_error": "ignore_agent",
    "on_agent_action": "ignore_agent",
    "on_agent_finish": "ignore_agent",
    "on_retriever_start": "ignore_retriever",
    "on_retriever_end": "ignore_retriever",
    "on_retriever_error": "ignore_retriever",
    "on_retry": "ignore_retry",
    "on_custom_event": "ignore_custom_event",
    "on_text": "",
}
"""Event -> the attribute by which a handler opts out of it."""

_VERSION = (0xF << 76 | 0x3 << 62, 0x4 << 76 | 0x2 << 62)
"""Bits of a UUID that say version and variant: which they are, and what they are for version 4."""
_make_uuid: Callable[[int], UUID] | None = None


def new_run_id() -> UUID:
    """Return a random UUID (version 4); `uuid` is imported by the first call."""
    make = _make_uuid or _uuid_maker()
    return make(int.from_bytes(os.urandom(16)) & ~_VERSION[0] | _VERSION[1])


def _uuid_maker() -> Callable[[int], UUID]:
    """Return a function that makes a UUID of an integer without checking it: half the time of the class's own."""
    global _make_uuid
    from uuid import UUID, SafeUUID

    new, put, unknown = object.__new__, object.__setattr__, SafeUUID.unknown

    def make(value: int) -> UUID:
        made = new(UUID)
        put(made, "int", value)
        put(made, "is_safe", unknown)
        return made

    _make_uuid = make
    return make


def hears_prompts(handler: BaseCallbackHandler) -> bool:
    """Tell whether a handler of text models wants to hear of a chat model as well."""
    from clew.callbacks.base import AsyncCallbackHandler, BaseCallbackHandler

    return type(handler).on_llm_start not in (BaseCallbackHandler.on_llm_start, AsyncCallbackHandler.on_llm_start)


def as_text(messages: Any) -> list[str]:
    """Return chat messages as the prompts that a handler of text models hears."""
    from clew.messages import get_buffer_string

    return [get_buffer_string(conversation) for conversation in messages]


def handle_event(handlers: Sequence[BaseCallbackHandler], event: str, *args: Any, **kwargs: Any) -> None:
    """Tell handlers of an event.

    Raises: what a handler with `raise_error` raised, at once; errors of others are logged.
    """
    ignored_by = IGNORED_BY[event]
    for handler in handlers:
        if ignored_by and getattr(handler, ignored_by):
            continue
        try:
            try:
                waiting = getattr(handler, event)(*args, **kwargs)
                if waiting is not None and hasattr(waiting, "send"):
                    drive(waiting)
            except NotImplementedError:
                if event != "on_chat_model_start":
                    raise
                if hears_prompts(handler):
                    handle_event([handler], "on_llm_start", args[0], as_text(args[1]), *args[2:], **kwargs)
        except Exception as error:
            settle(handler, event, error)


async def ahandle_event(handlers: Sequence[BaseCallbackHandler], event: str, *args: Any, **kwargs: Any) -> None:
    """Tell handlers of an event; coroutines are awaited in the caller's context, one handler after the other.

    Raises: as `handle_event`.
    """
    ignored_by = IGNORED_BY[event]
    for handler in handlers:
        if ignored_by and getattr(handler, ignored_by):
            continue
        try:
            try:
                waiting = await _begin(handler, event, args, kwargs) if handler.blocking else getattr(handler, event)(*args, **kwargs)
                if waiting is not None and hasattr(waiting, "__await__"):
                    await waiting
            except NotImplementedError:
                if event != "on_chat_model_start":
                    raise
                if hears_prompts(handler):
                    await ahandle_event([handler], "on_llm_start", args[0], as_text(args[1]), *args[2:], **kwargs)
        except Exception as error:
            settle(handler, event, error)


async def _begin(handler: BaseCallbackHandler, event: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from clew._pool import run_in_executor

    return await run_in_executor(None, getattr(handler, event), *args, **kwargs)


def settle(handler: BaseCallbackHandler, event: str, error: Exception) -> None:
    """Raise or log what a handler raised, as the handler wishes."""
    if handler.raise_error:
        raise error
    import logging

    logging.getLogger("clew.callbacks").warning("Error in %s.%s callback: %s", type(handler).__name__, event, repr(error))
