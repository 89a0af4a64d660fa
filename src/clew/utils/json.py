"""JSON as models write it: in a code fence, with text around it, or not finished yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clew._kernel.partial_json import parse_json, parse_partial_json
from clew.errors import OutputParserException

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse_and_check_json_markdown", "parse_json_markdown", "parse_partial_json"]

_FENCE = re.compile(r"```[ \t]*(?:json|JSON)?[ \t]*\r?\n?(.*)", re.DOTALL)


def parse_json_markdown(json_string: str, *, parser: Callable[[str], Any] = parse_partial_json) -> Any:
    """Return the JSON value in a text: the whole text, a fenced block, or the first object or array in it.

    parser: how the JSON itself is read; the default takes what is cut off.
    Raises: ValueError if there is none.
    """
    text = json_string.strip()
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        pass
    found = _FENCE.search(text)
    if found is not None:
        inside = found.group(1)
        end = _fence_end(inside)
        return parser((inside if end is None else inside[:end]).strip())
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start > 0 and text[0] not in '"-0123456789tfn':
        end = max(text.rfind("}"), text.rfind("]"))
        try:
            return parse_json(text[start : end + 1])
        except (ValueError, RecursionError):
            return parser(text[start:])
    return parser(text)


def _fence_end(text: str) -> int | None:
    """Where the closing fence is: the first ``` on its own line, else the last one."""
    found = re.search(r"^[ \t]*```", text, re.MULTILINE)
    if found is not None:
        return found.start()
    at = text.rfind("```")
    return at if at >= 0 else None


def parse_and_check_json_markdown(text: str, expected_keys: list[str]) -> dict[str, Any]:
    """Return the JSON object in a text.

    Raises: OutputParserException if there is none or a key is missing.
    """
    try:
        value = parse_json_markdown(text)
    except ValueError as error:
        raise OutputParserException(f"the answer is no valid JSON: {error}", llm_output=text) from error
    if not isinstance(value, dict):
        raise OutputParserException(f"the answer is no JSON object: {value!r}", llm_output=text)
    missing = [key for key in expected_keys if key not in value]
    if missing:
        raise OutputParserException(f"the answer lacks {missing}: {value!r}", llm_output=text)
    return value  # pyright: ignore[reportUnknownVariableType] - JSON
