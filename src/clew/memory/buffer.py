"""Memories that keep everything that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.memory._keys import get_prompt_input_key, turn_of
from clew.memory.base import BaseMemory
from clew.memory.chat import BaseChatMemory
from clew.messages import get_buffer_string

if TYPE_CHECKING:
    from clew.messages import BaseMessage

__all__ = ["ConversationBufferMemory", "ConversationStringBufferMemory"]


class ConversationBufferMemory(BaseChatMemory):
    """Remember the whole history, as text or as messages. Deprecated for new designs, kept and supported.

    human_prefix, ai_prefix: names of the two sides in the text. memory_key: the key it fills.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    memory_key: str = "history"

    @property
    def buffer(self) -> Any:
        """The messages if `return_messages`, else the text."""
        return self.buffer_as_messages if self.return_messages else self.buffer_as_str

    async def abuffer(self) -> Any:
        """Return the messages if `return_messages`, else the text."""
        return await self.abuffer_as_messages() if self.return_messages else await self.abuffer_as_str()

    @property
    def buffer_as_str(self) -> str:
        """The history as lines, one speaker each."""
        return self._text(self.chat_memory.messages)

    async def abuffer_as_str(self) -> str:
        """Return the history as lines, one speaker each."""
        return self._text(await self.chat_memory.aget_messages())

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """The messages of the history."""
        return self.chat_memory.messages

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        """Return the messages of the history."""
        return await self.chat_memory.aget_messages()

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the whole history, whatever the inputs."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the whole history, whatever the inputs."""
        return {self.memory_key: await self.abuffer()}

    def _text(self, messages: list[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)


class ConversationStringBufferMemory(BaseMemory):
    """Remember the whole talk as one text, with no messages behind it. Deprecated, kept and supported.

    buffer: what was said so far.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    buffer: str = ""
    output_key: str | None = None
    input_key: str | None = None
    memory_key: str = "history"

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the text."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the text."""
        return {self.memory_key: self.buffer}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn as lines."""
        key = self.input_key or get_prompt_input_key(inputs, self.memory_variables)
        turn = turn_of(inputs, outputs, self.memory_variables, key, self.output_key)
        text = get_buffer_string(turn, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        self.buffer += ("\n" if self.buffer else "") + text

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn as lines."""
        self.save_context(inputs, outputs)

    def clear(self) -> None:
        """Forget the text."""
        self.buffer = ""

    async def aclear(self) -> None:
        """Forget the text."""
        self.buffer = ""
