"""Read JSON that is not finished yet.

The text of a streamed object is cut anywhere. What has certainly arrived is returned: complete members, and the part
of a string that is there. A number, literal, key or escape at the very end may go on, so it is held back.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_SPECIAL = re.compile(r'["{}\[\],:]')
_STRING_END = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def parse_json(text: str) -> Any:
    """Parse complete JSON; raw control characters inside strings are let through. Raises: ValueError."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):
        return json.loads(text, strict=False)


def parse_partial_json(text: str, *, strict: bool = False) -> Any:
    """Parse JSON that may be cut off at its end.

    strict: when true, the text must be complete.
    Returns: the value as far as it is certain. Raises: ValueError (json.JSONDecodeError) if nothing can be read.
    Cost: O(len(text)).
    """
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        if strict:
            raise
        closed = close_json(text)
        if closed is None:
            if isinstance(error, RecursionError):
                raise ValueError("the JSON text is nested too deeply") from error
            raise
        return parse_json(closed)


def close_json(text: str) -> str | None:
    """Return the text cut back to its last certain value and closed, or None if it holds no value yet."""
    stack: list[str] = []  # the closers that are due
    cut = 0  # text[:cut] + the closers in `due` is valid JSON
    due: str | None = None
    position = 0
    expects_key = False
    after_key = False

    def mark(at: int) -> None:
        nonlocal cut, due
        cut = at
        due = "".join(reversed(stack))

    while (found := _SPECIAL.search(text, position)) is not None:
        at = found.start()
        char = text[at]
        if char == '"':
            end = _STRING_END.match(text, at + 1)
            if end is None:  # the string is cut
                if expects_key and not after_key:
                    break
                return _whole_escapes(text[: len(text)], at) + '"' + "".join(reversed(stack))
            position = end.end()
            if not (expects_key and not after_key):
                mark(position)
            continue
        position = at + 1
        if char in "{[":
            stack.append("}" if char == "{" else "]")
            expects_key = char == "{"
            after_key = False
            mark(position)
        elif char in "}]":
            if not stack or stack.pop() != char:
                return None
            expects_key = bool(stack) and stack[-1] == "}"
            after_key = True
            mark(position)
        elif char == ":":
            after_key = True
        else:  # a comma: what stands before it is complete
            if not stack:
                return None
            mark(at)
            expects_key = stack[-1] == "}"
            after_key = False
    if due is None:
        return None
    return text[:cut] + due


def _whole_escapes(text: str, start: int) -> str:
    """Cut an unfinished escape (also half of a surrogate pair) off the end of the string that starts at `start`."""
    tail = re.search(r'(?:\\|\\u[0-9a-fA-F]{0,3})$', text[start:])
    if tail is not None:
        before = text[start : start + tail.start()]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            text = text[: start + tail.start()]
    pair = re.search(r"\\u[dD][89abAB][0-9a-fA-F]{2}$", text[start:])
    return text if pair is None else text[: start + pair.start()]
