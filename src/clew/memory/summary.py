"""The memory that keeps a running summary.

A turn is stored first and summarised after. How many messages the summary covers is remembered, so a summariser that
fails loses nothing: what it left, and whatever others added to the history, is in the next summary, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator

from clew.chat_history import BaseChatMessageHistory
from clew.memory._types import AnyModel, AnyPrompt
from clew.memory.chat import BaseChatMemory
from clew.memory.prompts import SUMMARY_PROMPT
from clew.messages import BaseMessage, SystemMessage, get_buffer_string
from clew.output_parsers import StrOutputParser
from clew.runnables._session_lock import SessionLock

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ConversationSummaryMemory", "SummarizerMixin"]


class SummarizerMixin(BaseModel):
    """Summarise messages with a model: a part for memories of any kind.

    human_prefix, ai_prefix: names of the two sides in the lines. prompt: takes `summary` and `new_lines`.
    summary_message_cls: the class of message that a summary is handed on as.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: AnyModel
    prompt: AnyPrompt = SUMMARY_PROMPT
    summary_message_cls: type[BaseMessage] = SystemMessage

    @model_validator(mode="after")
    def _check_prompt(self) -> Self:
        wanted = {"summary", "new_lines"}
        if set(self.prompt.input_variables) != wanted:
            raise ValueError(
                f"a summary prompt takes {sorted(wanted)}, and this one takes {sorted(self.prompt.input_variables)}"
            )
        return self

    def predict_new_summary(self, messages: Sequence[BaseMessage], existing_summary: str) -> str:
        """Return the summary extended by some messages."""
        return self._summariser().invoke(self._task(messages, existing_summary))

    async def apredict_new_summary(self, messages: Sequence[BaseMessage], existing_summary: str) -> str:
        """Return the summary extended by some messages."""
        return await self._summariser().ainvoke(self._task(messages, existing_summary))

    def _summariser(self) -> Any:
        return self.prompt | self.llm | StrOutputParser()

    def _task(self, messages: Sequence[BaseMessage], existing_summary: str) -> dict[str, str]:
        lines = get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return {"summary": existing_summary, "new_lines": lines}


class ConversationSummaryMemory(BaseChatMemory, SummarizerMixin):
    """Remember a summary of the whole talk; the history keeps every message. Deprecated for new designs, supported.

    buffer: the summary so far. Given over a filled history, it counts for the messages that are there already.
    Each turn costs one call of the model, over the messages since the last summary.
    Raises: what the model raises; the turn is stored all the same and is in the next summary.
    """

    buffer: str = ""
    memory_key: str = "history"
    _covered: int = PrivateAttr(default=0)
    _one_at_a_time: SessionLock = PrivateAttr(default_factory=SessionLock)

    def model_post_init(self, context: Any, /) -> None:
        """Count what a given summary covers."""
        super().model_post_init(context)
        if self.buffer:
            self._covered = len(self.chat_memory.messages)

    @classmethod
    def from_messages(
        cls, llm: AnyModel, chat_memory: BaseChatMessageHistory, *, summarize_step: int = 2, **kwargs: Any
    ) -> ConversationSummaryMemory:
        """Return a memory whose summary covers a filled history, made in steps of so many messages."""
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        messages = chat_memory.messages
        for start in range(0, len(messages), summarize_step):
            memory.buffer = memory.predict_new_summary(messages[start : start + summarize_step], memory.buffer)
        memory._covered = len(messages)
        return memory

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the summary, as text or as one message."""
        shown = [self.summary_message_cls(content=self.buffer)] if self.return_messages else self.buffer
        return {self.memory_key: shown}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the summary, as text or as one message."""
        return self.load_memory_variables(inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then extend the summary by all that it does not cover yet."""
        turn = self._turn(inputs, outputs)
        self.chat_memory.add_messages(turn)
        with self._one_at_a_time:
            pending = self.chat_memory.get_messages_after(self._covered)
            if len(pending) < len(turn):  # somebody cleared the history or cut it short
                pending = self._uncovered(self.chat_memory.messages, len(turn))
            self.buffer = self.predict_new_summary(pending, self.buffer)
            self._covered += len(pending)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then extend the summary by all that it does not cover yet."""
        turn = self._turn(inputs, outputs)
        await self.chat_memory.aadd_messages(turn)
        async with self._one_at_a_time:
            pending = await self.chat_memory.aget_messages_after(self._covered)
            if len(pending) < len(turn):
                pending = self._uncovered(await self.chat_memory.aget_messages(), len(turn))
            self.buffer = await self.apredict_new_summary(pending, self.buffer)
            self._covered += len(pending)

    def clear(self) -> None:
        """Clear the history and the summary."""
        super().clear()
        self._forget()

    async def aclear(self) -> None:
        """Clear the history and the summary."""
        await super().aclear()
        self._forget()

    def _forget(self) -> None:
        self.buffer = ""
        self._covered = 0

    def _uncovered(self, messages: list[BaseMessage], newest: int) -> list[BaseMessage]:
        """Start counting anew in a history that is shorter than it was; return at least its newest turn."""
        self._covered = min(self._covered, max(len(messages) - newest, 0))
        return messages[self._covered :]
