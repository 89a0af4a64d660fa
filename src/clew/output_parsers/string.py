"""The simplest parser: the text of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.messages.base import BaseMessage
from clew.output_parsers.base import as_generation
from clew.output_parsers.transform import BaseTransformOutputParser
from clew.runnables._entry import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.config import RunnableConfig

__all__ = [
    "StrOutputParser",
]


class StrOutputParser(BaseTransformOutputParser[str]):
    """Returns the text of an answer, without reasoning and other blocks; streams it as it comes."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Described by its (no) arguments."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "schema", "output_parser"]

    @property
    def _type(self) -> str:
        return "default"

    @property
    def OutputType(self) -> Any:
        """Text."""
        return str

    def parse(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def _read(self, answer: Any) -> Any:
        if type(self) is StrOutputParser:  # nothing is overridden: the short way
            if isinstance(answer, BaseMessage):
                return answer.text
            if isinstance(answer, str):
                return answer
        return super()._read(answer)

    async def _aread(self, answer: Any) -> Any:
        return self._read(answer) if type(self) is StrOutputParser else await super()._aread(answer)

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[str]:
        """Yield the texts of the pieces as they come."""
        if config is None and type(self) is StrOutputParser and plain():
            return _texts(input)
        return super().transform(input, config, **kwargs)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[str]:
        """Yield the texts of the pieces as they come."""
        if config is None and type(self) is StrOutputParser and plain():
            return _atexts(input)
        return super().atransform(input, config, **kwargs)


def _text(piece: Any) -> str:
    if isinstance(piece, BaseMessage):
        content = piece.content
        return content if type(content) is str else piece.text
    return piece if isinstance(piece, str) else as_generation(piece).text


def _texts(pieces: Iterator[Any]) -> Iterator[str]:
    for piece in pieces:
        yield _text(piece)


async def _atexts(pieces: AsyncIterator[Any]) -> AsyncIterator[str]:
    async for piece in pieces:
        yield _text(piece)
