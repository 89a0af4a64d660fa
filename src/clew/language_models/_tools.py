"""Tools in any form as the dicts that providers take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable


def convert_tools(tools: Iterable[Any], *, strict: bool | None = None) -> list[dict[str, Any]]:
    """Return one dict per tool; dicts stay as they are.

    Raises: ValueError for anything that is no tool.
    """
    return [convert_tool(tool, strict=strict) for tool in tools]


def convert_tool(tool: Any, *, strict: bool | None = None) -> dict[str, Any]:
    """Return a tool in OpenAI's form; a dict as it is. Raises: ValueError "Unsupported tool type"."""
    if isinstance(tool, dict):
        return cast("dict[str, Any]", tool)
    if not isinstance(tool, type) and not callable(tool) and not hasattr(tool, "args_schema"):
        raise ValueError(
            f"Unsupported tool type {type(tool).__name__}: {tool!r}; give a dict, a pydantic or TypedDict class, "
            "a function or a BaseTool"
        )
    from clew.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool, strict=strict)
