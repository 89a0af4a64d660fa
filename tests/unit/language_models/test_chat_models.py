"""invoke and generate: the sequence, the ids, what is told to whom."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from models import Awaiting, Ears, Plain

from clew.language_models import BaseChatModel, SimpleChatModel
from clew.messages import AIMessage, HumanMessage
from clew.outputs import ChatGeneration, ChatResult
from clew.runnables import RunnableLambda

Call = Callable[..., Any]


def test_a_provider_may_hand_out_one_object_twice(call: Call) -> None:
    mine = AIMessage("same")
    model = Plain(reply=mine)
    first, second = call(model, "invoke", "x"), call(model, "invoke", "x")
    assert first.id and second.id and first.id != second.id
    assert mine.id is None and mine.response_metadata == {}


def test_ids_are_like_those_of_runs_and_never_repeat() -> None:
    model = Plain()
    ids = {model.invoke("x").id for _ in range(200)}
    assert len(ids) == 200
    assert all(len(id.removeprefix("lc_run--").removesuffix("-0")) == 36 for id in ids if id)
    run_id = uuid4()
    assert model.invoke("x", {"run_id": run_id}).id == f"lc_run--{run_id}-0"


def test_a_forked_child_makes_other_ids() -> None:
    import os

    from clew.language_models._turn import new_run_text

    new_run_text()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, new_run_text().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode()[:23] != new_run_text()[:23]
    os.close(read)
    os.close(write)


def test_no_generations_is_an_error_that_says_who() -> None:
    class Empty(Plain):
        def _answer(self, messages: Any, kwargs: Any) -> ChatResult:
            return ChatResult(generations=[])

    with pytest.raises(ValueError, match=r"Empty\._generate returned no generations"):
        Empty().invoke("x")
    with pytest.raises(ValueError, match=r"Empty\._generate returned no generations"):
        Empty().invoke("x", {"callbacks": [Ears()]})


def test_input_of_another_type_is_refused(call: Call) -> None:
    for wrong in (5, None, b"x"):
        with pytest.raises(ValueError, match="Invalid input type"):
            call(Plain(), "invoke", wrong)


def test_the_callers_list_is_not_the_providers() -> None:
    class Greedy(Plain):
        def _answer(self, messages: Any, kwargs: Any) -> ChatResult:
            messages.append(HumanMessage("mine"))
            return super()._answer(messages, kwargs)

    mine = [HumanMessage("x")]
    Greedy().invoke(mine)
    Greedy().invoke(mine, {"callbacks": [Ears()]})
    assert mine == [HumanMessage("x")]


def test_every_run_that_began_ends_once_when_one_of_several_fails(call: Call) -> None:
    def some(messages: Any) -> Any:
        return ValueError("no b") if messages[-1].content == "b" else "ok"

    ears = Ears()
    with pytest.raises(ValueError, match="no b"):
        call(Awaiting(reply=some), "generate", [[HumanMessage(text)] for text in "abc"], callbacks=[ears])
    started = [event[2]["run_id"] for event in ears.events if event[0] == "start"]
    ended = [event[2]["run_id"] for event in ears.events if event[0] in ("end", "error")]
    assert len(started) == 3 and sorted(map(str, started)) == sorted(map(str, ended))


def test_cancelled_calls_end_their_run_and_the_hook_may_ask() -> None:
    from clew.language_models import cancel_requested

    asked: list[bool] = []

    class Patient(Plain):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            import time

            for _ in range(200):
                if cancel_requested():
                    asked.append(True)
                    break
                time.sleep(0.005)
            return self._answer(messages, kwargs)

    ears = Ears()

    async def run() -> None:
        task = asyncio.create_task(Patient().ainvoke("x", {"callbacks": [ears]}))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(200):
            if "clew.abandoned" in ears.names():
                break
            await asyncio.sleep(0.005)

    asyncio.run(run())
    assert asked == [True]
    assert ears.names() == ["start", "error", "clew.abandoned"]


def test_case_034_a_late_answer_of_a_cancelled_call_is_reported_and_counted() -> None:
    from models import PAID

    from clew.callbacks import get_usage_metadata_callback

    async def run() -> Any:
        reply = AIMessage("late", usage_metadata=PAID, response_metadata={"model_name": "m"})
        with get_usage_metadata_callback() as usage:
            task = asyncio.create_task(Plain(reply=reply, delay=0.1).ainvoke("x"))
            await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for _ in range(200):
                if usage.usage_metadata:
                    break
                await asyncio.sleep(0.005)
            return usage.usage_metadata

    assert asyncio.run(run())["m"]["total_tokens"] == 7


def test_a_timeout_in_the_config_ends_the_wait(call: Call) -> None:
    with pytest.raises(TimeoutError):
        call(Awaiting(delay=2.0), "invoke", "x", {"timeout": 0.05})
    assert call(Awaiting(), "invoke", "x", {"timeout": 5}).content == "ok"


def test_overridden_steps_are_not_passed_over(call: Call) -> None:
    class Louder(Plain):
        def _convert_input(self, model_input: Any) -> Any:
            return super()._convert_input(model_input.upper())

    class Wrapped(Plain):
        def generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            result = super().generate(messages, *args, **kwargs)
            result.generations[0][0].message.content = "wrapped"
            return result

        async def agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return self.generate(messages, *args, **kwargs)

    loud = Louder()
    call(loud, "invoke", "x")
    assert loud.asked[0][0] == [HumanMessage("X")]
    assert call(Wrapped(), "invoke", "x").content == "wrapped"


def test_hooks_without_a_run_manager_or_keywords_work(call: Call) -> None:
    class Old(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "old"

        def _generate(self, messages: Any, stop: Any = None) -> ChatResult:  # type: ignore[override]
            return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{stop}"))])

    for config in (None, {"callbacks": [Ears()]}):
        assert call(Old(), "invoke", "x", config, stop=["s"]).content == "['s']"


def test_decorated_hooks_are_read_through() -> None:
    import functools

    def noisy(hook: Any) -> Any:
        @functools.wraps(hook)
        def call(*args: Any, **kwargs: Any) -> Any:
            return hook(*args, **kwargs)

        return call

    class Old(Plain):
        @noisy
        def _generate(self, messages: Any, stop: Any = None) -> ChatResult:  # type: ignore[override]
            return self._answer(messages, {})

    assert Old.clew_hooks.generate_managed is False and Plain.clew_hooks.generate_managed is True
    assert Old().invoke("x").content == "ok"


def test_the_start_event_tells_what_a_field_was_set_to_meanwhile() -> None:
    class Tuned(BaseChatModel):
        temperature: float = 0.1

        @property
        def _llm_type(self) -> str:
            return "tuned"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("x"))])

    ears, model = Ears(), Tuned()

    def told() -> Any:
        model.invoke("x", {"callbacks": [ears]})
        return ears.events[-2][2]["invocation_params"]["temperature"], ears.events[-2][2]["metadata"]["ls_temperature"]

    assert told() == (0.1, 0.1) == told()
    model.temperature = 0.9
    assert told() == (0.9, 0.9)
    model = model.model_copy(update={"temperature": 0.4})
    assert told() == (0.4, 0.4)


def test_what_is_kept_for_listeners_is_no_part_of_the_model() -> None:
    model, untouched = Plain(), Plain()
    model.invoke("x", {"callbacks": [Ears()]})
    assert model.model_dump() == untouched.model_dump()
    assert model.model_copy().invoke("x").content == "ok"
    assert copy.deepcopy(model).invoke("x").content == "ok"
    assert pickle.loads(pickle.dumps(model)).invoke("x").content == "ok"


def test_ambient_tags_and_metadata_reach_a_model_in_a_chain(call: Call) -> None:
    ears, model = Ears(), Awaiting()

    async def inner(x: Any) -> Any:
        return (await model.ainvoke(x)).content

    outer = RunnableLambda(lambda x: model.invoke(x).content, afunc=inner)
    config = {"callbacks": [ears], "tags": ["t"], "metadata": {"k": 1}, "configurable": {"user": "u"}}
    assert call(outer, "invoke", "x", config) == "ok"
    (start,) = [event for event in ears.events if event[0] == "start"]
    assert "t" in start[2]["tags"] and start[2]["metadata"]["k"] == 1 and start[2]["metadata"]["user"] == "u"


def test_simple_models_write_one_function(call: Call) -> None:
    class Echo(SimpleChatModel):
        @property
        def _llm_type(self) -> str:
            return "echo"

        def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
            return messages[-1].content

    assert call(Echo(), "invoke", "hi").content == "hi"


def test_case_044_an_answer_of_reasoning_only_is_flagged(call: Call) -> None:
    thought = [{"type": "reasoning", "reasoning": "hm"}]
    out = call(Plain(reply=AIMessage(thought)), "invoke", "x")
    assert out.text == "" and out.content == thought and out.response_metadata["no_final_text"] is True
    older = call(Plain(reply=AIMessage("", additional_kwargs={"reasoning_content": "hm"})), "invoke", "x")
    assert older.response_metadata["no_final_text"] is True
    for fine in ("text", [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes"}]):
        assert "no_final_text" not in call(Plain(reply=AIMessage(fine)), "invoke", "x").response_metadata
    with_call = AIMessage(thought, tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    assert "no_final_text" not in call(Plain(reply=with_call), "invoke", "x").response_metadata


def test_a_limiter_waits_as_long_as_the_provider_asks() -> None:
    from clew.errors import ModelRateLimitError
    from clew.rate_limiters import InMemoryRateLimiter

    limiter = InMemoryRateLimiter(requests_per_second=1000, max_bucket_size=10)
    model = Plain(rate_limiter=limiter, reply=ModelRateLimitError("slow down", retry_after=30))
    with pytest.raises(ModelRateLimitError):
        model.invoke("x")
    assert limiter.acquire(blocking=False) is False


def test_a_limiter_of_tokens_is_told_the_prompt_and_the_true_usage(call: Call) -> None:
    from models import PAID

    from clew.rate_limiters import BaseRateLimiter

    class Meter(BaseRateLimiter):
        limits_tokens = True

        def __init__(self) -> None:
            self.log: list[Any] = []

        def acquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
            self.log.append(tokens)
            return True

        async def aacquire(self, *, blocking: bool = True, tokens: float = 0) -> bool:
            return self.acquire(tokens=tokens)

        def charge(self, tokens: int) -> None:
            self.log.append(("charge", tokens))

    meter = Meter()
    model = Awaiting(rate_limiter=meter, reply=AIMessage("x", usage_metadata=PAID))
    call(model, "invoke", "hello there")
    counted = model.get_num_tokens_from_messages([HumanMessage("hello there")])
    assert meter.log == [counted, ("charge", 7 - counted)]


def test_models_may_have_fields_of_any_name() -> None:
    class Busy(Plain):
        hooks: list[str] = ["a"]
        run: int = 1
        stream_options: dict[str, int] = {"k": 1}

    model = Busy(hooks=["b"])
    assert model.invoke("x").content == "ok" and model.hooks == ["b"]
    assert model.invoke("x", {"callbacks": [Ears()]}).content == "ok"


def test_copies_of_a_model_share_its_cache_and_its_limit() -> None:
    from clew.caches import InMemoryCache
    from clew.rate_limiters import InMemoryRateLimiter

    model = Plain(cache=InMemoryCache(), rate_limiter=InMemoryRateLimiter(requests_per_second=1000))
    for other in (copy.deepcopy(model), model.model_copy(deep=True), model.model_copy()):
        assert other.cache is model.cache and other.rate_limiter is model.rate_limiter
        assert other.invoke("x").content == "ok"
    assert len(model.asked) <= 1
