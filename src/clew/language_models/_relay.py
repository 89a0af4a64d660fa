"""The accumulator that both faces of a stream share: completes each chunk, and sums them up at the end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew._kernel.usage import combine
from clew.errors import ModelError
from clew.language_models._caching import hit
from clew.language_models._errors import EmptyStreamError
from clew.language_models._turn import LC_ID_PREFIX, NO_FINAL_TEXT, is_mute
from clew.messages._convert import message_chunk_to_message
from clew.messages.ai import AIMessage, AIMessageChunk, add_ai_message_chunks
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from clew.language_models._turn import Turn

set_field: Any = BaseMessage.__setattr__


class Relay:
    """Takes the provider's chunks of one turn, in order."""

    __slots__ = ("_blocks", "_chunks", "_keep", "_last_kind", "_number", "_turn", "_usage", "append", "id", "is_plain")

    def __init__(self, turn: Turn, *, keep: bool) -> None:
        """keep: sum up copies, as the caller may change what is handed on."""
        self._turn = turn
        self.id = f"{LC_ID_PREFIX}-{turn.run_id}"
        self._blocks = turn.model.output_version == "v1"
        self.is_plain = not self._blocks and not keep
        self._keep = keep
        self._chunks: list[AIMessageChunk] = []
        self.append = self._chunks.append
        self._last_kind: str | None = None
        self._number = -1
        self._usage: dict[str, Any] | None = None

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Let an error of ours that breaks the stream in this block carry what had come."""
        try:
            yield
        except ModelError as error:
            if error.partial is None:
                error.partial = self.whole()
            raise

    def take(self, chunk: ChatGenerationChunk) -> AIMessageChunk:
        """Return the message of a chunk, completed in place: id, metadata, form of content."""
        message: AIMessageChunk = chunk.message
        if message.id is None:
            set_field(message, "id", self.id)
        if message.usage_metadata is not None:
            self._count(message)
        if chunk.generation_info:
            message.response_metadata = {**chunk.generation_info, **message.response_metadata}
        if self._blocks and (message.content or message.tool_call_chunks):
            message.content = self._numbered(message.content_blocks)
        elif self._blocks:
            message.content = []
        if self._keep:
            self.append(message.model_copy(deep=True) if type(message.content) is list else message.__copy__())
        else:
            self.append(message)
        return message

    def _count(self, message: AIMessageChunk) -> None:
        """Take a usage that only says again what is counted already for a closing record, not for more of it."""
        usage: Any = message.usage_metadata
        is_empty = not message.content and not message.tool_call_chunks
        if is_empty and message.usage_mode == "delta" and usage == self._usage and usage.get("input_tokens"):
            message.usage_mode = "final"
        self._usage = combine(self._usage, usage) if message.usage_mode == "delta" else usage

    def _numbered(self, blocks: list[Any]) -> list[Any]:
        """Give blocks the index by which the parts of one block find each other."""
        out: list[Any] = []
        for block in blocks:
            kind = block.get("type")
            if block.get("index") is None and kind in ("text", "reasoning"):
                if kind != self._last_kind:
                    self._number += 1
                block = {**block, "index": f"lc_{kind}_{self._number}"}
            self._last_kind = kind
            out.append(block)
        return out

    def last(self) -> ChatGenerationChunk | None:
        """Return the closing chunk, unless the provider sent one. Raises: EmptyStreamError when nothing came."""
        chunks = self._chunks
        if not chunks:
            raise EmptyStreamError
        is_mute = not any(type(chunk.content) is str and chunk.content for chunk in chunks) and self._is_mute()
        if not is_mute and any(chunk.chunk_position == "last" for chunk in chunks):
            return None
        closing = AIMessageChunk([] if self._blocks else "", id=chunks[-1].id, chunk_position="last")
        if is_mute:
            closing.response_metadata = {NO_FINAL_TEXT: True}
        self.append(closing)
        return ChatGenerationChunk(message=closing.model_copy() if self._keep else closing)

    def replay(self, generations: list[ChatGeneration]) -> ChatGenerationChunk:
        """Return a cached answer as the only chunk, marked as free."""
        (generation, *_) = self._turn.finish(hit(generations)).generations
        chunk = ChatGenerationChunk(message=as_chunk(generation.message), generation_info=generation.generation_info)
        self.append(chunk.message.model_copy(deep=True))
        return chunk

    def _is_mute(self) -> bool:
        return is_mute(add_ai_message_chunks(*self._chunks))

    def whole(self) -> AIMessageChunk | None:
        """Return the sum so far."""
        return add_ai_message_chunks(*self._chunks) if self._chunks else None

    def result(self) -> ChatResult:
        """Return the finished answer. Raises: EmptyStreamError when nothing came."""
        if not self._chunks:
            raise EmptyStreamError
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    def report(self) -> LLMResult | None:
        """Return what came, for callbacks; None when nothing did."""
        return LLMResult(generations=[[ChatGeneration(message=self._message())]]) if self._chunks else None

    def _message(self) -> BaseMessage:
        message = message_chunk_to_message(add_ai_message_chunks(*self._chunks))
        if self._blocks:
            message.content = message.content_blocks
        return message


def as_chunk(message: BaseMessage) -> AIMessageChunk:
    """Return a whole answer as the only chunk of a stream."""
    if isinstance(message, AIMessageChunk):
        return message
    if not isinstance(message, AIMessage):
        return AIMessageChunk(message.content, id=message.id, name=message.name, chunk_position="last")
    return AIMessageChunk(
        message.content,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        name=message.name,
        id=message.id,
        model_extra=message.model_extra,
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )
