"""Tools as text, for prompts of models that don't take them otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from clew.tools.base import BaseTool

ToolsRenderer = Callable[[list[BaseTool]], str]


def _line(tool: Any) -> str:
    function = getattr(tool, "func", None)
    if function is None:
        return f"{tool.name} - {tool.description}"
    return f"{tool.name}{inspect.signature(function)} - {tool.description}"


def render_text_description(tools: list[BaseTool]) -> str:
    """Return one line per tool: "name(signature) - description"."""
    return "\n".join(map(_line, tools))


def render_text_description_and_args(tools: list[BaseTool]) -> str:
    """Return one line per tool: "name(signature) - description, args: {…}"."""
    return "\n".join(f"{_line(tool)}, args: {tool.args}" for tool in tools)
