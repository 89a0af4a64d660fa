"""Answers that are lists of texts."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from io import StringIO
from typing import TYPE_CHECKING, Any

from clew.messages.base import BaseMessage
from clew.output_parsers.transform import BaseTransformOutputParser

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = [
    "CommaSeparatedListOutputParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
]


class ListOutputParser(BaseTransformOutputParser[list[str]], ABC):
    """Base of parsers that return a list of texts; streamed, one-item lists, each when its item is complete."""

    @property
    def _type(self) -> str:
        return "list"

    @abstractmethod
    def parse(self, text: str) -> list[str]:
        """Return the items of a text."""

    def parse_iter(self, text: str) -> Iterator[re.Match[str]]:
        """Yield one match per item; group 1 is the item."""
        raise NotImplementedError(f"{type(self).__name__} finds its items all at once")

    def _split(self, buffer: str) -> tuple[list[str], str]:
        """(complete items, rest): the last item may go on."""
        try:
            items = [(found.group(1), found.end()) for found in self.parse_iter(buffer)]
        except NotImplementedError:
            parts = self.parse(buffer)
            return (parts[:-1], parts[-1]) if len(parts) > 1 else ([], buffer)
        if len(items) < 2:
            return [], buffer
        return [item for item, _ in items[:-1]], buffer[items[-2][1] :]

    def _transform(self, input: Iterator[Any]) -> Iterator[list[str]]:
        buffer = ""
        for piece in input:
            buffer += piece.text if isinstance(piece, BaseMessage) else piece
            done, buffer = self._split(buffer)
            for item in done:
                yield [item]
        for item in self.parse(buffer) if buffer else ():
            yield [item]

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[list[str]]:
        buffer = ""
        async for piece in input:
            buffer += piece.text if isinstance(piece, BaseMessage) else piece
            done, buffer = self._split(buffer)
            for item in done:
                yield [item]
        for item in self.parse(buffer) if buffer else ():
            yield [item]


class CommaSeparatedListOutputParser(ListOutputParser):
    """Reads `a, b, "c, d"`, also with the Chinese comma."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Described by its (no) arguments."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "output_parsers", "list"]

    @property
    def _type(self) -> str:
        return "comma-separated-list"

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        return "Your answer should be a list of values separated by commas, for example: `foo, bar, baz`"

    def parse(self, text: str) -> list[str]:
        """Return the items; quoted ones may hold commas."""
        if "," not in text and "\uff0c" in text:
            text = text.replace("\uff0c", ",")
        try:
            reader = csv.reader(StringIO(text), quotechar='"', delimiter=",", skipinitialspace=True)
            return [item.strip() if "\n" not in item else item for row in reader for item in row]
        except csv.Error:
            return [part.strip() for part in text.split(",")]


class _PatternListOutputParser(ListOutputParser):
    pattern: str = ""

    def parse(self, text: str) -> list[str]:
        """Return the items."""
        return re.findall(self.pattern, text, re.MULTILINE)

    def parse_iter(self, text: str) -> Iterator[re.Match[str]]:
        """Yield one match per item."""
        return re.finditer(self.pattern, text, re.MULTILINE)


class NumberedListOutputParser(_PatternListOutputParser):
    """Reads lines like `1. item`."""

    pattern: str = r"\d+\.\s([^\n]+)"

    @property
    def _type(self) -> str:
        return "numbered-list"

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        return (
            "Your answer should be a numbered list, each item on its own line, for example:\n\n1. foo\n2. bar\n3. baz"
        )


class MarkdownListOutputParser(_PatternListOutputParser):
    """Reads lines like `- item` or `* item`."""

    pattern: str = r"^\s*[-*]\s([^\n]+)$"

    @property
    def _type(self) -> str:
        return "markdown-list"

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        return "Your answer should be a markdown list, for example: `- foo\n- bar\n- baz`"
