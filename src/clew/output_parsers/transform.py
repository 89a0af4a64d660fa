"""Parsers that work on a stream: piece by piece, or on all that has come so far."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any, TypeVar

from clew.messages.base import BaseMessage, BaseMessageChunk
from clew.output_parsers.base import BaseOutputParser, as_generation
from clew.outputs import ChatGenerationChunk, GenerationChunk
from clew.runnables._stream import astream_observed, stream_observed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.config import RunnableConfig

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseTransformOutputParser",
]

T = TypeVar("T")


class BaseTransformOutputParser(BaseOutputParser[T], ABC):
    """Base of parsers that read each piece of a stream by itself."""

    def _transform(self, input: Iterator[Any]) -> Iterator[T]:
        for piece in input:
            yield self._read(piece)

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[T]:
        async for piece in input:
            yield await self._aread(piece)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[T]:
        """Yield the values of the pieces as they come."""
        return stream_observed(
            self, lambda pieces, _config, _run: self._transform(pieces), input, config, run_type="parser", pieces=True
        )

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[T]:
        """Yield the values of the pieces as they come."""
        return astream_observed(
            self, lambda pieces, _config, _run: self._atransform(pieces), input, config, run_type="parser", pieces=True
        )


class BaseCumulativeTransformOutputParser(BaseTransformOutputParser[T], ABC):
    """Base of parsers that read all that has come so far, and yield a value when it has changed.

    diff: yield what changed (`_diff`) instead of the whole value.
    """

    diff: bool = False

    def _diff(self, prev: T | None, next: T) -> Any:
        raise NotImplementedError(f"{type(self).__name__} can't tell what changed: use diff=False")

    def _step(self, whole: Any, piece: Any) -> Any:
        """The sum of what came before and one more piece."""
        generation = _as_chunk(piece)
        return generation if whole is None else whole + generation

    def _transform(self, input: Iterator[Any]) -> Iterator[Any]:
        before: Any = None
        whole: Any = None
        for piece in input:
            whole = self._step(whole, piece)
            value = self.parse_result([whole], partial=True)
            if value is not None and value != before:
                yield self._diff(before, value) if self.diff else value
                before = value

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        before: Any = None
        whole: Any = None
        async for piece in input:
            whole = self._step(whole, piece)
            value = await self.aparse_result([whole], partial=True)
            if value is not None and value != before:
                yield self._diff(before, value) if self.diff else value
                before = value


def _as_chunk(piece: Any) -> Any:
    if isinstance(piece, str):
        return GenerationChunk(text=piece)
    if isinstance(piece, BaseMessage) and isinstance(piece, BaseMessageChunk):
        return ChatGenerationChunk(message=piece)
    if isinstance(piece, BaseMessage):
        from clew.messages.ai import AIMessage, AIMessageChunk

        if isinstance(piece, AIMessage):
            fields = {name: getattr(piece, name) for name in piece.__struct_fields__ if name != "type"}
            return ChatGenerationChunk(message=AIMessageChunk(**fields))
    return as_generation(piece)
