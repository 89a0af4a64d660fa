"""Tools for models that can't call tools: the choice is written as JSON.

The model is told the tools and a schema with one alternative per tool and one for the final answer; where the provider
can, the schema is enforced. What it writes becomes an ordinary AIMessage with tool calls, and calls and results of
earlier turns are shown to it as text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from clew._ids import new_id
from clew.errors import OutputParserException
from clew.language_models._input import messages_of
from clew.language_models._relay import as_chunk
from clew.messages.ai import AIMessage
from clew.messages.human import HumanMessage
from clew.messages.system import SystemMessage
from clew.messages.tool import ToolMessage
from clew.runnables.base import Runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.config import RunnableConfig
    from clew.language_models.chat_models import BaseChatModel
    from clew.messages.ai import AIMessageChunk
    from clew.messages.base import BaseMessage


class PromptedTools(Runnable[Any, AIMessage]):
    """A model with tools it is told about. Made by `bind_tools` of models with `native_tools = False`.

    tools: in OpenAI's form. tool_choice: "auto", "any", "none", or a tool's name.
    Raises: when run, OutputParserException for an answer that is neither a call nor a final answer.
    """

    __slots__ = ("_model", "_names", "_tools", "name", "schema")

    def __init__(
        self, model: BaseChatModel, tools: Sequence[dict[str, Any]], tool_choice: Any, kwargs: dict[str, Any]
    ) -> None:
        self.name = None
        chosen: Any = cast("dict[str, Any]", tool_choice).get("name") if isinstance(tool_choice, dict) else tool_choice
        functions = [] if chosen == "none" else [tool["function"] for tool in tools if "function" in tool]
        forced = chosen not in (None, "auto", "any", "required", "none", True, False)
        if forced:
            functions = [function for function in functions if function["name"] == chosen]
            if not functions:
                raise ValueError(f"tool_choice {chosen!r} is none of the tools")
        self._tools = functions
        self._names = {function["name"] for function in functions}
        self.schema = choice_schema(functions, may_answer=not forced and chosen not in ("any", "required", True))
        form = {"type": "json_schema", "json_schema": {"name": "choice", "schema": self.schema}}
        self._model = model.bind(response_format=form, **kwargs) if functions else model.bind(**kwargs)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the model's answer, with tool calls if it made any."""
        return self._read(self._model.invoke(self._told(input), config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the model's answer, with tool calls if it made any."""
        return self._read(await self._model.ainvoke(self._told(input), config, **kwargs))

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[AIMessageChunk]:
        """Yield the answer as one chunk: what it is can't be told before it is whole."""
        yield as_chunk(self.invoke(input, config, **kwargs))

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """Yield the answer as one chunk; see `stream`."""
        yield as_chunk(await self.ainvoke(input, config, **kwargs))

    def _told(self, input: Any) -> list[BaseMessage]:
        messages = [shown(message) for message in messages_of(input)]
        if not self._tools:
            return messages
        lines = [json.dumps(function, ensure_ascii=False) for function in self._tools]
        text = "You can use these tools:\n" + "\n".join(lines) + "\n\n"
        text += 'To use one, answer with {"tool": its name, "args": its arguments}.'
        if "anyOf" not in self.schema or len(self.schema["anyOf"]) > len(self._tools):
            text += ' To answer the user, answer with {"answer": your text}.'
        return with_instructions(messages, text + " Write one JSON object and nothing else.")

    def _read(self, message: AIMessage) -> AIMessage:
        if not self._tools:
            return message
        from clew.utils.json import parse_json_markdown

        try:
            found = parse_json_markdown(message.text, parser=json.loads)
        except (ValueError, RecursionError) as error:
            raise OutputParserException(
                f"the model answered neither with a tool call nor with an answer: {message.text!r}",
                llm_output=message.text,
            ) from error
        out = message.model_copy()
        value = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        if value.get("tool") in self._names and isinstance(value.get("args"), dict):
            out.content = ""
            call_id = f"call_{new_id()}"
            out.tool_calls = [{"name": value["tool"], "args": value["args"], "id": call_id, "type": "tool_call"}]
        elif isinstance(value.get("answer"), str):
            out.content = value["answer"]
        else:
            raise OutputParserException(f"the model chose none of the alternatives: {found!r}", llm_output=message.text)
        return out


def choice_schema(functions: Sequence[dict[str, Any]], *, may_answer: bool) -> dict[str, Any]:
    """Return the schema of an answer: a call of one of the tools, or (if it may) a final text."""
    choices: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {
                "tool": {"const": function["name"]},
                "args": function.get("parameters") or {"type": "object"},
            },
            "required": ["tool", "args"],
            "additionalProperties": False,
        }
        for function in functions
    ]
    if may_answer:
        choices.append(
            {
                "type": "object",
                "properties": {"answer": {"type": "string"}},
                "required": ["answer"],
                "additionalProperties": False,
            }
        )
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def shown(message: BaseMessage) -> BaseMessage:
    """Return a message without tool calls or results: those are shown as text."""
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [{"tool": call["name"], "args": call["args"]} for call in message.tool_calls]
        lines = [json.dumps(call, ensure_ascii=False, default=str) for call in calls]
        return AIMessage("\n".join([message.text, *lines] if message.text else lines), name=message.name)
    if isinstance(message, ToolMessage):
        what = f"Result of {message.name}" if message.name else "Result of the tool"
        return HumanMessage(f"{what}: {message.text}")
    return message


def with_instructions(messages: list[BaseMessage], text: str) -> list[BaseMessage]:
    """Return messages with instructions in their system message, which is the first."""
    if messages and isinstance(messages[0], SystemMessage):
        first = messages[0].model_copy()
        first.content = f"{first.text}\n\n{text}"
        return [first, *messages[1:]]
    return [SystemMessage(text), *messages]
