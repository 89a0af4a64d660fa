"""Text models: the whole batch in one call, one run per prompt, streams."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from models import Ears
from pydantic import PrivateAttr

from clew.caches import InMemoryCache
from clew.language_models import LLM, BaseLLM, EmptyStreamError, FakeListLLM, FakeListLLMError, FakeStreamingListLLM
from clew.messages import HumanMessage
from clew.outputs import Generation, GenerationChunk, LLMResult

Call = Callable[..., Any]


class Text(BaseLLM):
    """Wraps its prompts; notes which it got together."""

    _batches: list[Any] = PrivateAttr(default_factory=list)

    @property
    def batches(self) -> list[Any]:
        return self._batches

    @property
    def _llm_type(self) -> str:
        return "text"

    def _generate(self, prompts: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> LLMResult:
        self._batches.append(list(prompts))
        if "fail" in prompts:
            raise ValueError("no")
        return LLMResult(
            generations=[[Generation(text=f"<{each}>")] for each in prompts], llm_output={"n": len(prompts)}
        )


def test_a_batch_is_one_call_or_as_many_as_the_limit_allows(call: Call) -> None:
    model = Text()
    assert call(model, "batch", ["a", "b", "c"]) == ["<a>", "<b>", "<c>"]
    assert call(model, "batch", ["a", "b", "c"], {"max_concurrency": 2}) == ["<a>", "<b>", "<c>"]
    assert model.batches == [["a", "b", "c"], ["a", "b"], ["c"]]
    assert call(model, "batch", []) == []
    assert call(model, "generate", []).generations == []
    assert call(Text(cache=InMemoryCache()), "generate", []).generations == []


def test_a_failed_group_has_its_error_in_each_position(call: Call) -> None:
    out = call(Text(), "batch", ["a", "fail", "c"], {"max_concurrency": 1}, return_exceptions=True)
    assert out[0] == "<a>" and isinstance(out[1], ValueError) and out[2] == "<c>"
    with pytest.raises(ValueError, match="no"):
        call(Text(), "batch", ["a", "fail"])


def test_messages_are_given_as_lines(call: Call) -> None:
    assert call(Text(), "invoke", [("system", "s"), HumanMessage("hi")]) == "<System: s\nHuman: hi>"


def test_one_run_per_prompt_each_ends_once(call: Call) -> None:
    ears = Ears()
    call(Text(), "generate", ["a", "b"], callbacks=[ears])
    assert ears.names() == ["start", "start", "end", "end"]
    with pytest.raises(ValueError, match="no"):
        call(Text(), "generate", ["a", "fail"], callbacks=[ears])
    assert ears.names()[4:] == ["start", "start", "error", "error"]


def test_what_is_said_may_be_said_per_prompt(call: Call) -> None:
    one, two = Ears(), Ears()
    result = call(
        Text(), "generate", ["a", "b"], callbacks=[[one], [two]], tags=[["x"], ["y"]], metadata=[{"k": 1}, {"k": 2}],
        run_name=["first", "second"],
    )  # fmt: skip
    assert [one.events[0][2]["name"], two.events[0][2]["name"]] == ["first", "second"]
    assert one.events[0][2]["tags"] == ["x"] and two.events[0][2]["metadata"]["k"] == 2
    assert len(result.run) == 2
    with pytest.raises(ValueError, match="callbacks: 3 given for 2"):
        Text().generate(["a", "b"], callbacks=[[one], [two], [one]])
    with pytest.raises(ValueError, match="must be a list"):
        Text().generate("a")  # type: ignore[arg-type]


def test_too_few_answers_are_an_error() -> None:
    class Short(Text):
        def _generate(self, prompts: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> LLMResult:
            return LLMResult(generations=[[Generation(text="only one")]])

    with pytest.raises(ValueError, match="1 answers to 2 prompts"):
        Short().batch(["a", "b"])


def test_only_the_misses_are_asked(call: Call) -> None:
    model = Text(cache=InMemoryCache())
    call(model, "generate", ["a", "c"])
    out = call(model, "generate", ["a", "b", "c", "d"])
    assert model.batches == [["a", "c"], ["b", "d"]]
    assert [row[0].text for row in out.generations] == ["<a>", "<b>", "<c>", "<d>"]
    call(model, "generate", ["a"], stop=["x"])
    assert model.batches[-1] == ["a"], "stop is part of the key"


def test_the_short_way_is_one_function(call: Call) -> None:
    class Upper(LLM):
        @property
        def _llm_type(self) -> str:
            return "upper"

        def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
            return prompt.upper()

    assert call(Upper(), "invoke", "a") == "A" and call(Upper(), "batch", ["a", "b"]) == ["A", "B"]


class Flow(Text):
    """Streams the characters of its prompt."""

    _closed: list[Any] = PrivateAttr(default_factory=list)

    @property
    def closed(self) -> list[Any]:
        return self._closed

    def _stream(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        try:
            for character in prompt:
                if character == "!":
                    raise ValueError("cut")
                yield GenerationChunk(text=character)
        finally:
            self._closed.append(1)


class FlowAwaited(Flow):
    """The same, with a hook of its own for async streams."""

    async def _astream(
        self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        for chunk in self._stream(prompt):
            yield chunk


async def gathered(model: Any, *args: Any) -> list[str]:
    return [text async for text in model.astream(*args)]


@pytest.mark.parametrize("cls", [Flow, FlowAwaited])
def test_streams_of_text(cls: Any) -> None:
    for read in (lambda *args: list(cls().stream(*args)), lambda *args: asyncio.run(gathered(cls(), *args))):
        ears = Ears()
        assert read("abc", {"callbacks": [ears]}) == ["a", "b", "c"]
        assert ears.names() == ["start", "token", "token", "token", "end"]
        assert ears.events[-1][1].generations[0][0].text == "abc"
        broken = Ears()
        with pytest.raises(ValueError, match="cut"):
            read("a!b", {"callbacks": [broken]})
        assert broken.names() == ["start", "token", "error"]
        with pytest.raises(EmptyStreamError):
            read("")


def test_leaving_a_stream_of_text_closes_the_providers() -> None:
    model, ears = Flow(), Ears()
    stream = model.stream("abc", {"callbacks": [ears]})
    next(stream)
    stream.close()
    assert model.closed == [1] and ears.names() == ["start", "token", "end"]


def test_a_text_model_without_streams_gives_the_whole() -> None:
    assert list(Text().stream("a")) == ["<a>"] and asyncio.run(gathered(Text(), "a")) == ["<a>"]


def test_parameters_are_saved_as_json(tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    FakeListLLM(responses=["a"]).save(path)
    assert json.loads(path.read_text())["responses"] == ["a"]
    with pytest.raises(ValueError, match=r"\.json"):
        FakeListLLM(responses=["a"]).save(tmp_path / "model.yaml")


def test_fakes_of_text() -> None:
    model = FakeListLLM(responses=["1", "2"])
    assert [model.invoke("x") for _ in range(3)] == ["1", "2", "1"]
    flow = FakeStreamingListLLM(responses=["abc"], error_on_chunk_number=1)
    got: list[str] = []
    with pytest.raises(FakeListLLMError):
        got.extend(flow.stream("x"))
    assert "".join(FakeStreamingListLLM(responses=["abc"]).stream("x")) == "abc"
    assert asyncio.run(gathered(FakeStreamingListLLM(responses=["abc"]), "x")) == ["a", "b", "c"]


class Slow(Text):
    """Takes its time."""

    def _generate(self, prompts: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> LLMResult:
        time.sleep(0.1)
        return super()._generate(prompts, stop, run_manager, **kwargs)


def test_equal_prompts_at_the_same_time_are_asked_once() -> None:
    model = Slow(cache=InMemoryCache())
    got: list[list[str]] = []
    wanted = [["a", "b"], ["b", "a"], ["a"], ["a", "a"]]
    threads = [threading.Thread(target=lambda want=want: got.append(model.batch(want))) for want in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(prompt for batch in model.batches for prompt in batch) == ["a", "b"]
    assert sorted(got) == sorted([f"<{each}>" for each in want] for want in wanted)

    awaited = Slow(cache=InMemoryCache())

    async def many() -> list[Any]:
        return await asyncio.gather(*[awaited.ainvoke("x") for _ in range(20)])

    assert asyncio.run(many()) == ["<x>"] * 20 and awaited.batches == [["x"]]


def test_a_failure_is_shared_by_those_who_wait_for_the_prompt() -> None:
    model = Slow(cache=InMemoryCache())

    async def many() -> list[Any]:
        return await asyncio.gather(*[model.ainvoke("fail") for _ in range(5)], return_exceptions=True)

    assert all(isinstance(each, ValueError) for each in asyncio.run(many())) and len(model.batches) == 1
