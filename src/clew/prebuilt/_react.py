"""An agent: a model that calls tools until it has its answer.

A graph of two nodes, `agent` and `tools`, on the durable runtime: each model call and each tool call is kept when it
is finished, and a run that was cut anywhere goes on from there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from clew import _serde
from clew.errors import BudgetExceededError
from clew.graph import END, START, StateGraph, add_messages
from clew.graph._state import schema_of
from clew.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from clew.prebuilt._approval import Approve
from clew.prebuilt.tool_node import ToolNode, open_calls
from clew.runnables import Runnable, RunnableLambda
from clew.runtime import Runtime, get_runtime
from clew.tools import BaseTool

if TYPE_CHECKING:
    from clew.cache.base import BaseCache
    from clew.checkpoint.base import BaseCheckpointSaver
    from clew.config import RunnableConfig
    from clew.graph._compiled import CompiledStateGraph
    from clew.store.base import BaseStore


class AgentState(TypedDict):
    """State of an agent: the conversation."""

    messages: Annotated[list[BaseMessage], add_messages]


class AgentStateWithStructuredResponse(AgentState):
    """State of an agent with a response_format."""

    structured_response: NotRequired[Any]


class _ModelInput(TypedDict):
    """What a pre_model_hook may give the model in place of the conversation."""

    messages: Annotated[list[BaseMessage], add_messages]
    llm_input_messages: NotRequired[list[BaseMessage]]


Prompt = str | SystemMessage | Callable[[Any], Any] | Runnable[Any, Any] | None


def create_react_agent(
    model: str | Runnable[Any, Any] | Callable[[Any, Runtime[Any]], Any],
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | ToolNode,
    *,
    prompt: Prompt = None,
    response_format: Any = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    state_schema: Any = None,
    context_schema: type | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
    approve: Approve = None,
    max_model_calls: int | None = None,
    max_tool_calls: int | None = None,
) -> CompiledStateGraph:
    """Make an agent: `agent.invoke({"messages": [("user", "...")]})`.

    model: a chat model, "provider:model", or `(state, runtime) -> model` to choose one per call. tools: tools,
    functions, a provider's own tools as dicts, or a ToolNode. prompt: a system prompt, or `state -> messages`.
    response_format: schema (or (prompt, schema)) of a final structured answer, in `structured_response`.
    pre_model_hook: node before each model call; its `llm_input_messages` replace the conversation for that call.
    post_model_hook: node after each model call. approve: tool calls that a person must allow (see ToolNode).
    max_model_calls, max_tool_calls: per turn; the call after the limit raises BudgetExceededError.
    version: taken for compatibility; calls of one answer always run side by side, each kept by itself.
    Raises: ValueError when the state lacks a key that is needed.
    """
    node, given = _tools(tools, approve)
    state = state_schema or (AgentState if response_format is None else AgentStateWithStructuredResponse)
    _check_state(state, response_format)
    if version not in ("v1", "v2"):
        raise ValueError(f"version is 'v1' or 'v2', not {version!r}")
    caller = _ModelCaller(model, given, prompt, max_model_calls, max_tool_calls)
    builder = StateGraph(state, context_schema)
    seen = _ModelInput if pre_model_hook is not None and state_schema is None else None
    builder.add_node("agent", caller.ainvoke if caller.wants_await else caller, input_schema=seen)
    entry = "agent"
    if pre_model_hook is not None:
        builder.add_node("pre_model_hook", pre_model_hook, input_schema=state)
        builder.add_edge("pre_model_hook", "agent")
        entry = "pre_model_hook"
    builder.add_edge(START, entry)
    ending = END
    if response_format is not None:
        builder.add_node("generate_structured_response", RunnableLambda(*_structured(caller, response_format)))
        builder.add_edge("generate_structured_response", END)
        ending = "generate_structured_response"
    after = "agent"
    if post_model_hook is not None:
        builder.add_node("post_model_hook", post_model_hook)
        builder.add_edge("agent", "post_model_hook")
        after = "post_model_hook"
    if node.tools_by_name:
        builder.add_node("tools", node)
        returning = {one.name for one in node.tools_by_name.values() if one.return_direct}
        builder.add_conditional_edges(after, _Route(entry, ending).after_model, ["tools", entry, ending])
        if returning:
            builder.add_conditional_edges("tools", _Returning(returning, entry), [entry, END])
        else:
            builder.add_edge("tools", entry)
    else:
        builder.add_edge(after, ending)
    return builder.compile(
        checkpointer, cache=cache, store=store, interrupt_before=interrupt_before, interrupt_after=interrupt_after,
        debug=debug, name=name or "agent",
    )  # fmt: skip


def _tools(tools: Sequence[Any] | ToolNode, approve: Approve) -> tuple[ToolNode, list[Any]]:
    """Return the node that runs the tools, and what the model is told of, in the order given."""
    if isinstance(tools, ToolNode):
        return tools, list(tools.tools_by_name.values())
    node = ToolNode([one for one in tools if not isinstance(one, dict)], approve=approve)
    made = iter(node.tools_by_name.values())
    return node, [one if isinstance(one, dict) else next(made) for one in tools]  # pyright: ignore[reportUnknownVariableType] - a provider's own form


def _check_state(state: Any, response_format: Any) -> None:
    keys = schema_of(state).channels
    missing = {"messages", *(() if response_format is None else ("structured_response",))} - set(keys)
    if missing:
        raise ValueError(f"the state_schema of an agent needs the keys {sorted(missing)}")


def _get(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class _ModelCaller(Runnable[Any, Any]):
    """The node `agent`: one model call."""

    def __init__(
        self, model: Any, tools: list[Any], prompt: Prompt, max_model_calls: int | None, max_tool_calls: int | None
    ) -> None:
        if isinstance(model, str):
            from clew.chat_models import init_chat_model

            model = init_chat_model(model)
        self.name = "agent"
        self.is_dynamic = not isinstance(model, Runnable)
        self.wants_await = self.is_dynamic and inspect.iscoroutinefunction(model)
        self.plain = model
        self.model = model if self.is_dynamic else _bind(model, tools)
        self.prompt = prompt
        self.max_model_calls = max_model_calls
        self.max_tool_calls = max_tool_calls

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Ask the model. input: the agent's state."""
        state = input
        model: Any = self.model(state, get_runtime()) if self.is_dynamic else self.model
        return self._answer(state, model.invoke(self._asked(state, self._shaped(state))))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Ask the model. input: the agent's state."""
        state = input
        model: Any = self.model(state, get_runtime()) if self.is_dynamic else self.model
        if inspect.isawaitable(model):
            model = await model
        shaped = self._shaped(state)
        if inspect.isawaitable(shaped):
            shaped = await shaped
        return self._answer(state, await model.ainvoke(self._asked(state, shaped)))

    def _shaped(self, state: Any) -> Any:
        """Return what a prompt that is a function or Runnable makes of the state, or None."""
        prompt: Any = self.prompt
        if hasattr(prompt, "invoke"):
            return prompt.invoke(state)
        return prompt(state) if callable(prompt) else None

    def _asked(self, state: Any, shaped: Any) -> Any:
        messages = healed(_get(state, "llm_input_messages") or _get(state, "messages") or [])
        self._check_limits(messages)
        if shaped is not None:
            return shaped
        if self.prompt is None:
            return messages
        system = SystemMessage(self.prompt) if isinstance(self.prompt, str) else cast("SystemMessage", self.prompt)
        return [system, *messages]

    def _check_limits(self, messages: Sequence[Any]) -> None:
        if self.max_model_calls is None:
            return
        turn = _this_turn(messages)
        asked = sum(isinstance(one, AIMessage) for one in turn)
        if asked >= self.max_model_calls:
            raise BudgetExceededError(
                f"the agent made {asked} model calls in this turn, the limit is {self.max_model_calls}"
            )

    def _answer(self, state: Any, answer: Any) -> dict[str, Any]:
        if self.max_tool_calls is not None and isinstance(answer, AIMessage):
            called = sum(isinstance(one, ToolMessage) for one in _this_turn(_get(state, "messages") or []))
            if called + len(answer.tool_calls) > self.max_tool_calls:
                raise BudgetExceededError(
                    f"the model asks for {len(answer.tool_calls)} more tool calls after {called} in this turn; "
                    f"the limit is {self.max_tool_calls}"
                )
        return {"messages": [answer]}


