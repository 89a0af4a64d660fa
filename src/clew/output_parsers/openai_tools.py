"""Answers that are tool calls."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import SkipValidation, ValidationError

from clew._kernel.partial_json import parse_json, parse_partial_json
from clew.errors import ModelRefusalError, OutputParserException
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.tool import InvalidToolCall, ToolCall
from clew.messages.tool import invalid_tool_call as _invalid_tool_call
from clew.messages.tool import tool_call as _tool_call
from clew.output_parsers.transform import BaseCumulativeTransformOutputParser
from clew.outputs import ChatGeneration, Generation

__all__ = [
    "JsonOutputKeyToolsParser",
    "JsonOutputToolsParser",
    "PydanticToolsParser",
    "create_tool_call",
    "make_invalid_tool_call",
    "parse_tool_call",
    "parse_tool_calls",
    "raise_if_refused",
]

T = TypeVar("T")


def parse_tool_call(
    raw_tool_call: dict[str, Any], *, partial: bool = False, strict: bool = False, return_id: bool = True
) -> dict[str, Any] | None:
    """Return {"name", "args", "id", "type"} of one raw OpenAI tool call.

    partial: the arguments may be cut off; None when there is nothing yet. strict: no raw control characters in strings.
    Raises: OutputParserException.
    """
    import json

    function = raw_tool_call.get("function")
    if function is None:
        return None
    text = function.get("arguments")
    args: Any
    try:
        if partial:
            args = parse_partial_json(text) if text else {}
        elif not text:
            args = {}
        else:
            args = json.loads(text) if strict else parse_json(text)
    except (ValueError, TypeError) as error:
        if partial:
            return None
        raise OutputParserException(
            f"the arguments of {function.get('name')!r} are no valid JSON: {error}: {text!r}", llm_output=text
        ) from error
    call: dict[str, Any] = {"name": function.get("name") or "", "args": args or {}}
    if return_id:
        call["id"] = raw_tool_call.get("id")
        call["type"] = "tool_call"
    return call


def parse_tool_calls(
    raw_tool_calls: list[dict[str, Any]], *, partial: bool = False, strict: bool = False, return_id: bool = True
) -> list[dict[str, Any]]:
    """Return the parsed calls of a raw list. Raises: OutputParserException that names all that can't be read."""
    calls: list[dict[str, Any]] = []
    errors: list[str] = []
    for raw in raw_tool_calls:
        try:
            call = parse_tool_call(raw, partial=partial, strict=strict, return_id=return_id)
        except OutputParserException as error:
            errors.append(str(error))
            continue
        if call is not None:
            calls.append(call)
    if errors:
        raise OutputParserException("\n\n".join(errors))
    return calls


def make_invalid_tool_call(raw_tool_call: dict[str, Any], error_msg: str | None) -> InvalidToolCall:
    """Return a raw call as an invalid one."""
    function: dict[str, Any] = raw_tool_call.get("function") or {}
    return _invalid_tool_call(
        name=function.get("name"), args=function.get("arguments"), id=raw_tool_call.get("id"), error=error_msg
    )


def create_tool_call(*, name: str, args: dict[str, Any], id: str | None) -> ToolCall:
    """Return a tool call."""
    return _tool_call(name=name, args=args, id=id)


def raise_if_refused(message: Any) -> None:
    """Raise ModelRefusalError if the message is a refusal."""
    refusal = message.additional_kwargs.get("refusal")
    blocks: list[Any] = message.content if not isinstance(message.content, str) else []
    found = [block["refusal"] for block in blocks if not isinstance(block, str) and block.get("type") == "refusal"]
    refusal = refusal or "".join(found)
    if refusal:
        raise ModelRefusalError(f"the model declined: {refusal}")


