"""Models that the tests of this folder call: ordinary subclasses, as users write them."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from typing import Any

from pydantic import PrivateAttr

from clew.callbacks import BaseCallbackHandler
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, AIMessageChunk
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

PAID: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


class Plain(BaseChatModel):
    """Answers with `reply`, after `delay` seconds; notes its calls."""

    reply: Any = "ok"
    delay: float = 0.0
    model: str = "plain-1"

    _asked: list[Any] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[Any]:
        return self._asked

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _answer(self, messages: Any, kwargs: Any) -> ChatResult:
        self._asked.append((messages, kwargs))
        reply = self.reply(messages) if callable(self.reply) else self.reply
        if isinstance(reply, BaseException):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        time.sleep(self.delay)
        return self._answer(messages, kwargs)


class Awaiting(Plain):
    """The same, with an async hook of its own."""

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        import asyncio

        await asyncio.sleep(self.delay)
        return self._answer(messages, kwargs)


def chunk_of(piece: Any) -> ChatGenerationChunk:
    """A new chunk for a text or a chunk."""
    piece = deepcopy(piece)
    message = AIMessageChunk(piece) if isinstance(piece, (str, list)) else piece
    return ChatGenerationChunk(message=message)


class Flowing(Plain):
    """Streams `pieces`: texts, chunks, seconds to wait as float, exceptions to raise; notes when it was closed."""

    pieces: list[Any] = ["a", "b", "c"]

    _closed: list[Any] = PrivateAttr(default_factory=list)

    @property
    def closed(self) -> list[Any]:
        return self._closed

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        self._asked.append((messages, kwargs))
        try:
            for piece in self.pieces:
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, float):
                    time.sleep(piece)
                else:
                    yield chunk_of(piece)
        finally:
            self._closed.append(threading.get_ident())


class FlowingAwaited(Flowing):
    """The same, with an async hook of its own."""

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        import asyncio

        self._asked.append((messages, kwargs))
        try:
            for piece in self.pieces:
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    yield chunk_of(piece)
        finally:
            await asyncio.sleep(0)
            self._closed.append("awaited")


class Ears(BaseCallbackHandler):
    """Writes down the events of models."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any, dict[str, Any]]] = []

    def names(self) -> list[str]:
        return [name for name, _, _ in self.events]

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.events.append(("start", messages, kwargs))

    def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        self.events.append(("start", prompts, kwargs))

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self.events.append(("token", token, kwargs))

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.events.append(("end", response, kwargs))

    def on_llm_error(self, error: Any, **kwargs: Any) -> None:
        self.events.append(("error", error, kwargs))

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data, kwargs))