def _bind(model: Any, tools: list[Any]) -> Any:
    """Return the model with the tools bound, unless it has tools bound already."""
    if not tools or "tools" in (getattr(model, "kwargs", None) or {}):
        return model
    return model.bind_tools(tools)


def _this_turn(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages since the last question."""
    for position in range(len(messages) - 1, -1, -1):
        if isinstance(messages[position], HumanMessage):
            return messages[position + 1 :]
    return messages


def healed(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the conversation with a made-up answer (status "error") for each tool call that never got one.

    A provider refuses a call without a result. Results stand right after their call. Cost: O(n).
    """
    whole: list[BaseMessage] = []
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage) and whole and _is_answered(message, whole):
            continue
        whole.append(message)
        calls = message.tool_calls if isinstance(message, AIMessage) else ()
        if calls:
            answers = _answers_after(messages, position)
            whole += [answers.get(call["id"] or "") or ToolMessage(
                content="The call was interrupted; it has no result.", tool_call_id=call["id"] or "", name=call["name"],
                status="error",
            ) for call in calls]  # fmt: skip
    return whole


def _answers_after(messages: Sequence[BaseMessage], position: int) -> dict[str, ToolMessage]:
    """Return the tool results between this AIMessage and the next, by the id of their call."""
    answers: dict[str, ToolMessage] = {}
    for message in messages[position + 1 :]:
        if isinstance(message, AIMessage):
            break
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, message)
    return answers


