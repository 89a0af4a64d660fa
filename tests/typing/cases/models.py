"""What the type checkers know of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

from pydantic import BaseModel

from clew.chat_models import ConfigurableModel, init_chat_model
from clew.language_models import BaseChatModel, FakeListChatModel, FakeListLLM
from clew.messages import AIMessage, AIMessageChunk


class Joke(BaseModel):
    """A joke."""

    setup: str


def chat(model: BaseChatModel) -> None:
    """One message in, one out."""
    assert_type(model.invoke("x"), AIMessage)
    assert_type(model.stream("x"), Iterator[AIMessageChunk])
    assert_type(model.batch(["x"]), list[AIMessage])


async def awaited(model: BaseChatModel) -> None:
    """The same, awaited."""
    assert_type(await model.ainvoke("x"), AIMessage)
    async for chunk in model.astream("x"):
        assert_type(chunk, AIMessageChunk)


def objects(model: BaseChatModel) -> None:
    """Structured output has the type of its schema."""
    assert_type(model.with_structured_output(Joke).invoke("x"), Joke)
    assert_type(model.with_structured_output({"title": "t"}).invoke("x"), dict[str, Any])
    assert_type(model.with_structured_output(Joke, include_raw=True).invoke("x"), dict[str, Any])


def texts() -> None:
    """Text models give text."""
    assert_type(FakeListLLM(responses=["a"]).invoke("x"), str)
    assert_type(FakeListChatModel(responses=["a"]).invoke("x"), AIMessage)


def named() -> None:
    """A fixed model is a chat model, one that is chosen per call is not."""
    assert_type(init_chat_model("openai:gpt-4o"), BaseChatModel)
    assert_type(init_chat_model("openai:gpt-4o", configurable_fields="any"), ConfigurableModel)
    assert_type(init_chat_model(), ConfigurableModel)
