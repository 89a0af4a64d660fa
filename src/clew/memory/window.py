"""The memory of the last few turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.memory.chat import BaseChatMemory
from clew.memory.trimming import last_turns
from clew.messages import get_buffer_string
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from clew.messages import BaseMessage

__all__ = ["ConversationBufferWindowMemory"]


class ConversationBufferWindowMemory(BaseChatMemory):
    """Remember the last k turns; the store keeps all. Deprecated for new designs, kept and supported.

    k: turns: a question, its answer, and the tool calls and results between. No more of the store is read than these.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    memory_key: str = "history"
    k: int = 5

    @property
    def buffer(self) -> Any:
        """The messages if `return_messages`, else the text."""
        return self.buffer_as_messages if self.return_messages else self.buffer_as_str

    @property
    def buffer_as_str(self) -> str:
        """The last k turns as lines."""
        return self._text(self.buffer_as_messages)

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """The messages of the last k turns."""
        return last_turns(self.chat_memory.get_last_messages, self.k)

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the last k turns, whatever the inputs."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the last k turns, whatever the inputs."""
        return {self.memory_key: await run_in_executor(None, lambda: self.buffer)}

    def _text(self, messages: list[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
