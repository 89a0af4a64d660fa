"""Arguments that the program gives to a tool and the model never sees."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

from clew.utils._signature import DirectlyInjectedToolArg, InjectedToolArg, is_config, is_injected

__all__ = ["DirectlyInjectedToolArg", "InjectedToolArg", "InjectedToolCallId", "is_config", "is_injected"]


class InjectedToolCallId(InjectedToolArg):
    """Marks the argument that gets the id of the tool call: `Annotated[str, InjectedToolCallId]`."""


def wants_call_id(hint: Any) -> bool:
    """Whether an annotation is marked with InjectedToolCallId."""
    if get_origin(hint) is not Annotated:
        return False
    return any(
        isinstance(mark, InjectedToolCallId) or (isinstance(mark, type) and issubclass(mark, InjectedToolCallId))
        for mark in get_args(hint)[1:]
    )
