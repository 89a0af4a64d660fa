"""Call the handlers of one event, each under its own error policy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew._pool import run_in_executor
from clew.callbacks.base import AsyncCallbackHandler, BaseCallbackHandler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

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


_NO_CHAT = (BaseCallbackHandler.on_chat_model_start, AsyncCallbackHandler.on_chat_model_start)
_NO_PROMPTS = (BaseCallbackHandler.on_llm_start, AsyncCallbackHandler.on_llm_start)


def as_prompts(handlers: Sequence[BaseCallbackHandler], messages: Any) -> tuple[list[BaseCallbackHandler], list[str]]:
    """Return the handlers that hear of a chat model as of a text model, and the messages as prompts."""
    hearing = [handler for handler in handlers if type(handler).on_llm_start not in _NO_PROMPTS]
    if not hearing:
        return [], []
    from clew.messages import get_buffer_string

    return hearing, [get_buffer_string(conversation) for conversation in messages]


def handle_event(handlers: Sequence[BaseCallbackHandler], event: str, *args: Any, **kwargs: Any) -> None:
    """Tell handlers of an event.

    Raises: what a handler with `raise_error` raised, at once; errors of others are logged.
    """
    ignored_by = IGNORED_BY[event]
    unheard: list[BaseCallbackHandler] = []
    for handler in handlers:
        if ignored_by and getattr(handler, ignored_by):
            continue
        method = getattr(handler, event)
        if event == "on_chat_model_start" and getattr(method, "__func__", None) in _NO_CHAT:
            unheard.append(handler)
            continue
        try:
            waiting = method(*args, **kwargs)
            if waiting is not None and hasattr(waiting, "send"):
                drive(waiting)
        except Exception as error:
            if event == "on_chat_model_start" and isinstance(error, NotImplementedError):
                unheard.append(handler)
            else:
                settle(handler, event, error)
    if unheard:
        hearing, prompts = as_prompts(unheard, args[1])
        if hearing:
            handle_event(hearing, "on_llm_start", args[0], prompts, **kwargs)


async def ahandle_event(handlers: Sequence[BaseCallbackHandler], event: str, *args: Any, **kwargs: Any) -> None:
    """Tell handlers of an event; coroutines are awaited in the caller's context, one handler after the other.

    Raises: as `handle_event`.
    """
    ignored_by = IGNORED_BY[event]
    unheard: list[BaseCallbackHandler] = []
    for handler in handlers:
        if ignored_by and getattr(handler, ignored_by):
            continue
        method = getattr(handler, event)
        if event == "on_chat_model_start" and getattr(method, "__func__", None) in _NO_CHAT:
            unheard.append(handler)
            continue
        try:
            waiting = run_in_executor(None, method, *args, **kwargs) if handler.blocking else method(*args, **kwargs)
            if waiting is not None and hasattr(waiting, "__await__"):
                waiting = await waiting
            if waiting is not None and hasattr(waiting, "__await__"):  # a blocking handler's coroutine
                await waiting
        except Exception as error:
            if event == "on_chat_model_start" and isinstance(error, NotImplementedError):
                unheard.append(handler)
            else:
                settle(handler, event, error)
    if unheard:
        hearing, prompts = as_prompts(unheard, args[1])
        if hearing:
            await ahandle_event(hearing, "on_llm_start", args[0], prompts, **kwargs)


def settle(handler: BaseCallbackHandler, event: str, error: Exception) -> None:
    """Raise or log what a handler raised, as the handler wishes."""
    if handler.raise_error:
        raise error
    import logging

    logging.getLogger("clew.callbacks").warning(
        "Error in %s.%s callback: %s", type(handler).__name__, event, repr(error)
    )
