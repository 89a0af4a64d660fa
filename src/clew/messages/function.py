"""The result of a function call, as it was before tools."""

from __future__ import annotations

from clew.messages.base import BaseMessage, BaseMessageChunk, known


@known("function")
class FunctionMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="function", tag_field="_"):
    """What a function returned. name: the function."""

    name: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - required here
    type: str = "function"


@known("FunctionMessageChunk")
class FunctionMessageChunk(
    BaseMessageChunk, FunctionMessage, kw_only=True, omit_defaults=True, tag="FunctionMessageChunk", tag_field="_"
):
    """A part of a streamed function message."""

    type: str = "FunctionMessageChunk"