class JsonOutputToolsParser(BaseCumulativeTransformOutputParser[Any]):
    """Returns the tool calls of an answer as [{"type": name, "args": {…}}].

    first_tool_only: the first one or None instead of a list. return_id: with their ids. strict: kept for old callers.
    Streamed, arguments appear as far as they are certain. Raises: OutputParserException for calls that can't be read.
    """

    strict: bool = False
    return_id: bool = False
    first_tool_only: bool = False

    def _calls(self, result: list[Generation], partial: bool) -> list[dict[str, Any]]:
        """{"name", "args", "id"} of the calls in the best candidate."""
        generation: Any = result[0]
        if not isinstance(generation, ChatGeneration):
            raise OutputParserException("a tools parser reads the answer of a chat model, not text")
        message: Any = generation.message
        if not isinstance(message, AIMessage):
            return []
        if partial and isinstance(message, AIMessageChunk):
            return [call for call in map(_partial_call, message.tool_call_chunks) if call is not None]
        if message.invalid_tool_calls and not partial:
            invalid: list[Any] = message.invalid_tool_calls  # type: ignore[assignment]  # TypedDicts
            bad = [f"{call.get('name')!r}: {call.get('error') or call.get('args')}" for call in invalid]
            raise OutputParserException(
                "the arguments of a tool call are no valid JSON: " + "; ".join(bad),
                llm_output=str(message.invalid_tool_calls[0].get("args")),
            )
        return [{"name": call["name"], "args": call["args"], "id": call["id"]} for call in message.tool_calls]

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the calls of the best candidate."""
        calls = [self._shown(call) for call in self._calls(result, partial)]
        if self.first_tool_only:
            return calls[0] if calls else None
        return calls

    def _shown(self, call: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {"args": call["args"], "type": call["name"]}
        if self.return_id:
            out["id"] = call["id"]
        return out

    def parse(self, text: str) -> Any:
        """Raise NotImplementedError: tool calls are no text."""
        raise NotImplementedError(f"{type(self).__name__} reads messages, not text")


def _partial_call(fragment: Any) -> dict[str, Any] | None:
    name, text = fragment.get("name"), fragment.get("args")
    if not name:
        return None
    try:
        args: Any = parse_partial_json(text) if text else {}
    except ValueError:
        return None
    return {"name": name, "args": args, "id": fragment.get("id")} if isinstance(args, dict) else None


class JsonOutputKeyToolsParser(JsonOutputToolsParser):
    """Returns the arguments of the calls to one tool.

    key_name: the tool. first_tool_only: the first one's, or None, instead of a list. return_id: whole calls with ids.
    """

    key_name: str

    def __init__(self, key_name: str, **kwargs: Any) -> None:
        super().__init__(key_name=key_name, **kwargs)  # pyright: ignore[reportCallIssue] - pydantic's constructor

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the arguments of the calls in the best candidate."""
        calls = [call for call in self._calls(result, partial) if call["name"] == self.key_name]
        shown = [self._shown(call) if self.return_id else call["args"] for call in calls]
        if self.first_tool_only:
            return shown[0] if shown else None
        return shown


class PydanticToolsParser(JsonOutputToolsParser):
    """Returns the tool calls of an answer as objects of the classes they are named after.

    tools: the classes. Streamed, an object appears when its call is complete, never built from half a value.
    Raises: OutputParserException for an unknown tool or arguments that don't fit.
    """

    tools: SkipValidation[list[Any]]

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the objects of the best candidate."""
        calls = self._complete(result) if partial else self._calls(result, partial=False)
        objects: list[Any] = []
        for call in calls:
            try:
                objects.append(self._object(call))
            except OutputParserException:
                if not partial:
                    raise
        if self.first_tool_only:
            return objects[0] if objects else None
        return objects

    def _complete(self, result: list[Generation]) -> list[dict[str, Any]]:
        generation: Any = result[0]
        message = getattr(generation, "message", None)
        return list(message.tool_calls) if isinstance(message, AIMessage) else []  # type: ignore[arg-type]  # dicts

    def _object(self, call: dict[str, Any]) -> Any:
        by_name = {tool_name(tool): tool for tool in self.tools}
        cls: Any = by_name.get(call["name"])
        if cls is None:
            raise OutputParserException(f"the model called {call['name']!r}; known are {sorted(by_name)}")
        args: Any = call["args"]
        try:
            return cls.model_validate(args) if hasattr(cls, "model_validate") else cls(**args)
        except (ValidationError, TypeError) as error:
            raise OutputParserException(
                f"the arguments of {call['name']!r} don't fit: {error}", llm_output=str(args)
            ) from error


def tool_name(tool: Any) -> str:
    """The name under which a model knows a class: its title if it has one, else its own."""
    title = getattr(tool, "model_config", {}).get("title")
    return title or getattr(tool, "name", None) or tool.__name__
