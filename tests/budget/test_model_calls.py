"""What stands between a caller and a provider's hook: frames and calls, counted."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from typing import Any

from clew.callbacks import BaseCallbackHandler
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, AIMessageChunk, HumanMessage
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

frames: list[int] = []


class Seen(BaseChatModel):
    """Counts the frames of clew between the test and its hooks."""

    @property
    def _llm_type(self) -> str:
        return "seen"

    def _result(self) -> ChatResult:
        found = [frame for frame in inspect.stack() if "/clew/" in frame.filename]
        frames.append(len(found))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self._result()

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self._result()


class Quick(BaseChatModel):
    """Answers at once."""

    n_chunks: int = 0

    @property
    def _llm_type(self) -> str:
        return "quick"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for _ in range(self.n_chunks):
            yield ChatGenerationChunk(message=AIMessageChunk("tok "))


def calls_in(function: Callable[[], Any]) -> int:
    """How many Python functions a function calls (generators count at each step)."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    function()  # imports and caches
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1


def test_a_quiet_call_has_at_most_three_frames_before_the_hook() -> None:
    model = Seen()
    frames.clear()
    model.invoke("x")
    model.invoke([HumanMessage("x")], {"tags": ["t"], "metadata": {"k": 1}}, stop=["y"])
    asyncio.run(model.ainvoke("x"))
    assert max(frames) <= 3


def test_the_calls_around_a_quiet_call_are_few_and_do_not_grow_with_the_history() -> None:
    model = Quick()
    one, many = [HumanMessage("x")], [HumanMessage("x")] * 500
    assert calls_in(lambda: model.invoke(one)) <= 20
    assert calls_in(lambda: model.invoke(many)) == calls_in(lambda: model.invoke(one))


def test_a_listener_costs_a_bounded_number_of_calls() -> None:
    class Ear(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None: ...

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None: ...

    model, ear = Quick(), Ear()
    assert calls_in(lambda: model.invoke("x", {"callbacks": [ear]})) <= 90


def test_a_chunk_of_a_quiet_stream_costs_the_steps_of_its_generators() -> None:
    few, many = Quick(n_chunks=10), Quick(n_chunks=110)
    cost = calls_in(lambda: list(many.stream("x"))) - calls_in(lambda: list(few.stream("x")))
    made = calls_in(lambda: list(many._stream([]))) - calls_in(lambda: list(few._stream([])))
    assert (cost - made) / 100 <= 3


def test_a_hit_costs_the_same_number_of_calls_for_a_long_history() -> None:
    from clew.caches import InMemoryCache

    model = Quick(cache=InMemoryCache())
    one, many = [HumanMessage("x")], [HumanMessage("x")] * 500
    assert calls_in(lambda: model.invoke(many)) <= calls_in(lambda: model.invoke(one)) + 2
