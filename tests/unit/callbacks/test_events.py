"""Events of one's own, and the stream of all events."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clew.callbacks import BaseCallbackHandler, adispatch_custom_event, dispatch_custom_event
from clew.errors import OutsideWorkflowError
from clew.language_models import GenericFakeChatModel
from clew.messages import AIMessage
from clew.output_parsers import StrOutputParser
from clew.prompts import ChatPromptTemplate
from clew.runnables import RunnableGenerator, RunnableLambda, RunnableParallel


class Custom(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.runs: list[Any] = []

    def on_chain_start(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
        self.runs.append(run_id)

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.heard.append((name, data, run_id))


def test_an_event_belongs_to_the_run_that_dispatched_it(call):
    def work(x: int) -> int:
        dispatch_custom_event("half", {"x": x})
        return x

    async def awork(x: int) -> int:
        await adispatch_custom_event("half", {"x": x})
        return x

    handler = Custom()
    call(RunnableLambda(work, awork), "invoke", 1, {"callbacks": [handler]})
    assert handler.heard == [("half", {"x": 1}, handler.runs[0])]
    assert call(RunnableLambda(work, awork), "invoke", 1, {"tags": ["nobody hears"]}) == 1


def test_an_event_outside_of_a_run_is_an_error():
    with pytest.raises(OutsideWorkflowError, match="run around it"):
        dispatch_custom_event("x", 1)
    with pytest.raises(RuntimeError):
        dispatch_custom_event("x", 1, config={"callbacks": [Custom()]})


def events(runnable: Any, given: Any, **kwargs: Any) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        return [event async for event in runnable.astream_events(given, **kwargs)]

    return asyncio.run(run())


def chat(text: str = "hello world") -> Any:
    return GenericFakeChatModel(messages=iter([AIMessage(text)]))


def test_the_events_of_a_streamed_chain():
    steps = ChatPromptTemplate.from_template("{q}") | chat() | StrOutputParser()
    heard = events(steps, {"q": "hi"}, version="v2", config={"tags": ["t"], "metadata": {"m": 1}})
    kinds = [event["event"] for event in heard]
    assert kinds[0] == "on_chain_start" and kinds[-1] == "on_chain_end"
    for kind in (
        "on_prompt_start",
        "on_prompt_end",
        "on_chat_model_start",
        "on_chat_model_end",
        "on_parser_start",
        "on_parser_end",
    ):
        assert kinds.count(kind) == 1, kind
    tokens = [e["data"]["chunk"].content for e in heard if e["event"] == "on_chat_model_stream"]
    assert "".join(tokens) == "hello world" and len(tokens) >= 3
    assert "".join(e["data"]["chunk"] for e in heard if e["event"] == "on_chain_stream") == "hello world"
    root = heard[0]["run_id"]
    assert heard[0]["parent_ids"] == [] and all(e["parent_ids"] == [root] for e in heard if e["run_id"] != root)
    assert all("t" in e["tags"] and e["metadata"]["m"] == 1 for e in heard)
    (end,) = [e for e in heard if e["event"] == "on_chat_model_end"]
    assert end["data"]["output"].content == "hello world" and "messages" in end["data"]["input"]
    assert heard[-1]["data"]["output"] == "hello world"


def test_a_model_that_is_invoked_streams_for_the_events():
    async def ask(x: str) -> str:
        return (await chat().ainvoke(x)).content

    heard = events(RunnableLambda(ask), "hi")
    assert sum(e["event"] == "on_chat_model_stream" for e in heard) >= 3


def test_events_of_parallel_steps_of_functions_in_threads_and_of_ones_own():
    def work(x: int) -> int:
        dispatch_custom_event("mine", x)
        return x + 1

    heard = events(RunnableParallel(a=work, b=work), 1)
    assert [e["data"] for e in heard if e["event"] == "on_custom_event"] == [1, 1]
    assert heard[-1]["data"]["output"] == {"a": 2, "b": 2}


def test_filters():
    steps = RunnableLambda(lambda x: x).with_config(run_name="first", tags=["keep"]) | RunnableLambda(
        lambda x: x
    ).with_config(run_name="second")
    assert {e["name"] for e in events(steps, 1, include_names=["second"])} == {"second"}
    assert {e["name"] for e in events(steps, 1, include_tags=["keep"])} == {"first"}
    assert "first" not in {e["name"] for e in events(steps, 1, exclude_names=["first"])}
    assert events(steps, 1, include_types=["tool"]) == []
    assert {e["name"] for e in events(steps, 1, exclude_tags=["keep"])} == {"second", "RunnableSequence"}


def test_an_error_ends_the_events_and_is_raised():
    heard: list[str] = []

    async def run() -> None:
        async for event in RunnableLambda(lambda x: 1 / 0).astream_events(1):
            heard.append(event["event"])  # noqa: PERF401 - what came before the error must be kept

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert heard == ["on_chain_start", "on_chain_error"]
    with pytest.raises(NotImplementedError, match="v9"):
        events(RunnableLambda(lambda x: x), 1, version="v9")


def test_closing_the_events_ends_the_call():
    closed: list[bool] = []

    async def forever(pieces):
        try:
            while True:
                yield 1
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def run() -> None:
        stream = RunnableGenerator(forever).astream_events(1)
        for _ in range(5):
            await anext(stream)
        await stream.aclose()
        assert closed == [True] and len(asyncio.all_tasks()) == 1

    asyncio.run(run())
