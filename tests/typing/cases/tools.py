"""What a type checker knows about tools, prompts and parsers."""

from __future__ import annotations

from typing import Any, assert_type

from clew.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages, trim_messages
from clew.output_parsers import StrOutputParser
from clew.outputs import ChatGeneration, ChatGenerationChunk
from clew.prompt_values import PromptValue
from clew.prompts import ChatPromptTemplate, PromptTemplate
from clew.tools import BaseTool, tool


@tool
def search(query: str) -> str:
    """Search."""
    return query


assert_type(search, BaseTool)
assert_type(search.name, str)
assert_type(convert_to_messages(["hi"]), list[BaseMessage])
assert_type(trim_messages(["hi"], max_tokens=5, token_counter=len), list[BaseMessage])
assert_type(AIMessage("x").text, str)
assert_type(ToolMessage("x", tool_call_id="1").tool_call_id, str)
assert_type(ChatPromptTemplate.from_messages([("user", "{q}")]).invoke({"q": "x"}), PromptValue)
assert_type(PromptTemplate.from_template("{q}").format(q="x"), str)
assert_type(StrOutputParser().parse("x"), str)
assert_type(ChatGeneration(message=AIMessage("x")).text, str)


def add(a: ChatGenerationChunk, b: ChatGenerationChunk) -> Any:
    """Chunks add up to a chunk."""
    assert_type(a + b, ChatGenerationChunk)
    return a + b
