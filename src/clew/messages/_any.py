"""The union of all message classes, for annotations."""

from __future__ import annotations

from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.chat import ChatMessage, ChatMessageChunk
from clew.messages.function import FunctionMessage, FunctionMessageChunk
from clew.messages.human import HumanMessage, HumanMessageChunk
from clew.messages.system import SystemMessage, SystemMessageChunk
from clew.messages.tool import ToolMessage, ToolMessageChunk

AnyMessage = (
    AIMessage
    | HumanMessage
    | ChatMessage
    | SystemMessage
    | FunctionMessage
    | ToolMessage
    | AIMessageChunk
    | HumanMessageChunk
    | ChatMessageChunk
    | SystemMessageChunk
    | FunctionMessageChunk
    | ToolMessageChunk
)
