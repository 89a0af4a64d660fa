"""The memory of the newest turns as they were said, and a summary of those before.

Messages leave the window in whole turns and only once the summary holds them: the summary and the count of what it
covers change together, after the model has answered. With `compact_store` the history itself is cut down, by compare
and swap: its beginning becomes one summary message, and turns that came meanwhile stay behind it.
"""

from __future__ import annotations

from typing import Any

from pydantic import PrivateAttr

from clew.memory.chat import BaseChatMemory
from clew.memory.summary import SummarizerMixin
from clew.memory.trimming import Trimmed, fit_to_tokens
from clew.messages import BaseMessage, get_buffer_string
from clew.runnables._session_lock import SessionLock
from clew.runnables.config import run_in_executor

__all__ = ["ConversationSummaryBufferMemory"]

_MARK = "clew_summary"


class ConversationSummaryBufferMemory(BaseChatMemory, SummarizerMixin):
    """Remember the newest turns up to a budget, and a summary of the rest. Deprecated for new designs, supported.

    max_token_limit: tokens of the turns that stay as they were. moving_summary_buffer: the summary so far; given over
    a filled history, it counts for the messages that are there already. compact_store: replace what is summarised in
    the history by the summary, so that it is small and another process finds the summary in it
    (NotImplementedError where a history can't).
    Raises: what the model raises; the turn is stored all the same and is in the next summary.
    """

    max_token_limit: int = 2000
    moving_summary_buffer: str = ""
    memory_key: str = "history"
    compact_store: bool = False
    _covered: int = PrivateAttr(default=0)
    _system: list[BaseMessage] = PrivateAttr(default_factory=list)  # system messages that stood before what is covered
    _one_at_a_time: SessionLock = PrivateAttr(default_factory=SessionLock)

    def model_post_init(self, context: Any, /) -> None:
        """Count what a given summary covers."""
        super().model_post_init(context)
        if self.moving_summary_buffer:
            self._covered = len(self.chat_memory.messages)

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    @property
    def buffer(self) -> str | list[BaseMessage]:
        """The summary and the turns after it: messages if `return_messages`, else text."""
        return self._formed(self._recent(self.chat_memory.get_messages_after(self._covered)))

    async def abuffer(self) -> str | list[BaseMessage]:
        """Return the summary and the turns after it."""
        return self._formed(self._recent(await self.chat_memory.aget_messages_after(self._covered)))

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the summary and the turns after it."""
        return {self.memory_key: self.buffer}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the summary and the turns after it."""
        return {self.memory_key: await self.abuffer()}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then roll into the summary what no longer fits."""
        turn = self._turn(inputs, outputs)
        self.chat_memory.add_messages(turn)
        if self._covered and len(self.chat_memory.get_messages_after(self._covered)) < len(turn):
            self._start_anew(len(self.chat_memory.messages) - len(turn))
        self.prune()

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then roll into the summary what no longer fits."""
        turn = self._turn(inputs, outputs)
        await self.chat_memory.aadd_messages(turn)
        if self._covered and len(await self.chat_memory.aget_messages_after(self._covered)) < len(turn):
            self._start_anew(len(await self.chat_memory.aget_messages()) - len(turn))
        await self.aprune()

    def prune(self) -> None:
        """Roll the turns that no longer fit into the summary."""
        with self._one_at_a_time:
            trimmed = self._trimmed(self._recent(self.chat_memory.get_messages_after(self._covered)))
            if trimmed.dropped:
                summary = self.predict_new_summary(trimmed.dropped, self.moving_summary_buffer)
                if not self.compact_store or self.chat_memory.replace_head(*self._swap(trimmed, summary)):
                    self._took(trimmed, summary)

    async def aprune(self) -> None:
        """Roll the turns that no longer fit into the summary."""
        async with self._one_at_a_time:
            recent = self._recent(await self.chat_memory.aget_messages_after(self._covered))
            trimmed = await run_in_executor(None, self._trimmed, recent)
            if trimmed.dropped:
                summary = await self.apredict_new_summary(trimmed.dropped, self.moving_summary_buffer)
                if not self.compact_store or await self.chat_memory.areplace_head(*self._swap(trimmed, summary)):
                    self._took(trimmed, summary)

    def clear(self) -> None:
        """Clear the history and the summary."""
        super().clear()
        self._forget()

    async def aclear(self) -> None:
        """Clear the history and the summary."""
        await super().aclear()
        self._forget()

    # -- decisions ------------------------------------------------------------------------------------

    def _recent(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Take over a summary that stands in the history itself; return the messages behind it."""
        if self._covered == 0 and messages and messages[0].additional_kwargs.get(_MARK):
            self.moving_summary_buffer = str(messages[0].content)
            self._covered = 0 if self.compact_store else 1
            return messages[1:]
        return messages

    def _trimmed(self, recent: list[BaseMessage]) -> Trimmed:
        return fit_to_tokens(recent, self.max_token_limit, self.llm)

    def _swap(self, trimmed: Trimmed, summary: str) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """Return what the history must begin with and what takes its place; system messages stay."""
        old = [self._summary_message(self.moving_summary_buffer)] if self.moving_summary_buffer else []
        head = trimmed.kept[: trimmed.head]
        return [*old, *head, *trimmed.dropped], [self._summary_message(summary), *head]

    def _took(self, trimmed: Trimmed, summary: str) -> None:
        self.moving_summary_buffer = summary
        if not self.compact_store:
            self._system.extend(trimmed.kept[: trimmed.head])
            self._covered += trimmed.head + len(trimmed.dropped)

    def _summary_message(self, summary: str) -> BaseMessage:
        return self.summary_message_cls(content=summary, additional_kwargs={_MARK: True})

    def _formed(self, recent: list[BaseMessage]) -> str | list[BaseMessage]:
        summary = [self.summary_message_cls(content=self.moving_summary_buffer)] if self.moving_summary_buffer else []
        messages = [*summary, *self._system, *recent]
        if self.return_messages:
            return messages
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _forget(self) -> None:
        self.moving_summary_buffer = ""
        self._start_anew(0)

    def _start_anew(self, covered: int) -> None:
        """Count from here: somebody cleared the history or cut it short."""
        self._covered = max(covered, 0)
        self._system.clear()
