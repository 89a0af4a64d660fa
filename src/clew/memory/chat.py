"""The memory over a message history: the strategy lives here, the storage in any history."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

from pydantic import Field

from clew.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from clew.memory._keys import get_prompt_input_key, turn_of
from clew.memory.base import BaseMemory

if TYPE_CHECKING:
    from clew.messages import BaseMessage

__all__ = ["BaseChatMemory"]


class BaseChatMemory(BaseMemory, ABC):
    """A memory whose messages are in a history of the caller's choice. Deprecated for new designs, kept and supported.

    chat_memory: where the messages are; a fresh in-memory history unless given. input_key, output_key: which side of
    the dicts is the question and the answer; told from their keys when None. return_messages: load message objects
    rather than text.
    """

    chat_memory: BaseChatMessageHistory = Field(default_factory=InMemoryChatMessageHistory)
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn in one write; texts, messages and lists of messages are kept as they are."""
        self.chat_memory.add_messages(self._turn(inputs, outputs))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn in one write, through the history's async side."""
        await self.chat_memory.aadd_messages(self._turn(inputs, outputs))

    def clear(self) -> None:
        """Clear the history."""
        self.chat_memory.clear()

    async def aclear(self) -> None:
        """Clear the history, through its async side."""
        await self.chat_memory.aclear()

    def _turn(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> list[BaseMessage]:
        return turn_of(inputs, outputs, self.memory_variables, self.input_key, self.output_key)

    def _prompt_key(self, inputs: dict[str, Any]) -> str:
        return get_prompt_input_key(inputs, self.memory_variables) if self.input_key is None else self.input_key
