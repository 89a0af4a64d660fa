"""Arguments of a tool that the graph fills in and the model never sees: state, store, runtime."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from clew.runnables import RunnableConfig
from clew.runtime import Runtime
from clew.tools import BaseTool, DirectlyInjectedToolArg, InjectedToolArg


class InjectedState(InjectedToolArg):
    """Mark an argument as filled with the graph's state, or with one key of it.

    `state: Annotated[dict, InjectedState]`, `user: Annotated[str, InjectedState("user")]`.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(InjectedToolArg):
    """Mark an argument as filled with the graph's store: `store: Annotated[BaseStore, InjectedStore()]`."""


@dataclasses.dataclass(slots=True)
class ToolRuntime(DirectlyInjectedToolArg):
    """All that a tool may want to know about its run; annotate one argument with it.

    state: the graph's state as the tool call saw it. tool_call_id: the call this run answers.
    """

    state: Any
    config: RunnableConfig
    runtime: Runtime[Any]
    tool_call_id: str | None
    tools: list[BaseTool] = dataclasses.field(default_factory=list[BaseTool])

    @property
    def context(self) -> Any:
        """The read-only context of the run."""
        return self.runtime.context

    @property
    def store(self) -> Any:
        """The store given to the graph, or None."""
        return self.runtime.store

    @property
    def stream_writer(self) -> Any:
        """Write to the custom stream of the run."""
        return self.runtime.stream_writer


Injections = dict[str, Any]
"""Argument name -> its marker (an InjectedState, InjectedStore or the class ToolRuntime)."""


def injections_of(tool: BaseTool) -> Injections:
    """Return which arguments of a tool are filled in by the graph."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run  # pyright: ignore[reportPrivateUsage]
    hints: dict[str, Any] = {}
    for source in (function, tool.args_schema):
        if inspect.isroutine(source) or isinstance(source, type):
            try:
                hints = get_type_hints(source, include_extras=True) | hints
            except NameError:  # an annotation of the user's that is only there for type checkers
                continue
    return {name: marker for name, hint in hints.items() if (marker := _marker(hint)) is not None}


def _marker(hint: Any) -> Any:
    if hint is ToolRuntime or get_origin(hint) is ToolRuntime:
        return ToolRuntime
    if get_origin(hint) is Annotated:
        for extra in get_args(hint)[1:]:
            kind = extra if isinstance(extra, type) else type(extra)
            if issubclass(kind, (InjectedState, InjectedStore)):
                return extra() if isinstance(extra, type) else extra
    return None


def fill(injections: Injections, runtime: ToolRuntime) -> dict[str, Any]:
    """Return the injected arguments of one call.

    Raises: ValueError when the state lacks a wanted key, or there is no store.
    """
    return {name: _value(name, marker, runtime) for name, marker in injections.items()}


def _value(name: str, marker: Any, runtime: ToolRuntime) -> Any:
    if marker is ToolRuntime:
        return runtime
    if isinstance(marker, InjectedStore):
        if runtime.store is None:
            raise ValueError(f"the argument {name!r} wants a store: compile the graph with store=...")
        return runtime.store
    if marker.field is None:
        return runtime.state
    state = runtime.state
    if isinstance(state, dict):
        if marker.field not in state:
            raise ValueError(f"the argument {name!r} wants the key {marker.field!r}, which the state does not hold")
        return state[marker.field]  # pyright: ignore[reportUnknownVariableType]
    return getattr(state, marker.field)