def _is_answered(result: ToolMessage, whole: list[BaseMessage]) -> bool:
    """Say whether a result has been put next to its call already."""
    for message in reversed(whole):
        if isinstance(message, AIMessage):
            return any(call["id"] == result.tool_call_id for call in message.tool_calls)
    return False


class _Route:
    """Where an agent goes after its model has spoken.

    entry: the node that asks the model again. ending: the way out.
    """

    def __init__(self, entry: str, ending: str) -> None:
        self.entry = entry
        self.ending = ending

    def after_model(self, state: Any) -> str:
        """Return "tools" while a call has no result, the model when a hook answered all, else the way out."""
        messages = _get(state, "messages")
        if open_calls(messages):
            return "tools"
        return self.entry if isinstance(messages[-1], ToolMessage) else self.ending


class _Returning:
    """Ends after a tool whose result is the answer."""

    __name__ = "after_tools"

    def __init__(self, names: set[str], entry: str) -> None:
        self.names = names
        self.entry = entry

    def __call__(self, state: Any) -> str:
        for message in reversed(_get(state, "messages")):
            if not isinstance(message, ToolMessage):
                break
            if message.name in self.names and message.status != "error":
                return END
        return self.entry


def _structured(caller: _ModelCaller, response_format: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the two faces of the node that gives the structured answer."""
    prompt, schema = response_format if isinstance(response_format, tuple) else (None, response_format)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(schema, type):
        _serde.register_from_annotations(schema)

    def asked(state: Any) -> list[Any]:
        messages: list[Any] = healed(_get(state, "messages"))
        return [SystemMessage(cast("str", prompt)), *messages] if prompt is not None else messages

    def model_for(state: Any) -> Any:
        model: Any = caller.plain(state, get_runtime()) if caller.is_dynamic else caller.plain
        while hasattr(model, "bound"):
            model = model.bound
        return model.with_structured_output(schema)

    def call(state: Any) -> dict[str, Any]:
        return {"structured_response": model_for(state).invoke(asked(state))}

    async def acall(state: Any) -> dict[str, Any]:
        return {"structured_response": await model_for(state).ainvoke(asked(state))}

    return call, acall
