"""The faces of runnables: invoke, stream, batch, transform, blocking and awaited."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from clew.errors import GraphRecursionError
from clew.runnables import (
    AddableDict,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSequence,
    chain,
    coerce_to_runnable,
)


def add_one(x: int) -> int:
    return x + 1


inc, double = RunnableLambda(add_one), RunnableLambda(lambda x: x * 2)


class Own(Runnable[int, int]):
    def invoke(self, input: int, config: Any = None, **kwargs: Any) -> int:
        return input * 10


def shout(pieces):
    for piece in pieces:
        yield piece.upper()


async def ashout(pieces):
    async for piece in pieces:
        yield piece.upper()


letters = RunnableGenerator(lambda pieces: (letter for piece in pieces for letter in piece))


def test_sequence_flattens_and_names_its_steps():
    steps = inc | double | (inc | Own())
    assert isinstance(steps, RunnableSequence)
    assert len(steps.steps) == 4
    assert (steps.first, steps.middle, steps.last) == (steps.steps[0], steps.steps[1:3], steps.steps[3])
    assert (
        inc.get_name() == "add_one"
        and double.get_name() == "RunnableLambda"
        and inc.get_name("Input") == "add_one_input"
    )


def test_every_face_of_a_sequence(call):
    steps = inc | double | Own()
    assert call(steps, "invoke", 1) == 40
    assert list(call(steps, "stream", 1)) == [40]
    assert call(steps, "batch", [1, 2, 3]) == [40, 60, 80]
    assert sorted(call(steps, "batch_as_completed", [1, 2])) == [(0, 40), (1, 60)]


def test_functions_and_dicts_are_made_runnables(call):
    steps = {"a": inc, "b": lambda x: x} | RunnableLambda(lambda d: d["a"] + d["b"]) | str
    assert call(steps, "invoke", 2) == "5"
    with pytest.raises(TypeError, match="int"):
        coerce_to_runnable(3)


def test_generators_stream_through_a_sequence(call):
    steps = letters | RunnableGenerator(shout, ashout)
    assert list(call(steps, "stream", "abc")) == ["A", "B", "C"]
    assert call(steps, "invoke", "abc") == "ABC"


def test_a_generator_function_in_a_pipe_is_a_step_that_streams(call):
    steps = letters | shout
    assert list(call(steps, "stream", "ab")) == ["A", "B"]


def test_an_async_generator_alone_refuses_blocking_calls():
    with pytest.raises(TypeError, match="astream"):
        list(RunnableGenerator(ashout).stream("a"))


def test_a_step_that_needs_its_whole_input_gets_the_joined_chunks(call):
    assert list(call(letters | (lambda text: text[::-1]), "stream", "abc")) == ["cba"]


def test_an_empty_stream_stays_empty(call):
    nothing = RunnableGenerator(lambda pieces: iter(()))
    assert list(call(nothing | (lambda text: "never"), "stream", "abc")) == []


def test_parallel_streams_its_keys_as_they_come(call):
    both = RunnableParallel(spelled=letters, whole=lambda text: text)
    chunks = list(call(both, "stream", "ab"))
    total = AddableDict()
    for chunk in chunks:
        total += chunk
    assert total == {"spelled": "ab", "whole": "ab"} and len(chunks) == 3


def test_parallel_steps_all_see_a_streamed_input(call):
    both = letters | RunnableParallel(up=shout, down=lambda text: text)
    total = AddableDict()
    for chunk in call(both, "stream", "abc"):
        total += chunk
    assert total == {"up": "ABC", "down": "abc"}


def test_an_error_in_a_streamed_branch_reaches_the_consumer(call):
    broken = RunnableParallel(fine=letters, broken=lambda text: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(call(broken, "stream", "ab"))


def test_assign_keeps_the_input_and_streams_it_first(call):
    steps = RunnablePassthrough.assign(n=lambda d: len(d["text"]))
    given = {"text": "abc"}
    assert call(steps, "invoke", given) == {"text": "abc", "n": 3} and given == {"text": "abc"}
    total = AddableDict()
    for chunk in call(steps, "stream", given):
        total += chunk
    assert total == {"text": "abc", "n": 3}
    with pytest.raises(ValueError, match="dict"):
        call(steps, "invoke", "abc")


def test_assign_replaces_a_key(call):
    steps = RunnablePassthrough.assign(a=lambda d: d["a"] + 1)
    assert call(steps, "invoke", {"a": 1}) == {"a": 2}
    total = AddableDict()
    for chunk in call(steps, "stream", {"a": 1, "b": 2}):
        total += chunk
    assert total == {"a": 2, "b": 2}


def test_pick_and_assign_verbs(call):
    steps = RunnablePassthrough().assign(b=lambda d: d["a"] * 2)
    assert call(steps.pick("b"), "invoke", {"a": 1}) == 2
    assert call(steps.pick(["b", "missing"]), "invoke", {"a": 1}) == {"b": 2}
    assert call(steps.pick("missing"), "invoke", {"a": 1}) is None


def test_passthrough_shows_its_input_to_a_function(call):
    seen: list[Any] = []
    look = RunnablePassthrough(seen.append)
    assert call(look, "invoke", 1) == 1 and seen == [1]
    assert list(call(letters | look, "stream", "ab")) == ["a", "b"] and seen == [1, "ab"]


def test_branch_asks_no_further_than_needed(call):
    asked: list[str] = []

    def condition(name: str, answer: bool) -> Any:
        return lambda x: asked.append(name) or answer

    branch = RunnableBranch(
        (condition("a", False), inc), (condition("b", True), double), (condition("c", True), inc), Own()
    )
    assert call(branch, "invoke", 5) == 10 and asked == ["a", "b"]
    assert list(call(RunnableBranch((lambda x: False, inc), letters), "stream", "ab")) == ["a", "b"]
    with pytest.raises(ValueError, match="default"):
        RunnableBranch((lambda x: True, inc))
    with pytest.raises(TypeError, match="pair"):
        RunnableBranch(inc, inc)


def test_router_names_the_keys_it_has(call):
    router = RouterRunnable({"inc": inc, "double": double})
    assert call(router, "invoke", {"key": "double", "input": 4}) == 8
    with pytest.raises(ValueError, match=r"\['double', 'inc'\]"):
        call(router, "invoke", {"key": "other", "input": 4})


def test_each_keeps_the_order(call):
    assert call(inc.map(), "invoke", [1, 2, 3]) == [2, 3, 4]
    assert call(inc.map().map(), "invoke", [[1], [2, 3]]) == [[2], [3, 4]]
    assert call(inc.map(), "invoke", []) == []


def test_batch_with_errors_in_their_places(call):
    def work(x: int) -> float:
        return 1 / x

    one, two, three = call(RunnableLambda(work), "batch", [1, 0, 2], return_exceptions=True)
    assert (one, three) == (1.0, 0.5) and isinstance(two, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        call(RunnableLambda(work), "batch", [1, 0, 2])


def test_batch_takes_a_config_per_input(call):
    show = RunnableLambda(lambda x, config: (x, config["tags"]))
    assert call(show, "batch", [1, 2], [{"tags": ["a"]}, {"tags": ["b"]}]) == [(1, ["a"]), (2, ["b"])]
    with pytest.raises(ValueError, match="2"):
        call(show, "batch", [1, 2], [{}])
    assert call(show, "batch", []) == []


def test_a_step_with_its_own_batch_is_asked_once_for_all_inputs(call):
    sizes: list[int] = []

    class Many(Runnable[int, int]):
        def invoke(self, input: int, config: Any = None, **kwargs: Any) -> int:
            raise AssertionError("asked one by one")

        def batch(
            self, inputs: list[int], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
        ) -> list[int]:
            sizes.append(len(inputs))
            return [x * 2 for x in inputs]

        async def abatch(
            self, inputs: list[int], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
        ) -> Any:
            return self.batch(inputs, config)

    steps = RunnableLambda(lambda x: 10 // x) | Many() | inc
    assert call(steps, "batch", [1, 2, 5]) == [21, 11, 5] and sizes == [3]
    good, bad, fine = call(steps, "batch", [1, 0, 5], return_exceptions=True)
    assert (good, fine) == (21, 5) and isinstance(bad, ZeroDivisionError) and sizes == [3, 2]


def test_a_function_may_return_a_runnable(call):
    pick = RunnableLambda(lambda x: inc if x < 10 else double)
    assert call(pick, "invoke", 1) == 2 and call(pick, "invoke", 10) == 20
    assert list(call(RunnableLambda(lambda x: letters), "stream", "ab")) == ["a", "b"]
    assert call(RunnableParallel(a=pick, b=pick), "invoke", 1) == {"a": 2, "b": 2}
    assert call(inc | pick | inc, "invoke", 1) == 4


def test_functions_that_return_runnables_for_ever_are_stopped(call):
    loop: Any = RunnableLambda(lambda x: loop)
    with pytest.raises(GraphRecursionError):
        call(loop, "invoke", 1)
    with pytest.raises(RecursionError):
        call(loop, "invoke", 1, {"recursion_limit": 3})


def test_each_face_picks_its_function(call):
    async def awaited(x: int) -> tuple[str, int]:
        return "awaited", x

    pair = RunnableLambda(lambda x: ("blocking", x), awaited)
    kind = call(pair, "invoke", 1)[0]
    assert kind in ("blocking", "awaited")
    assert call(pair | (lambda pair: pair[0]), "invoke", 1) == kind


def test_a_coroutine_function_refuses_blocking_calls_and_says_what_to_use():
    async def only(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="ainvoke"):
        RunnableLambda(only).invoke(1)
    with pytest.raises(TypeError, match="ainvoke"):
        RunnableLambda(lambda x: only(x)).invoke(1)
    assert asyncio.run(RunnableLambda(lambda x: only(x)).ainvoke(1)) == 1


def test_chain_decorator_names_the_run():
    @chain
    def greet(name: str) -> str:
        return f"hi {name}"

    assert isinstance(greet, RunnableLambda) and greet.get_name() == "greet" and greet.invoke("a") == "hi a"


def test_transform_takes_pieces(call):
    async def pieces():
        for piece in ("a", "b"):
            yield piece

    def run(steps: Any) -> Any:
        return list(steps.transform(iter(["a", "b"])))

    assert run(inc.bind() if False else RunnableLambda(str.upper)) == ["AB"]
    assert run(letters | shout) == ["A", "B"]

    async def arun() -> list[str]:
        return [chunk async for chunk in (letters | RunnableGenerator(shout, ashout)).atransform(pieces())]

    assert asyncio.run(arun()) == ["A", "B"]


def test_runnables_of_module_level_functions_can_be_pickled():
    steps = pickle.loads(pickle.dumps(RunnableLambda(add_one) | RunnableLambda(add_one)))
    assert steps.invoke(1) == 3
