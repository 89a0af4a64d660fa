"""Run the tool calls of a model's answer; each call is a durable task when a workflow runs it.

Calls of one answer run in parallel and their results keep the order of the calls. Inside a workflow with a saver a
finished call is never made again, also when its neighbour failed, paused or the process died.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from clew import _run
from clew._drive import drive
from clew.errors import ToolError
from clew.graph import END
from clew.messages import AIMessage, ToolMessage
from clew.prebuilt._approval import Approve, ask, needs_approval
from clew.prebuilt._injected import Injections, ToolRuntime, fill, injections_of
from clew.pregel._spec import Spec
from clew.runnables import Runnable, RunnableLambda, ensure_config
from clew.runtime import Runtime
from clew.tools import BaseTool
from clew.tools import tool as make_tool
from clew.types import Command

if TYPE_CHECKING:
    from clew.config import RunnableConfig
    from clew.messages import ToolCall

HandleErrors = bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]
ToolResult = ToolMessage | Command[Any]
Handler = Callable[["ToolCallRequest"], ToolResult]

_TOLD = (ToolError, ValidationError)


@dataclasses.dataclass(slots=True)
class ToolCallRequest:
    """One tool call, as `wrap_tool_call` sees it. tool: None when the model named one that is not there."""

    tool_call: ToolCall
    tool: BaseTool | None
    state: Any
    runtime: ToolRuntime

    def override(self, **changes: Any) -> ToolCallRequest:
        """Return a copy with these fields changed."""
        return dataclasses.replace(self, **changes)


class ToolNode(Runnable[Any, Any]):
    """A graph node (or any step of a chain) that answers tool calls.

    tools: tools or functions. handle_tool_errors: which errors the model is told about (as a ToolMessage with
    status "error") instead of failing the run; default: unknown tools, arguments that don't fit, and ToolError.
    True for all, a text to send, a function of the error, or exception class(es); False for none.
    messages_key: where the conversation is in the state. wrap_tool_call: `(request, handler) -> result`, around each
    call; awrap_tool_call its async twin. approve: calls that a person must allow first: True for all, tool names, or
    a function of the call.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: HandleErrors | None = None,
        messages_key: str = "messages",
        wrap_tool_call: Callable[[ToolCallRequest, Handler], ToolResult] | None = None,
        awrap_tool_call: Callable[..., Awaitable[ToolResult]] | None = None,
        approve: Approve = None,
    ) -> None:
        made = [one if isinstance(one, BaseTool) else make_tool(one) for one in tools]
        self.name = name
        self.tags = tags
        self.messages_key = messages_key
        self.tools_by_name: dict[str, BaseTool] = {one.name: one for one in made}
        self._injections: dict[str, Injections] = {one.name: injections_of(one) for one in made}
        self._handle_errors = handle_tool_errors
        self._wrap = wrap_tool_call
        self._awrap = awrap_tool_call
        self._approve: Approve = approve

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Answer the calls of the last message. input: state, list of messages, or list of tool calls."""
        return self._answer(input, drive(self._all(self._requests(input, config), blocking=True)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Answer the calls of the last message. input: state, list of messages, or list of tool calls."""
        return self._answer(input, await self._all(self._requests(input, config), blocking=False))

    # -- reading and answering -----------------------------------------------------------------------

    def _requests(self, input: Any, config: RunnableConfig | None) -> list[ToolCallRequest]:
        frame = _run.current.get()
        runtime: Any = frame.runtime() if frame is not None else Runtime()
        whole = ensure_config(config)
        tools = list(self.tools_by_name.values())
        return [
            ToolCallRequest(
                call, self.tools_by_name.get(call["name"]), input, ToolRuntime(input, whole, runtime, call["id"], tools)
            )
            for call in self._calls(input)
        ]

    def _calls(self, input: Any) -> list[ToolCall]:
        if isinstance(input, list) and input and isinstance(input[-1], dict) and "args" in input[-1]:
            return cast("list[ToolCall]", input)
        messages = self._messages(input)
        asked = open_calls(messages)
        if asked is None:
            raise ValueError(f"{self.name!r} answers tool calls, and no AIMessage is in {self.messages_key!r}")
        return asked

    def _messages(self, input: Any) -> list[Any]:
        if isinstance(input, list):
            return input  # pyright: ignore[reportUnknownVariableType] - messages
        found = input.get(self.messages_key) if isinstance(input, dict) else getattr(input, self.messages_key, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not found:
            raise ValueError(f"{self.name!r} found no messages under {self.messages_key!r}")
        return cast("list[Any]", found)

    def _answer(self, input: Any, results: list[ToolResult]) -> Any:
        if any(isinstance(one, Command) for one in results):
            told = [one for one in results if isinstance(one, ToolMessage)]
            commands = [one for one in results if isinstance(one, Command)]
            return [*commands, *([{self.messages_key: told}] if told else [])]
        return results if isinstance(input, list) else {self.messages_key: results}

    # -- running -------------------------------------------------------------------------------------

    async def _all(self, requests: list[ToolCallRequest], *, blocking: bool) -> list[ToolResult]:
        """Run the calls: as durable tasks of the running workflow, else side by side."""
        frame: Any = _run.current.get()
        if frame is not None:
            run = self._one if blocking else self._aone
            specs = [self._spec(partial(run, one), one, not blocking) for one in requests]
            futures = [
                frame.call(spec, (one.tool_call["args"],), {}) for spec, one in zip(specs, requests, strict=True)
            ]
            return [future.result() if blocking else await future for future in futures]
        each = RunnableLambda(partial(self._one, _=None), partial(self._aone, _=None))
        configs = [one.runtime.config for one in requests]
        return each.batch(requests, configs) if blocking else await each.abatch(requests, configs)

    @staticmethod
    def _spec(run: Any, request: ToolCallRequest, is_coroutine: bool) -> Spec:
        return Spec(run, request.tool_call["name"], hidden=True, is_coroutine=is_coroutine, inject=frozenset())

    def _one(self, request: ToolCallRequest, _: Any) -> ToolResult:
        verdict = self._asked(request)
        if isinstance(verdict, ToolMessage):
            return verdict
        return self._wrap(verdict, self._call) if self._wrap is not None else self._call(verdict)

    async def _aone(self, request: ToolCallRequest, _: Any) -> ToolResult:
        verdict = self._asked(request)
        if isinstance(verdict, ToolMessage):
            return verdict
        if self._awrap is not None:
            return await self._awrap(verdict, self._acall)
        return await self._acall(verdict)

    def _asked(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        """Return the request as a person allowed it, or the answer that tells the model that it was refused."""
        if self._approve is None or not needs_approval(self._approve, request.tool_call):
            return request
        answer = ask(request.tool_call)
        if isinstance(answer, str):
            return _told(request.tool_call, answer)
        return request.override(tool_call=answer)

    def _call(self, request: ToolCallRequest) -> ToolResult:
        tool = request.tool
        if tool is None:
            return self._unknown(request)
        try:
            return _as_result(request.tool_call, tool.invoke(self._filled(request), self._config(request)))
        except Exception as error:
            return self._failed(request, error)

    async def _acall(self, request: ToolCallRequest) -> ToolResult:
        tool = request.tool
        if tool is None:
            return self._unknown(request)
        try:
            return _as_result(request.tool_call, await tool.ainvoke(self._filled(request), self._config(request)))
        except Exception as error:
            return self._failed(request, error)

    @staticmethod
    def _config(request: ToolCallRequest) -> RunnableConfig | None:
        """Return the config of the call's own frame, or None when there is nothing in it."""
        frame: Any = _run.current.get()
        if frame is None:
            return request.runtime.config
        return frame.config if frame.root.manager is not None or frame.root.config else None

    def _filled(self, request: ToolCallRequest) -> Any:
        """Return the call with the arguments that the graph gives, ready for the tool."""
        call = request.tool_call
        wanted = self._injections.get(call["name"])
        runtime = request.runtime
        frame = _run.current.get()
        if wanted and frame is not None:
            runtime = dataclasses.replace(runtime, runtime=frame.runtime())
        args = {**call["args"], **fill(wanted, runtime)} if wanted else call["args"]
        return {**call, "args": args, "type": "tool_call"}

    # -- errors --------------------------------------------------------------------------------------

    def _unknown(self, request: ToolCallRequest) -> ToolMessage:
        call = request.tool_call
        text = f"Error: {call['name']} is not a valid tool, try one of [{', '.join(self.tools_by_name)}]."
        if self._handle_errors is False:
            raise ToolError(text, tool=call["name"], call_id=call["id"])
        return _told(call, text)

    def _failed(self, request: ToolCallRequest, error: Exception) -> ToolMessage:
        """Return what the model is told of an error; raise it when the model is not to know."""
        call = request.tool_call
        rule: Any = _TOLD if self._handle_errors is None else self._handle_errors
        if rule is False or not isinstance(error, rule if isinstance(rule, (type, tuple)) else Exception):
            raise error
        if isinstance(rule, str):
            return _told(call, rule)
        if callable(rule) and not isinstance(rule, type):  # pyright: ignore[reportUnknownArgumentType] - looked at here
            return _told(call, str(rule(error)))
        return _told(call, f"Error in {call['name']}: {error}\nPlease fix your mistakes.")


def open_calls(messages: Sequence[Any]) -> list[ToolCall] | None:
    """Return the calls of the last AIMessage that have no result after it; None when there is no AIMessage."""
    done: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            done.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in done]
    return None


def _told(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(content=text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def _as_result(call: ToolCall, result: Any) -> ToolResult:
    """Return a tool's answer. Raises: TypeError for what is neither a ToolMessage nor a Command."""
    if isinstance(result, (ToolMessage, Command)):
        return cast("ToolResult", result)
    raise TypeError(f"the tool {call['name']!r} answered its call with {type(result).__name__}, not with a ToolMessage")


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Choose the node "tools" when the last message asks for tools, else the end; for `add_conditional_edges`."""
    found: Any = state
    if isinstance(state, dict):
        found = cast("dict[str, Any]", state).get(messages_key)
    elif not isinstance(state, list):
        found = getattr(state, messages_key, None)
    if not found:
        raise ValueError(f"no messages under {messages_key!r} to look for tool calls in")
    return "tools" if getattr(found[-1], "tool_calls", None) else cast("Any", END)
