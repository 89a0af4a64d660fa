"""Inputs in any form, messages as tracers see them, tools in any form."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from models import Ears, Plain
from pydantic import BaseModel

from clew.language_models import ScriptedChatModel
from clew.language_models._input import for_tracing, messages_of, prompt_of
from clew.messages import AIMessage, HumanMessage, SystemMessage
from clew.prompt_values import ChatPromptValue, StringPromptValue
from clew.tools import tool

Call = Callable[..., Any]


@pytest.mark.parametrize(
    "value",
    [
        "hi",
        StringPromptValue(text="hi"),
        ChatPromptValue(messages=[HumanMessage("hi")]),
        [HumanMessage("hi")],
        (HumanMessage("hi"),),
        [("human", "hi")],
        [{"role": "user", "content": "hi"}],
        ["hi"],
    ],
)
def test_every_form_of_input_is_a_new_list_of_messages(value: Any) -> None:
    messages = messages_of(value)
    assert messages == [HumanMessage("hi")] and messages is not value
    assert prompt_of(value).to_messages() == messages


@pytest.mark.parametrize("wrong", [5, None, b"bytes", {"role": "user"}, object()])
def test_other_types_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="Invalid input type"):
        messages_of(wrong)


def test_own_kinds_of_message_are_let_through() -> None:
    class Note(HumanMessage):
        """A message of the caller's own."""

    mine = [Note("x"), SystemMessage("y")]
    assert messages_of(mine) == mine


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (
            {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "AAAA"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ),
        (
            {"type": "image", "url": "https://x/y.png"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        ),
        ({"text": "bare"}, {"text": "bare", "type": "text"}),
        ({"type": "text", "text": "t"}, {"type": "text", "text": "t"}),
        ({"type": "image"}, {"type": "image"}),
        ("plain", "plain"),
    ],
)
def test_tracers_see_media_in_one_form_and_the_original_stays(block: Any, shown: Any) -> None:
    message = HumanMessage([copy.deepcopy(block)])
    (traced,) = for_tracing([message])
    assert traced.content == [shown] and message.content == [block]
    if block == shown:
        assert traced is message, "nothing to change, nothing copied"


def test_text_is_not_looked_at() -> None:
    messages = [HumanMessage("a"), AIMessage("b")]
    assert all(one is two for one, two in zip(for_tracing(messages), messages, strict=True))


class Point(BaseModel):
    """A point."""

    x: int


@tool
def search(query: str) -> str:
    """Search."""
    return query


def plain(query: str) -> str:
    """Look up."""
    return query


RAW = {"type": "web_search_2025", "max_uses": 3}


def test_tools_of_every_kind_are_bound(call: Call) -> None:
    model = ScriptedChatModel()
    call(model.bind_tools([RAW, Point, search, plain], tool_choice="any", parallel_tool_calls=False), "invoke", "x")
    sent = model.calls[0].kwargs
    assert sent["tools"][0] is RAW
    assert [each["function"]["name"] for each in sent["tools"][1:]] == ["Point", "search", "plain"]
    assert sent["tool_choice"] == "any" and sent["parallel_tool_calls"] is False
    call(model, "invoke", "x")
    assert model.calls[1].kwargs == {}


@pytest.mark.parametrize("wrong", [5, "search", None, 1.5])
def test_what_is_no_tool_is_refused(wrong: Any) -> None:
    for model in (ScriptedChatModel(), Plain()):
        with pytest.raises(ValueError, match="Unsupported tool type"):
            model.bind_tools([wrong])


def test_strict_reaches_the_schemas() -> None:
    model = ScriptedChatModel()
    model.bind_tools([Point], strict=True).invoke("x")
    (sent,) = model.calls[0].kwargs["tools"]
    assert sent["function"]["strict"] is True and sent["function"]["parameters"]["additionalProperties"] is False


def test_a_provider_shapes_its_own_keywords() -> None:
    class Other(ScriptedChatModel):
        def _bind_tools_kwargs(self, tools: Any, tool_choice: Any = None) -> Any:
            return {"functions": [each["function"]["name"] for each in tools], "pick": tool_choice}

    model = Other()
    model.bind_tools([plain], tool_choice="auto", extra=1).invoke("x", {"callbacks": [Ears()]})
    assert model.calls[0].kwargs == {"functions": ["plain"], "pick": "auto", "extra": 1}
