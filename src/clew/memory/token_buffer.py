"""The memory with a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from clew.memory._types import AnyModel
from clew.memory.chat import BaseChatMemory
from clew.memory.trimming import Trimmed, fit_to_tokens
from clew.messages import get_buffer_string
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from clew.messages import BaseMessage

__all__ = ["ConversationTokenBufferMemory"]


class ConversationTokenBufferMemory(BaseChatMemory):
    """Remember as many of the newest turns as fit. Deprecated for new designs, kept and supported.

    llm: whose tokenizer counts; give the model that will read the history. max_token_limit: tokens.
    prune_store: also remove what no longer fits from the history (NotImplementedError where a history can't);
    otherwise the store keeps all and the window is computed on reading. Whole turns only; the newest one stays even if
    it alone is over the limit.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: AnyModel
    memory_key: str = "history"
    max_token_limit: int = 2000
    prune_store: bool = False
    _trimmed: Trimmed | None = PrivateAttr(default=None)

    @property
    def buffer(self) -> Any:
        """The messages if `return_messages`, else the text."""
        return self.buffer_as_messages if self.return_messages else self.buffer_as_str

    @property
    def buffer_as_str(self) -> str:
        """The window as lines."""
        return get_buffer_string(self.buffer_as_messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """The messages of the window."""
        return self._fit(self.chat_memory.messages).kept

    @property
    def last_trimmed(self) -> Trimmed | None:
        """What the last reading kept and dropped, with its tokens; None before the first."""
        return self._trimmed

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the window, whatever the inputs."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the window, whatever the inputs; counting happens off the event loop."""
        kept = (await run_in_executor(None, self._fit, await self.chat_memory.aget_messages())).kept
        if self.return_messages:
            return {self.memory_key: kept}
        return {self.memory_key: get_buffer_string(kept, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn; with `prune_store`, then remove what no longer fits."""
        super().save_context(inputs, outputs)
        if self.prune_store:
            messages = self.chat_memory.messages
            self.chat_memory.replace_head(*self._shrunk(messages))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Append the turn; with `prune_store`, then remove what no longer fits."""
        await super().asave_context(inputs, outputs)
        if self.prune_store:
            shrunk = await run_in_executor(None, self._shrunk, await self.chat_memory.aget_messages())
            await self.chat_memory.areplace_head(*shrunk)

    def _fit(self, messages: list[BaseMessage]) -> Trimmed:
        self._trimmed = fit_to_tokens(messages, self.max_token_limit, self.llm)
        return self._trimmed

    def _shrunk(self, messages: list[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """Return the beginning that goes and what stays of it (system messages)."""
        trimmed = self._fit(messages)
        head = trimmed.kept[: trimmed.head]
        return ([*head, *trimmed.dropped], head) if trimmed.dropped else ([], [])
