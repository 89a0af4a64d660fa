"""What is asked of a cache, and what a hit is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from models import PAID, Awaiting, Ears, Flowing, Plain
from pydantic import BaseModel

from clew.caches import BaseCache, InMemoryCache
from clew.callbacks import get_usage_metadata_callback
from clew.globals import set_llm_cache
from clew.language_models import FakeListLLM, ScriptedChatModel
from clew.language_models._caching import prompt_key
from clew.language_models._params import canonical, params_text
from clew.load import dumps
from clew.messages import AIMessage, HumanMessage

Call = Callable[..., Any]


class Open(BaseCache):
    """A cache as users write one: keeps what it is given."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}

    def lookup(self, prompt: str, llm_string: str) -> Any:
        return self.rows.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        self.rows[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        self.rows.clear()


KINDS = pytest.mark.parametrize("cache", [InMemoryCache, Open])


@KINDS
def test_case_011_tools_choice_format_and_stop_are_part_of_the_key(cache: Any, call: Call) -> None:
    def a(q: str) -> str:
        """A."""
        return q

    def b(q: str) -> str:
        """B."""
        return q

    model = Awaiting(cache=cache())
    bound: list[Any] = [
        model,
        model.bind_tools([a]),
        model.bind_tools([b]),
        model.bind_tools([a], tool_choice="any"),
        model.bind(response_format={"type": "json_object"}),
        model.bind(stop=["x"]),
        model.bind(temperature=0.3),
    ]
    for _ in range(2):
        for each in bound:
            call(each, "invoke", "x")
    assert len(model.asked) == len(bound)


def test_two_schemas_of_one_name_are_two_keys() -> None:
    def make(kind: Any) -> Any:
        class Answer(BaseModel):
            value: kind

        return Answer

    assert params_text({"format": make(int)}) != params_text({"format": make(str)})
    assert params_text({"format": make(int)}) == params_text({"format": make(int)})


def test_objects_that_only_have_an_address_never_match() -> None:
    thing = object()
    assert params_text({"x": thing}) != params_text({"x": thing})
    assert canonical({"a": (1, [None, "b"]), "s": {2, 1}}) == {"a": (1, [None, "b"]), "s": ["1", "2"]}


@KINDS
def test_ids_and_usage_of_the_conversation_are_no_part_of_the_key(cache: Any) -> None:
    kept = cache()

    def key(**fields: Any) -> str:
        return prompt_key(kept, [HumanMessage("q", id=fields.get("id")), AIMessage("a", **fields)])

    free: Any = {**PAID, "total_cost": 0}
    assert key() == key(id="lc_run--1-0") == key(id="2", usage_metadata=PAID) == key(usage_metadata=free)
    assert key() != key(tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    assert key() != key(additional_kwargs={"k": 1})


def test_users_caches_get_the_documented_prompt() -> None:
    messages = [HumanMessage("什么?"), AIMessage("x")]
    assert prompt_key(Open(), messages) == dumps(messages)

    class Loud(InMemoryCache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return super().lookup(prompt, llm_string)

    assert prompt_key(Loud(), messages) == dumps(messages)


@KINDS
def test_a_message_that_holds_an_object_with_an_address_never_matches(cache: Any) -> None:
    kept = cache()

    class Thing:
        """Shows its address only."""

    odd = HumanMessage("x", additional_kwargs={"k": Thing()})
    assert prompt_key(kept, [odd]) != prompt_key(kept, [odd])
    typed = HumanMessage("x", additional_kwargs={"k": {1, 2}})
    if cache is InMemoryCache:
        assert prompt_key(kept, [typed]) == prompt_key(kept, [typed])


@KINDS
def test_case_013_edits_of_the_caller_do_not_change_the_cache(cache: Any, call: Call) -> None:
    model = Awaiting(cache=cache(), reply=AIMessage([{"type": "text", "text": "good"}], response_metadata={"k": [1]}))
    for _ in range(3):
        out = call(model, "invoke", "x")
        assert out.content == [{"type": "text", "text": "good"}] and out.response_metadata["k"] == [1]
        out.content[0]["text"] = "poison"
        out.response_metadata["k"].append(2)
        out.content = "poison"
    assert len(model.asked) == 1


def test_case_014_hits_are_free_and_counted_apart(call: Call) -> None:
    reply = AIMessage("x", usage_metadata=PAID, response_metadata={"model_name": "m"})
    model = Awaiting(cache=InMemoryCache(), reply=reply)
    with get_usage_metadata_callback() as usage:
        first, second = call(model, "invoke", "x"), call(model, "invoke", "x")
    assert "total_cost" not in first.usage_metadata and second.usage_metadata["total_cost"] == 0
    assert usage.usage_metadata["m"]["total_tokens"] == 7
    assert usage.cache_hits == 1 and usage.cached_metadata["m"]["total_tokens"] == 7


def test_a_hit_has_an_id_of_its_own_run(call: Call) -> None:
    model = Awaiting(cache=InMemoryCache())
    ids = [call(model, "invoke", "x").id for _ in range(3)]
    assert len(set(ids)) == 3
    named = Awaiting(cache=InMemoryCache(), reply=AIMessage("x", id="msg_7"))
    assert [call(named, "invoke", "x").id for _ in range(2)] == ["msg_7", "msg_7"]


def test_case_016_equal_requests_at_the_same_time_are_one_call() -> None:
    model = Plain(cache=InMemoryCache(), delay=0.1)
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(model.invoke("x").text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == ["ok"] * 8 and len(model.asked) == 1

    awaited = Awaiting(cache=InMemoryCache(), delay=0.05)

    async def many() -> list[Any]:
        return await asyncio.gather(*[awaited.ainvoke("x") for _ in range(50)])

    answers = asyncio.run(many())
    assert len(awaited.asked) == 1
    assert len({id(answer) for answer in answers}) == 50, "everybody has an answer of his own"


def test_case_016_a_failure_is_shared_with_those_who_wait_and_with_nobody_else() -> None:
    replies = [RuntimeError("down"), "up"]
    model = Awaiting(cache=InMemoryCache(), delay=0.05, reply=lambda messages: replies.pop(0))

    async def many() -> list[Any]:
        return await asyncio.gather(*[model.ainvoke("x") for _ in range(5)], return_exceptions=True)

    assert all(isinstance(each, RuntimeError) for each in asyncio.run(many()))
    assert len(model.asked) == 1
    assert model.invoke("x").text == "up"


def test_case_016_a_cancelled_leader_hands_over() -> None:
    model = Awaiting(cache=InMemoryCache(), delay=0.05)

    async def run() -> Any:
        leader = asyncio.create_task(model.ainvoke("x"))
        await asyncio.sleep(0.01)
        follower = asyncio.create_task(model.ainvoke("x"))
        await asyncio.sleep(0.01)
        leader.cancel()
        return await follower

    assert asyncio.run(run()).text == "ok"


def test_a_blocking_call_on_the_loops_own_thread_does_not_wait_for_the_loop() -> None:
    model = Awaiting(cache=InMemoryCache(), delay=0.05)

    async def run() -> Any:
        leader = asyncio.create_task(model.ainvoke("x"))
        await asyncio.sleep(0.01)
        blocking = model.invoke("x")  # would wait for ever for `leader`, which needs this thread
        return blocking, await leader

    one, two = asyncio.run(run())
    assert one.text == two.text == "ok"


def test_case_017_rows_of_another_form_are_misses_and_replaced(call: Call) -> None:
    for row in ([{"old": 1}], [object()], [None], ["text"], [], "text", ()):
        cache = Open()
        model = Awaiting(cache=cache)
        call(model, "invoke", "x")
        cache.rows = dict.fromkeys(cache.rows, row)
        assert call(model, "invoke", "x").text == "ok" and call(model, "invoke", "x").text == "ok"
        assert len(model.asked) == 2


def test_filtered_answers_and_errors_are_not_kept(call: Call) -> None:
    cache = Open()
    filtered = AIMessage("", response_metadata={"finish_reason": "content_filter"})
    call(Awaiting(cache=cache, reply=filtered), "invoke", "x")
    with pytest.raises(RuntimeError):
        call(Awaiting(cache=cache, reply=RuntimeError("x")), "invoke", "x")
    assert cache.rows == {}


def test_streams_read_and_fill_the_cache_only_when_whole() -> None:
    broken = Flowing(cache=Open(), pieces=["a", RuntimeError("cut")])
    with pytest.raises(RuntimeError):
        list(broken.stream("x"))
    left = Flowing(cache=Open())
    stream = left.stream("x")
    next(stream)
    stream.close()
    assert broken.cache.rows == left.cache.rows == {}  # type: ignore[union-attr]

    ears, model = Ears(), Flowing(cache=InMemoryCache())
    assert "".join(chunk.text for chunk in model.stream("x")) == "abc"
    again = list(model.stream("x", {"callbacks": [ears]}))
    assert "".join(chunk.text for chunk in again) == "abc" and len(model.asked) == 1
    assert ears.names() == ["start", "token", "end"]
    assert model.invoke("x").text == "abc" and len(model.asked) == 1

    async def read() -> str:
        return "".join([chunk.text async for chunk in model.astream("x")])

    assert asyncio.run(read()) == "abc" and len(model.asked) == 1


def test_cache_true_needs_a_global_one() -> None:
    with pytest.raises(ValueError, match="set_llm_cache"):
        Plain(cache=True).invoke("x")
    with pytest.raises(ValueError, match="set_llm_cache"):
        list(Flowing(cache=True).stream("x"))
    set_llm_cache(InMemoryCache())
    model = Plain(cache=True)
    assert [model.invoke("x").text for _ in range(2)] == ["ok", "ok"] and len(model.asked) == 1


def test_texts_look_up_each_prompt_and_ask_for_the_rest(call: Call) -> None:
    model = FakeListLLM(responses=["1", "2", "3"], cache=InMemoryCache())
    assert call(model, "batch", ["a"]) == ["1"]
    assert call(model, "batch", ["a", "b"]) == ["1", "2"]


def test_a_script_of_one_conversation_hits_on_its_later_turns() -> None:
    cache = InMemoryCache()

    def talk() -> tuple[list[str], int]:
        model = ScriptedChatModel(script=["one", "two"], cache=cache)
        first = model.invoke([HumanMessage("q")])
        second = model.invoke([HumanMessage("q"), first, HumanMessage("r")])
        return [first.text, second.text], len(model.calls)

    assert talk() == (["one", "two"], 2)
    assert talk() == (["one", "two"], 0)


def test_a_cache_that_cant_keep_an_answer_does_not_lose_it(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    class Full(Open):
        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            raise OSError("disk full")

    assert call(Awaiting(cache=Full()), "invoke", "x").text == "ok"
    assert "".join(chunk.text for chunk in Flowing(cache=Full()).stream("x")) == "abc"
    assert caplog.text.count("Full could not keep an answer") == 2


def test_a_cache_that_cant_be_asked_is_an_error_before_anything_is_paid(call: Call) -> None:
    class Down(Open):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            raise ConnectionError("no server")

    model = Awaiting(cache=Down())
    with pytest.raises(ConnectionError):
        call(model, "invoke", "x")
    assert model.asked == []
