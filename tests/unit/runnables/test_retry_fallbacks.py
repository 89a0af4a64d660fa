"""Trying again and falling back."""

from __future__ import annotations

from typing import Any

import pytest

from clew.callbacks import BaseCallbackHandler
from clew.errors import GraphInterrupt, ModelAuthenticationError, ModelRateLimitError
from clew.runnables import Runnable, RunnableGenerator, RunnableLambda
from clew.runnables.retry import RunnableRetry


class Flaky(Runnable[Any, Any]):
    """Fails the first `fails` times, before its first chunk; then yields a, b."""

    def __init__(self, fails: int, error: BaseException | None = None) -> None:
        self.fails, self.tries, self.error = fails, 0, error or ConnectionError("not yet")

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return "".join(self.stream(input))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self.invoke(input)

    def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        self.tries += 1
        if self.tries <= self.fails:
            raise self.error
        yield "a"
        yield "b"

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        for chunk in self.stream(input):
            yield chunk


def nothing(pieces):
    for _ in pieces:
        pass
    return
    yield


async def anothing(pieces):
    async for _ in pieces:
        pass
    return
    yield


def cut(pieces):
    next(pieces)
    yield "a"
    raise ConnectionError("cut")


async def acut(pieces):
    await anext(pieces)
    yield "a"
    raise ConnectionError("cut")


def retry(bound: Any, attempts: int = 3, **kwargs: Any) -> Any:
    return bound.with_retry(stop_after_attempt=attempts, wait_exponential_jitter=False, **kwargs)


def test_invoke_is_tried_again(call):
    flaky = Flaky(2)
    assert call(retry(flaky), "invoke", 1) == "ab" and flaky.tries == 3
    with pytest.raises(ConnectionError):
        call(retry(Flaky(3)), "invoke", 1)


def test_case_025_a_stream_is_tried_again_before_its_first_chunk(call):
    flaky = Flaky(2)
    assert list(call(retry(flaky), "stream", 1)) == ["a", "b"] and flaky.tries == 3


def test_case_025_and_not_after_it(call):
    calls: list[str] = []
    got: list[str] = []
    step = RunnableLambda(lambda x: calls.append(x) or x) | RunnableGenerator(cut, acut)
    with pytest.raises(ConnectionError):
        got.extend(call(retry(step), "stream", "x"))
    assert calls == ["x"]


def test_case_026_each_position_of_a_batch_is_tried_for_itself(call):
    seen: dict[str, int] = {}

    def work(x: str) -> str:
        seen[x] = seen.get(x, 0) + 1
        if x == "always" or (x == "once" and seen[x] == 1):
            raise ConnectionError(x)
        return x + "-ok"

    one, two, three = call(retry(RunnableLambda(work), 2), "batch", ["ok", "once", "always"], return_exceptions=True)
    assert (one, two) == ("ok-ok", "once-ok") and isinstance(three, ConnectionError)
    assert seen == {"ok": 1, "once": 2, "always": 2}


def test_only_what_is_worth_it_is_tried_again(call):
    flaky = Flaky(1, KeyError("k"))
    with pytest.raises(KeyError):
        call(retry(flaky, retry_if_exception_type=(ConnectionError,)), "invoke", 1)
    assert flaky.tries == 1
    flaky = Flaky(1, KeyError("k"))
    assert call(retry(flaky, retry_if_exception_type=lambda error: "k" in str(error)), "invoke", 1) == "ab"
    flaky = Flaky(1, ModelAuthenticationError("no key"))
    with pytest.raises(ModelAuthenticationError):
        call(retry(flaky), "invoke", 1)
    assert flaky.tries == 1


def test_a_pause_is_never_tried_again_nor_replaced(call):
    flaky = Flaky(1, GraphInterrupt(()))
    with pytest.raises(GraphInterrupt):
        call(retry(flaky).with_fallbacks([RunnableLambda(lambda x: "fallback")]), "invoke", 1)
    assert flaky.tries == 1


def test_waits_grow_and_honour_what_the_provider_asked():
    waiting = RunnableRetry(bound=Flaky(0), exponential_jitter_params={"initial": 1, "jitter": 0, "max": 3})
    plain = ConnectionError()
    assert [waiting._seconds(plain, n) for n in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert waiting._seconds(ModelRateLimitError("slow", retry_after=10.0), 1) == 10
    assert RunnableRetry(bound=Flaky(0), wait_exponential_jitter=False)._seconds(plain, 1) == 0
    with pytest.raises(ValueError, match="1"):
        RunnableRetry(bound=Flaky(0), max_attempt_number=0)


def test_handlers_hear_of_retries(call):
    heard: list[int] = []

    class Handler(BaseCallbackHandler):
        def on_retry(self, retry_state: Any, **kwargs: Any) -> None:
            heard.append(retry_state.attempt_number)

    call(retry(Flaky(2)), "invoke", 1, {"callbacks": [Handler()]})
    assert heard == [1, 2]


def test_case_023_an_empty_stream_has_worked(call):
    steps = RunnableGenerator(nothing, anothing).with_fallbacks([RunnableLambda(lambda x: "fallback")])
    assert list(call(steps, "stream", "x")) == []


def test_fallbacks_in_order(call):
    def fail(x: Any) -> Any:
        raise ValueError(f"bad {x}")

    steps = RunnableLambda(fail).with_fallbacks([RunnableLambda(fail), RunnableLambda(lambda x: x + 1)])
    assert call(steps, "invoke", 1) == 2 and call(steps, "batch", [1, 2]) == [2, 3]
    assert list(call(Flaky(1).with_fallbacks([Flaky(0)]), "stream", 1)) == ["a", "b"]
    with pytest.raises(ValueError, match="bad 1"):
        call(RunnableLambda(fail).with_fallbacks([Flaky(9)]), "invoke", 1)
    with pytest.raises(ValueError, match="bad 1"):
        call(RunnableLambda(fail).with_fallbacks([Flaky(0)], exceptions_to_handle=(KeyError,)), "invoke", 1)


def test_fallbacks_are_told_the_error(call):
    def fail(given: dict[str, Any]) -> Any:
        raise ValueError("no")

    steps = RunnableLambda(fail).with_fallbacks([RunnableLambda(lambda d: repr(d["why"]))], exception_key="why")
    given = {"q": 1}
    assert call(steps, "invoke", given) == "ValueError('no')" and given == {"q": 1}
    with pytest.raises(ValueError, match="dict"):
        call(steps, "invoke", 1)


def test_methods_that_make_runnables_reach_the_fallbacks_too(call):
    class Bindable(Runnable[Any, Any]):
        def __init__(self, fails: bool, tools: Any = None) -> None:
            self.fails, self.tools = fails, tools

        def bind_tools(self, tools: Any) -> Any:
            return Bindable(self.fails, tools)

        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            if self.fails:
                raise ValueError
            return self.tools

    assert call(Bindable(True).with_fallbacks([Bindable(False)]).bind_tools(["t"]), "invoke", 1) == ["t"]
