"""What the caller of a tool gets: the result in the form it wants, or an error that is told to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew.errors import ToolException
from clew.tools._result import is_final, to_message

if TYPE_CHECKING:
    from pydantic import ValidationError

    from clew.tools.base import BaseTool


def answer(tool: BaseTool, output: Any, call_id: str | None) -> Any:
    """Return what a tool returned: as it is, or for a tool call as a ToolMessage.

    Raises: ValueError if the tool should return a pair and doesn't.
    """
    artifact = None
    if tool.response_format == "content_and_artifact" and not is_final(output):
        if type(output) is not tuple or len(cast("tuple[Any, ...]", output)) != 2:
            raise ValueError(
                f"the tool {tool.name!r} has response_format='content_and_artifact', so it returns a pair "
                f"(content, artifact), not {type(cast('object', output)).__name__}"
            )
        output, artifact = cast("tuple[Any, Any]", output)
    if call_id is None:
        return output
    return to_message(output, artifact, call_id, tool.name)


def told(tool: BaseTool, error: Exception, call_id: str | None) -> Any:
    """Return what the model is told about an error, or raise it, as the tool says."""
    policy: Any = tool.handle_validation_error
    if isinstance(error, ToolException):
        policy = tool.handle_tool_error
        error.tool = error.tool or tool.name
        error.call_id = error.call_id or call_id
    if not policy:
        raise error
    if callable(policy):
        text: Any = policy(error)
    elif isinstance(policy, str):
        text = policy
    elif isinstance(error, ToolException):
        text = str(error) or "Tool execution error"
    else:
        text = explained(cast("ValidationError", error))
    return text if call_id is None else to_message(text, None, call_id, tool.name, "error")


def explained(error: ValidationError) -> str:
    """Return a validation error in words that a model can act on, without links."""
    lines = [f"{'.'.join(map(str, item['loc'])) or 'input'}: {item['msg']}" for item in error.errors(include_url=False)]
    return "The arguments are not valid. " + "; ".join(lines)
