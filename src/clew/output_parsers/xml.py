"""XML answers, read without doctypes: no entities, no external files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from clew.errors import OutputParserException
from clew.messages.base import BaseMessage
from clew.output_parsers.format_instructions import XML_FORMAT_INSTRUCTIONS
from clew.output_parsers.transform import BaseTransformOutputParser

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = [
    "XMLOutputParser",
]

_FENCE = re.compile(r"```(?:xml)?[ \t]*\r?\n?(.*?)```", re.DOTALL)


class _Node:
    __slots__ = ("children", "tag", "text")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.text: list[str] = []
        self.children: list[_Node] = []

    def value(self) -> dict[str, Any]:
        """{tag: text} of a leaf, {tag: [{child: …}, …]} of a node with children."""
        if self.children:
            return {self.tag: [child.value() for child in self.children]}
        text = "".join(self.text)
        return {self.tag: text if text.strip() else None}


class _Reader:
    """Reads XML piece by piece. Raises: OutputParserException for a doctype or a fault."""

    def __init__(self) -> None:
        self.root: _Node | None = None
        self.path: list[_Node] = []
        self.closed: list[tuple[list[str], _Node]] = []  # leaves that ended, with the tags above them
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._doctype

    def feed(self, text: str, *, is_final: bool = False) -> None:
        try:
            self._parser.Parse(text, is_final)
        except expat.ExpatError as error:
            raise OutputParserException(f"the answer is no valid XML: {error}", llm_output=text) from error

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        node = _Node(tag)
        if self.path:
            self.path[-1].children.append(node)
        else:
            self.root = node
        self.path.append(node)

    def _end(self, _tag: str) -> None:
        node = self.path.pop()
        if not node.children:
            self.closed.append(([parent.tag for parent in self.path], node))

    def _characters(self, data: str) -> None:
        if self.path:
            self.path[-1].text.append(data)

    def _doctype(self, *_: Any) -> None:
        raise OutputParserException("XML with a doctype or entities is refused: it can name files and grow")


class XMLOutputParser(BaseTransformOutputParser[dict[str, Any]]):
    """Returns an XML answer as nested dicts: {"a": [{"b": "text"}, {"c": None}]}.

    tags: what the model is told to use. Streamed, {"a": [{"b": "text"}]} for each leaf when it ends.
    Raises: OutputParserException for broken XML and for any doctype or entity declaration.
    """

    tags: list[str] | None = None
    parser: str = "expat"

    @property
    def _type(self) -> str:
        return "xml"

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        return XML_FORMAT_INSTRUCTIONS.format(tags=self.tags)

    def parse(self, text: str) -> dict[str, Any]:
        """Return the nested dicts of a text, which may be fenced or have words around it."""
        found = _FENCE.search(text)
        source = (found.group(1) if found else text).strip()
        start, end = source.find("<"), source.rfind(">")
        if start < 0 or end < start:
            raise OutputParserException("the answer holds no XML", llm_output=text)
        source = source[start : end + 1]
        if source.startswith("<?xml"):
            source = source.split("?>", 1)[-1].strip()  # an encoding named there would be wrong for a str
        reader = _Reader()
        reader.feed(source, is_final=True)
        if reader.root is None:
            raise OutputParserException("the answer holds no XML", llm_output=text)
        return reader.root.value()

    def _transform(self, input: Iterator[Any]) -> Iterator[dict[str, Any]]:
        stream = _Stream()
        for piece in input:
            yield from stream.feed(piece)

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[dict[str, Any]]:
        stream = _Stream()
        async for piece in input:
            for value in stream.feed(piece):
                yield value


class _Stream:
    """Finds the document in a stream of text and yields its leaves."""

    def __init__(self) -> None:
        self.buffer = ""
        self.reader: _Reader | None = None
        self.is_done = False

    def feed(self, piece: Any) -> Iterator[dict[str, Any]]:
        text = piece.text if isinstance(piece, BaseMessage) else piece
        if self.is_done:
            return
        if self.reader is None:
            self.buffer += text
            found = re.search(r"<(?=[A-Za-z_!])", self.buffer)
            if found is None:
                return
            text = self.buffer[found.start() :]
            self.reader = _Reader()
        end = 0
        for found in re.finditer(">", text):  # stop at the end of the root element
            self.reader.feed(text[end : found.end()])
            end = found.end()
            if self.reader.root is not None and not self.reader.path:
                self.is_done = True
                break
        if not self.is_done:
            self.reader.feed(text[end:])
        closed, self.reader.closed = self.reader.closed, []
        for above, node in closed:
            value: Any = node.value()
            for tag in reversed(above):
                value = {tag: [value]}
            yield value
