"""The memory of named things: which ones an input mentions, and what is known of each."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, PrivateAttr, model_validator

from clew.memory._types import AnyModel, AnyPrompt
from clew.memory.chat import BaseChatMemory
from clew.memory.entity_stores.base import BaseEntityStore
from clew.memory.entity_stores.in_memory import InMemoryEntityStore
from clew.memory.prompts import ENTITY_EXTRACTION_PROMPT, ENTITY_SUMMARIZATION_PROMPT
from clew.memory.trimming import last_turns
from clew.messages import BaseMessage, get_buffer_string
from clew.output_parsers import StrOutputParser
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ConversationEntityMemory"]

_KEPT = 256  # inputs whose names are remembered between load and save


class ConversationEntityMemory(BaseChatMemory):
    """Remember what is known of the people and things that are mentioned. Deprecated for new designs, supported.

    llm: extracts names and writes the notes. entity_extraction_prompt: takes `history` and `input`, and is answered by
    a comma-separated list or NONE. entity_summarization_prompt: takes `entity`, `summary`, `history`, `input`.
    entity_cache: the names of the last loading. k: turns that the model is shown and that are returned.
    chat_history_key: the key of the history. entity_store: where the notes are.
    The names found in an input are kept for the save of that input, so turns of one memory may overlap.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: AnyModel
    entity_extraction_prompt: AnyPrompt = ENTITY_EXTRACTION_PROMPT
    entity_summarization_prompt: AnyPrompt = ENTITY_SUMMARIZATION_PROMPT
    entity_cache: list[str] = Field(default_factory=list)
    k: int = 3
    chat_history_key: str = "history"
    entity_store: BaseEntityStore = Field(default_factory=InMemoryEntityStore)
    _found: OrderedDict[str, list[str]] = PrivateAttr(default_factory=OrderedDict)

    @model_validator(mode="after")
    def _check_prompts(self) -> Self:
        for prompt, wanted in (
            (self.entity_extraction_prompt, {"history", "input"}),
            (self.entity_summarization_prompt, {"entity", "summary", "history", "input"}),
        ):
            if set(prompt.input_variables) != wanted:
                raise ValueError(f"this prompt takes {sorted(wanted)}, not {sorted(prompt.input_variables)}")
        return self

    @property
    def buffer(self) -> list[BaseMessage]:
        """All messages of the history."""
        return self.chat_memory.messages

    @property
    def memory_variables(self) -> list[str]:
        """The keys of the notes and of the history."""
        return ["entities", self.chat_history_key]

    # -- loading --------------------------------------------------------------------------------------

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the last k turns, and what is known of each thing that the input names."""
        text = self._input_text(inputs)
        recent = self._recent()
        answer = self._asked(self.entity_extraction_prompt).invoke({"history": self._lines(recent), "input": text})
        names = self._take(text, answer)
        return self._loaded(recent, {name: self.entity_store.get(name, "") or "" for name in names})

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the last k turns, and what is known of each thing that the input names."""
        text = self._input_text(inputs)
        recent = await run_in_executor(None, self._recent)
        answer = await self._asked(self.entity_extraction_prompt).ainvoke(
            {"history": self._lines(recent), "input": text}
        )
        names = self._take(text, answer)
        return self._loaded(recent, {name: await self.entity_store.aget(name, "") or "" for name in names})

    # -- saving ---------------------------------------------------------------------------------------

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then bring the note of each thing that its input named up to date."""
        super().save_context(inputs, outputs)
        names, text = self._taken(inputs)
        if names:
            lines = self._lines(self._recent())
            for name in names:
                task = self._task(name, self.entity_store.get(name, ""), lines, text)
                self.entity_store.set(name, self._asked(self.entity_summarization_prompt).invoke(task).strip())

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then bring the note of each thing that its input named up to date."""
        await super().asave_context(inputs, outputs)
        names, text = self._taken(inputs)
        if names:
            lines = self._lines(await run_in_executor(None, self._recent))
            for name in names:
                task = self._task(name, await self.entity_store.aget(name, ""), lines, text)
                note = await self._asked(self.entity_summarization_prompt).ainvoke(task)
                await self.entity_store.aset(name, note.strip())

    def clear(self) -> None:
        """Clear the history, the names and the notes."""
        super().clear()
        self._forget()
        self.entity_store.clear()

    async def aclear(self) -> None:
        """Clear the history, the names and the notes."""
        await super().aclear()
        self._forget()
        await self.entity_store.aclear()

    # -- decisions ------------------------------------------------------------------------------------

    def _recent(self) -> list[BaseMessage]:
        return last_turns(self.chat_memory.get_last_messages, self.k)

    def _lines(self, messages: list[BaseMessage]) -> str:
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _asked(self, prompt: AnyPrompt) -> Any:
        return prompt | self.llm | StrOutputParser()

    def _input_text(self, inputs: dict[str, Any]) -> str:
        value = inputs[self._prompt_key(inputs)]
        return value.text if isinstance(value, BaseMessage) else str(value)

    def _take(self, text: str, answer: str) -> list[str]:
        """Remember which names an input mentions, for the save that follows."""
        names = list(_names(answer))
        self.entity_cache = names
        self._found[text] = names
        self._found.move_to_end(text)
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)
        return names

    def _taken(self, inputs: dict[str, Any]) -> tuple[list[str], str]:
        text = self._input_text(inputs)
        return self._found.get(text, self.entity_cache), text

    def _task(self, name: str, note: str | None, lines: str, text: str) -> dict[str, str]:
        return {"entity": name, "summary": note or "", "history": lines, "input": text}

    def _loaded(self, recent: list[BaseMessage], entities: dict[str, str]) -> dict[str, Any]:
        history = recent if self.return_messages else self._lines(recent)
        return {self.chat_history_key: history, "entities": entities}

    def _forget(self) -> None:
        self.entity_cache = []
        self._found.clear()


def _names(answer: str) -> Iterator[str]:
    """Yield the names of a comma-separated answer, each once; "NONE" names nothing."""
    if answer.strip() == "NONE":
        return
    seen: set[str] = set()
    for part in answer.split(","):
        name = part.strip()
        if name and name not in seen:
            seen.add(name)
            yield name
