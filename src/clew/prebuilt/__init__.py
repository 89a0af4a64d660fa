"""Agents: a model that calls tools in a loop, on the durable runtime."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.prebuilt._injected import InjectedState, InjectedStore, ToolRuntime
    from clew.prebuilt._react import create_react_agent
    from clew.prebuilt.tool_node import ToolNode, tools_condition

__all__ = ["InjectedState", "InjectedStore", "ToolNode", "ToolRuntime", "create_react_agent", "tools_condition"]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "InjectedState": "._injected",
        "InjectedStore": "._injected",
        "ToolRuntime": "._injected",
        "ToolNode": ".tool_node",
        "tools_condition": ".tool_node",
        "create_react_agent": "._react",
    },
)
