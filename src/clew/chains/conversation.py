"""A talk as a chain."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from clew.chains.llm import LLMChain
from clew.memory._types import AnyPrompt
from clew.memory.base import BaseMemory
from clew.memory.buffer import ConversationBufferMemory
from clew.prompts import PromptTemplate

__all__ = ["ConversationChain"]

_PROMPT = PromptTemplate.from_template(
    """The following is a friendly talk between a person and an AI. The AI answers with what it knows, in detail where \
that helps, and says so when it does not know something.

Talk so far:
{history}
Human: {input}
AI:"""
)


class ConversationChain(LLMChain):
    """A prompt, a model and a memory. Deprecated: see `RunnableWithMessageHistory`.

    memory: the whole history unless given. input_key: the key of what the person says.
    Raises: ValueError when the prompt's variables are not the memory's keys and the input key.
    """

    memory: BaseMemory | None = Field(default_factory=ConversationBufferMemory)
    prompt: AnyPrompt = _PROMPT
    input_key: str = "input"
    output_key: str = "response"

    @property
    def input_keys(self) -> list[str]:
        """The key of what the person says."""
        return [self.input_key]

    @model_validator(mode="after")
    def _check_variables(self) -> Self:
        filled = self.memory.memory_variables if self.memory is not None else []
        if self.input_key in filled:
            raise ValueError(f"the memory fills {self.input_key!r}, which is the input: give it another key")
        wanted: set[str] = {*filled, self.input_key}
        found: Any = set(self.prompt.input_variables)
        if found != wanted:
            raise ValueError(f"the prompt takes {sorted(found)}, but memory and input give {sorted(wanted)}")
        return self
