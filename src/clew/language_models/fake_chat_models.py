"""Chat models to test with: they answer from a list, repeat what they hear, or cut messages into chunks."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator as IteratorABC
from typing import TYPE_CHECKING, Any

from clew.language_models.chat_models import BaseChatModel, SimpleChatModel
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun


class FakeListChatModelError(Exception):
    """Raised in the middle of a stream by models that are told to."""


class FakeMessagesListChatModel(BaseChatModel):
    """Answers with messages from a list, over and over. sleep: seconds before each. i: position of the next one."""

    responses: list[BaseMessage]
    sleep: float | None = None
    i: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake-messages-list-chat-model"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.sleep is not None:
            time.sleep(self.sleep)
        message = self.responses[self.i]
        self.i = (self.i + 1) % len(self.responses)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(deep=True))])


class FakeListChatModel(SimpleChatModel):
    """Answers with texts from a list, over and over; streams by character.

    sleep: seconds before each answer, or before each chunk. i: position of the next answer.
    error_on_chunk_number: raise FakeListChatModelError in place of that chunk (from 0).
    """

    responses: list[str]
    sleep: float | None = None
    i: int = 0
    error_on_chunk_number: int | None = None

    @property
    def _llm_type(self) -> str:
        return "fake-list-chat-model"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"responses": self.responses}

    def _next(self) -> str:
        text = self.responses[self.i]
        self.i = (self.i + 1) % len(self.responses)
        return text

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        if self.sleep is not None:
            time.sleep(self.sleep)
        return self._next()

    def _chunk(self, text: str, number: int) -> ChatGenerationChunk:
        if number == self.error_on_chunk_number:
            raise FakeListChatModelError
        position = "last" if number == len(text) - 1 else None
        return ChatGenerationChunk(message=AIMessageChunk(text[number], chunk_position=position))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        text = self._next()
        for number in range(len(text)):
            if self.sleep is not None:
                time.sleep(self.sleep)
            yield self._chunk(text, number)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        import asyncio

        text = self._next()
        for number in range(len(text)):
            if self.sleep is not None:
                await asyncio.sleep(self.sleep)
            yield self._chunk(text, number)


class FakeChatModel(SimpleChatModel):
    """Always answers "fake response"."""

    @property
    def _llm_type(self) -> str:
        return "fake-chat-model"

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        return "fake response"


class GenericFakeChatModel(BaseChatModel):
    """Answers with the next message (or text) of an iterator; streams it word by word.

    messages: an iterator, read once per call. Raises: RuntimeError when it is used up.
    """

    messages: IteratorABC[AIMessage | str]

    @property
    def _llm_type(self) -> str:
        return "generic-fake-chat-model"

    def _next(self) -> AIMessage:
        try:
            message = next(self.messages)
        except StopIteration:
            raise RuntimeError("this fake model has no answers left") from None
        return AIMessage(message) if isinstance(message, str) else message.model_copy(deep=True)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next())])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in pieces(self._next()):
            yield ChatGenerationChunk(message=chunk)


def pieces(message: AIMessage) -> list[AIMessageChunk]:
    """Cut a message into chunks: words with the spaces between them, then tool calls, and what comes with the end."""
    words: list[Any] = [[block] for block in message.content]
    if isinstance(message.content, str):
        words = [word for word in re.split(r"(\s)", message.content) if word]
    chunks = [AIMessageChunk(word, id=message.id) for word in words]
    if message.tool_calls or not chunks:
        chunks.append(AIMessageChunk("", id=message.id, tool_calls=message.tool_calls))
    last = chunks[-1]
    last.chunk_position = "last"
    last.additional_kwargs = message.additional_kwargs
    last.response_metadata = message.response_metadata
    last.usage_metadata = message.usage_metadata
    if message.invalid_tool_calls:
        last.invalid_tool_calls = message.invalid_tool_calls
    return chunks


class ParrotFakeChatModel(BaseChatModel):
    """Answers with the last message it was given."""

    @property
    def _llm_type(self) -> str:
        return "parrot-fake-chat-model"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not messages:
            raise ValueError("there is no message to repeat")
        return ChatResult(generations=[ChatGeneration(message=messages[-1])])
