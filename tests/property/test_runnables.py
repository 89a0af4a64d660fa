"""Whatever runnables are composed of, all faces give the same output, and the tree of runs is whole."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.runnables import (
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSequence,
)
from clew.runnables._stream import joined
from clew.tracers import BaseTracer, Run


def letters(pieces):
    for piece in pieces:
        yield from piece


async def aletters(pieces):
    async for piece in pieces:
        for letter in piece:
            yield letter


async def reverse(text: str) -> str:
    await asyncio.sleep(0)
    return text[::-1]


LEAVES: list[Any] = [
    RunnableLambda(lambda text: text.upper(), name="upper"),
    RunnableLambda(lambda text: text[::-1], reverse, name="reverse"),
    RunnableLambda(lambda text: LEAVES[0] if len(text) > 3 else text, name="returns a runnable"),
    RunnableGenerator(letters, aletters, name="letters"),
    RunnableGenerator(letters, name="blocking letters"),
    RunnablePassthrough(),
]


def fork(parts: list[Any]) -> Any:
    return RunnableParallel({str(i): part for i, part in enumerate(parts)}) | (
        lambda d: "".join(d[k] for k in sorted(d))
    )


def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: RunnableSequence(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(fork),
        st.tuples(inner, inner).map(lambda two: RunnableBranch((lambda text: len(text) > 2, two[0]), two[1])),
        inner.map(lambda part: part.with_config(tags=["t"])),
        inner.map(lambda part: part.with_retry(stop_after_attempt=2)),
        inner.map(lambda part: RunnableLambda(lambda text: 1 / 0).with_fallbacks([part])),
        inner.map(
            lambda part: (
                RunnableLambda(lambda text: {"a": text})
                | RunnablePassthrough.assign(b=RunnableLambda(lambda d: d["a"]) | part)
                | (lambda d: d["a"] + d["b"])
            )
        ),
    )


TREES = st.recursive(st.sampled_from(LEAVES), grow, max_leaves=6)


class Roots(BaseTracer):
    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def whole(run: Run) -> bool:
    """Whether a run and all below it have ended inside their parents."""
    return run.end_time is not None and all(
        child.parent_run_id == run.id and child.trace_id == run.trace_id and whole(child) for child in run.child_runs
    )


@settings(max_examples=60, deadline=None)
@given(TREES, st.text("abc", min_size=1, max_size=5), st.sampled_from([None, 1, 2]))
def test_all_faces_agree(tree: Any, text: str, limit: int | None) -> None:
    config: Any = None if limit is None else {"max_concurrency": limit}

    async def awaited() -> list[Any]:
        streamed = [chunk async for chunk in tree.astream(text, config)]
        return [await tree.ainvoke(text, config), joined(streamed), *await tree.abatch([text, text], config)]

    expected = tree.invoke(text, config)
    assert joined(list(tree.stream(text, config))) == expected
    assert tree.batch([text, text], config) == [expected, expected]
    assert asyncio.run(awaited()) == [expected] * 4


@settings(max_examples=40, deadline=None)
@given(TREES, st.text("abc", min_size=1, max_size=5))
def test_being_watched_changes_nothing_and_every_run_ends(tree: Any, text: str) -> None:
    tracer = Roots()
    config: Any = {"callbacks": [tracer]}

    async def awaited() -> list[Any]:
        streamed = [chunk async for chunk in tree.astream(text, config)]
        return [await tree.ainvoke(text, config), joined(streamed)]

    expected = tree.invoke(text)
    assert tree.invoke(text, config) == expected
    assert joined(list(tree.stream(text, config))) == expected
    assert asyncio.run(awaited()) == [expected] * 2
    assert len(tracer.roots) == 4 and all(whole(root) for root in tracer.roots) and tracer.run_map == {}
