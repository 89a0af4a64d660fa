"""Closing a stream closes everything below it before close returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from clew.callbacks import BaseCallbackHandler
from clew.runnables import RunnableBranch, RunnableGenerator, RunnableLambda, RunnableParallel, RunnablePassthrough


class Source:
    """A provider: yields for ever and says when it was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.step = RunnableGenerator(self.blocking, self.awaited)

    def blocking(self, pieces):
        try:
            while True:
                yield {"k": "x"}
        finally:
            self.closed += 1

    async def awaited(self, pieces):
        try:
            while True:
                yield {"k": "x"}
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            self.closed += 1


def passing(pieces):
    yield from pieces


async def apassing(pieces):
    async for piece in pieces:
        yield piece


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "alone": lambda step: step,
    "sequence": lambda step: step | RunnableGenerator(passing, apassing) | RunnablePassthrough(),
    "late in a sequence": lambda step: RunnableLambda(lambda x: x) | step,
    "parallel": lambda step: RunnableParallel(a=step, b=lambda x: x),
    "parallel of one": lambda step: RunnableParallel(a=step),
    "parallel after it": lambda step: step | RunnableParallel(a=RunnablePassthrough(), b=RunnablePassthrough()),
    "assign": lambda step: RunnablePassthrough.assign(n=step),
    "pick": lambda step: step.pick("k"),
    "binding": lambda step: step.with_config(tags=["t"]),
    "retry": lambda step: step.with_retry(),
    "fallbacks": lambda step: step.with_fallbacks([RunnableLambda(lambda x: x)]),
    "branch": lambda step: RunnableBranch((lambda x: False, lambda x: x), step),
    "returned by a function": lambda step: RunnableLambda(lambda x: step),
    "listeners": lambda step: step.with_listeners(on_start=lambda run: None),
    "timeout": lambda step: step.with_config(timeout=30),
}


@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
@pytest.mark.parametrize("kind", WRAPPED)
def test_case_032_closing_reaches_the_source(kind, watched):
    config: Any = {"callbacks": [BaseCallbackHandler()]} if watched else None
    source = Source()
    stream = WRAPPED[kind](source.step).stream({"q": 1}, config)
    for _ in range(5):
        next(stream)
    stream.close()
    assert source.closed == 1

    async def run() -> int:
        source = Source()
        stream = WRAPPED[kind](source.step).astream({"q": 1}, config)
        for _ in range(5):
            await anext(stream)
        await stream.aclose()
        assert len(asyncio.all_tasks()) == 1
        return source.closed

    assert asyncio.run(run()) == 1


def test_case_032_a_failing_consumer_closes_the_source_too():
    source = Source()

    def fail(pieces):
        for _ in pieces:
            raise ValueError("full")
        yield

    with pytest.raises(ValueError, match="full"):
        list((source.step | RunnableGenerator(fail)).stream(1))
    assert source.closed == 1


def test_a_closed_stream_ends_its_run_with_what_came():
    ends: list[Any] = []

    class Handler(BaseCallbackHandler):
        def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
            ends.append(outputs)

    stream = RunnableGenerator(passing).stream("a", {"callbacks": [Handler()]})
    next(stream)
    stream.close()
    assert ends == ["a"]
