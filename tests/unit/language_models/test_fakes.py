"""Models that stand in for real ones: lists, parrots, scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from clew.language_models import (
    FakeChatModel,
    FakeListChatModel,
    FakeListChatModelError,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
    ParrotFakeChatModel,
    ScriptedChatModel,
)
from clew.messages import AIMessage, AIMessageChunk, HumanMessage

Call = Callable[..., Any]


def test_lists_begin_again(call: Call) -> None:
    model = FakeListChatModel(responses=["a", "b"])
    assert [call(model, "invoke", "x").content for _ in range(3)] == ["a", "b", "a"]
    messages = FakeMessagesListChatModel(responses=[AIMessage("a"), AIMessage("b", id="mine")])
    assert [call(messages, "invoke", "x").content for _ in range(3)] == ["a", "b", "a"]
    assert messages.responses[0].id is None
    assert call(FakeChatModel(), "invoke", "x").content == "fake response"


def test_lists_stream_by_character_and_break_where_they_are_told() -> None:
    assert [chunk.content for chunk in FakeListChatModel(responses=["abc"]).stream("x")] == ["a", "b", "c"]
    got: list[str] = []
    with pytest.raises(FakeListChatModelError):
        got.extend(chunk.text for chunk in FakeListChatModel(responses=["abc"], error_on_chunk_number=2).stream("x"))
    assert got == ["a", "b"]


def test_the_generic_fake_cuts_messages_into_words_and_calls() -> None:
    call_: Any = {"name": "f", "args": {"a": 1}, "id": "c"}
    whole = AIMessage("two words", tool_calls=[call_], response_metadata={"m": 1}, id="msg")
    model = GenericFakeChatModel(messages=iter([whole, "text", AIMessage("")]))
    chunks = list(model.stream("x"))
    assert [chunk.content for chunk in chunks if chunk.content] == ["two", " ", "words"]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert total.tool_calls[0]["args"] == {"a": 1} and total.response_metadata == {"m": 1} and total.id == "msg"
    assert model.invoke("x").content == "text" and model.invoke("x").content == ""
    with pytest.raises(RuntimeError, match="no answers left"):
        model.invoke("x")


def test_a_parrot_repeats(call: Call) -> None:
    assert call(ParrotFakeChatModel(), "invoke", [HumanMessage("a"), HumanMessage("b")]).content == "b"
    with pytest.raises(ValueError, match="no message"):
        ParrotFakeChatModel().invoke([])


def test_a_script_plays_texts_messages_chunks_faults_and_functions(call: Call) -> None:
    steps: list[Any] = [
        "text",
        AIMessage("message", response_metadata={"k": 1}),
        ["stream", "ed", 0.0, AIMessageChunk("!")],
        RuntimeError("fault"),
        lambda messages: messages[-1].content.upper(),
    ]
    model = ScriptedChatModel(script=steps)
    assert call(model, "invoke", "q").content == "text"
    assert call(model, "invoke", "q").response_metadata == {"k": 1}
    assert call(model, "invoke", "q").content == "streamed!"
    with pytest.raises(RuntimeError, match="fault"):
        call(model, "invoke", "q")
    assert call(model, "invoke", "q").content == "Q"
    assert call(model, "invoke", "again").content == "AGAIN", "the last step repeats"
    assert len(model.calls) == 6 and model.calls[0].messages == [HumanMessage("q")]


def test_what_follows_a_script_can_be_chosen() -> None:
    again = ScriptedChatModel(script=["a", "b"], after="again")
    assert [again.invoke("x").content for _ in range(3)] == ["a", "b", "a"]
    over = ScriptedChatModel(script=["a"], after="raise")
    over.invoke("x")
    with pytest.raises(RuntimeError, match="1 steps, and this is call 2"):
        over.invoke("x")


def test_a_script_streams_what_it_would_answer() -> None:
    async def read(model: Any) -> str:
        return "".join([chunk.text async for chunk in model.astream("q")])

    for step in ("two words", AIMessage("two words"), ["two", " words"]):
        assert "".join(chunk.text for chunk in ScriptedChatModel(script=[step]).stream("q")) == "two words"
        assert asyncio.run(read(ScriptedChatModel(script=[step]))) == "two words"


def test_a_scripted_model_asks_the_person_in_the_middle_of_a_workflow() -> None:
    from clew.checkpoint.memory import InMemorySaver
    from clew.func import entrypoint
    from clew.types import Command, interrupt

    model = ScriptedChatModel(script=[lambda messages: f"you said {interrupt('which one?')}"])

    @entrypoint(checkpointer=InMemorySaver())
    def flow(question: str) -> str:
        return model.invoke(question).text

    config: Any = {"configurable": {"thread_id": "1"}}
    waiting = flow.invoke("q", config)
    assert waiting["__interrupt__"][0].value == "which one?"
    assert flow.invoke(Command(resume="this"), config) == "you said this"


def test_signals_pass_through_models() -> None:
    from clew.errors import GraphInterrupt

    model = ScriptedChatModel(script=[GraphInterrupt(("q",))])
    with pytest.raises(GraphInterrupt):
        model.invoke("x")
    with pytest.raises(GraphInterrupt):
        model.with_retry(stop_after_attempt=3).invoke("x")
    assert len(model.calls) == 2


def test_a_misspelt_script_is_refused() -> None:
    with pytest.raises(ValueError, match="responses"):
        ScriptedChatModel(responses=["a"])  # type: ignore[call-arg]
