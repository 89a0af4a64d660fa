"""Read JSON that is not finished yet.

The text of a streamed object is cut anywhere. What has certainly arrived is returned: complete members, and the part
of a string that is there. A number, literal, key or escape at the very end may go on, so it is held back.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_WORDS = frozenset({"true", "false", "null"})
_SPECIAL = re.compile(r'["{}\[\],:]')
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def parse_json(text: str) -> Any:
    """Parse complete JSON; raw control characters inside strings are let through.

    Raises: ValueError, also for text that is nested too deeply.
    """
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise ValueError("the JSON text is nested too deeply") from error
    except ValueError:  # also msgspec.DecodeError
        try:
            return json.loads(text, strict=False)
        except RecursionError as error:
            raise ValueError("the JSON text is nested too deeply") from error


def parse_partial_json(text: str, *, strict: bool = False) -> Any:
    """Parse JSON that may be cut off at its end.

    strict: when true, the text must be complete.
    Returns: the value as far as it is certain. Raises: ValueError (json.JSONDecodeError) if nothing can be read.
    Cost: O(len(text)).
    """
    try:
        return parse_json(text)
    except ValueError:
        if strict:
            raise
        closed = close_json(text)
        if closed is None:
            raise
        return parse_json(closed)


class _Closer:
    """Reads the text once and remembers the last place where it can be cut and closed."""

    __slots__ = ("cut", "due", "is_key_next", "is_value_open", "stack", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack: list[str] = []  # the closers that are due
        self.cut: int | None = None  # text[:cut] and the closers that are due make valid JSON
        self.is_key_next = False  # in an object, before a key
        self.is_value_open = True  # a value may stand here

    def mark(self, at: int) -> None:
        """All before `at` is certain; no bracket is read without a mark, so the stack belongs to the last one."""
        self.cut = at

    def string(self, at: int) -> int | None:
        """Read the string that starts at `at`; None if it is cut."""
        end = _STRING_END.match(self.text, at + 1)
        if end is None:
            if not self.is_key_next:
                self.text = _whole_escapes(self.text, at) + '"'
                self.mark(len(self.text))
            return None
        if not self.is_key_next:
            self.mark(end.end())
        self.is_value_open = False
        return end.end()

    def bracket(self, char: str, at: int) -> bool:
        """Read any other special character; False if the text is no JSON."""
        if char in "{[":
            self.stack.append("}" if char == "{" else "]")
            self.is_key_next = char == "{"
            self.is_value_open = True
            self.mark(at + 1)
        elif char in "}]":
            if not self.stack or self.stack.pop() != char:
                return False
            self.is_key_next = self.is_value_open = False
            self.mark(at + 1)
        elif char == ":":
            self.is_key_next = False
            self.is_value_open = True
        else:  # a comma: what stands before it is complete
            if not self.stack:
                return False
            self.mark(at)
            self.is_key_next = self.stack[-1] == "}"
            self.is_value_open = True
        return True

    def word(self, start: int) -> None:
        """Take a literal at the very end that can't go on."""
        if self.is_value_open and not self.is_key_next and self.text[start:].strip() in _WORDS:
            self.mark(len(self.text))


def close_json(text: str) -> str | None:
    """Return the text cut back to its last certain value and closed, or None if it holds no value yet."""
    closer = _Closer(text)
    position = 0
    while (found := _SPECIAL.search(text, position)) is not None:
        at = found.start()
        if text[at] == '"':
            end = closer.string(at)
            if end is None:
                break
            position = end
        elif closer.bracket(text[at], at):
            position = at + 1
        else:
            return None
    else:
        closer.word(position)
    return None if closer.cut is None else closer.text[: closer.cut] + "".join(reversed(closer.stack))


_UNFINISHED = re.compile(r"(?:\\|\\u[0-9a-fA-F]{0,3})$")
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


def _whole_escapes(text: str, start: int) -> str:
    """Cut an unfinished escape (also half of a surrogate pair) off the end of the string that starts at `start`."""
    found = _UNFINISHED.search(text, max(start, len(text) - 6))
    if found is not None and _is_escape(text, found.start()):
        text = text[: found.start()]
    found = _HALF_PAIR.search(text, max(start, len(text) - 6))
    if found is not None and _is_escape(text, found.start()):
        text = text[: found.start()]
    return text


def _is_escape(text: str, at: int) -> bool:
    """Whether the backslash at `at` begins an escape and is not itself escaped."""
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0
