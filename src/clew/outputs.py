"""What a model call returns, from one candidate (Generation) to the results of many prompts (LLMResult)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import msgspec

from clew._kernel.merge import merge_facts
from clew.messages._model import copy_value
from clew.messages.base import BaseMessage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self
    from uuid import UUID
else:
    UUID = Any  # `uuid` is imported only by those who make ids


class _Output(msgspec.Struct):
    """The pydantic-like methods of all outputs."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with deep=True the messages and containers in it are copied as well."""
        out = copy(self)
        if deep:
            for name in out.__struct_fields__:
                setattr(out, name, _deep(getattr(out, name)))
        for name, value in (update or {}).items():
            setattr(out, name, value)
        return out

    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        """Return the fields as a dict, messages and nested outputs as dicts."""
        return {name: _dumped(getattr(self, name), kwargs) for name in self.__struct_fields__}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.model_copy(deep=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema as cs

        return cs.is_instance_schema(
            cls, serialization=cs.plain_serializer_function_ser_schema(lambda value: _dumped(value, {}))
        )


def _deep(value: Any) -> Any:
    if isinstance(value, (_Output, BaseMessage)):
        return value.model_copy(deep=True)
    if isinstance(value, list):
        return [_deep(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON-like
    return copy_value(value)


def _dumped(value: Any, kwargs: dict[str, Any]) -> Any:
    if isinstance(value, (_Output, BaseMessage)):
        return value.model_dump(**kwargs)
    if isinstance(value, list):
        return [_dumped(item, kwargs) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON-like
    return copy_value(value)


class Generation(_Output, kw_only=True):
    """One candidate of a text model. generation_info: what the provider says about it (finish reason …)."""

    text: str = ""
    generation_info: dict[str, Any] | None = None
    type: str = "Generation"


class GenerationChunk(Generation, kw_only=True):
    """A part of a streamed Generation; parts add up with `+`."""

    def __add__(self, other: Any) -> GenerationChunk:
        if not isinstance(other, GenerationChunk):
            return NotImplemented
        return GenerationChunk(text=self.text + other.text, generation_info=_merged_info((self, other)))


class ChatGeneration(_Output, kw_only=True):
    """One candidate of a chat model. `text` is the text of the message."""

    message: Any  # BaseMessage; checked below
    generation_info: dict[str, Any] | None = None
    type: str = "ChatGeneration"

    def __post_init__(self) -> None:
        if not isinstance(self.message, BaseMessage):
            raise ValueError(f"a ChatGeneration holds a message, not {type(self.message).__name__}")

    @property
    def text(self) -> str:
        """The text of the message, without other blocks."""
        return self.message.text


class ChatGenerationChunk(ChatGeneration, kw_only=True):
    """A part of a streamed ChatGeneration; parts add up with `+`, also with a list of parts."""

    type: str = "ChatGenerationChunk"

    @staticmethod
    def _add_all(chunks: list[ChatGenerationChunk]) -> ChatGenerationChunk | None:
        return merge_chat_generation_chunks(chunks)

    def __add__(self, other: Any) -> ChatGenerationChunk:
        if isinstance(other, ChatGenerationChunk):
            info = _merged_info((self, other)) if self.generation_info or other.generation_info else None
            return ChatGenerationChunk(message=self.message + other.message, generation_info=info)
        if isinstance(other, list) and all(isinstance(chunk, ChatGenerationChunk) for chunk in other):  # pyright: ignore[reportUnknownVariableType]
            return merge_chat_generation_chunks([self, *other]) or self
        return NotImplemented


def merge_chat_generation_chunks(chunks: list[ChatGenerationChunk]) -> ChatGenerationChunk | None:
    """Add n chunks at once; None when there is none. Cost: O(total size)."""
    if not chunks:
        return None
    first = chunks[0]
    if len(chunks) == 1:
        return first
    message: Any = first.message + [chunk.message for chunk in chunks[1:]]
    return ChatGenerationChunk(message=message, generation_info=_merged_info(chunks))


def _merged_info(chunks: Any) -> dict[str, Any] | None:
    parts = [chunk.generation_info for chunk in chunks if chunk.generation_info]
    return merge_facts(*parts) if parts else None


class ChatResult(_Output, kw_only=True):
    """What a chat model's `_generate` returns: the candidates for one prompt."""

    generations: list[ChatGeneration]
    llm_output: dict[str, Any] | None = None


class RunInfo(_Output, kw_only=True):
    """The id of the run that made a result."""

    run_id: UUID


class LLMResult(_Output, kw_only=True):
    """The candidates for each of many prompts.

    generations: one list of candidates per prompt. run: one RunInfo per prompt, or None.
    """

    generations: list[list[Any]]  # of Generation or ChatGeneration
    llm_output: dict[str, Any] | None = None
    run: list[RunInfo] | None = None
    type: str = "LLMResult"

    def flatten(self) -> list[LLMResult]:
        """Return one result per prompt; the first keeps the token usage, so that sums stay right."""
        out: list[LLMResult] = []
        for position, candidates in enumerate(self.generations):
            llm_output: dict[str, Any] | None = self.llm_output
            if position > 0 and llm_output is not None:
                llm_output = {**llm_output, "token_usage": {}}
            out.append(LLMResult(generations=[candidates], llm_output=llm_output))
        return out
