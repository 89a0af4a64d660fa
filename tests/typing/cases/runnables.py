"""What a type checker knows about runnables."""

from __future__ import annotations

from typing import Any, assert_type

from clew.prompts import ChatPromptTemplate
from clew.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableParallel, RunnableSequence


class Count(Runnable[str, int]):
    """The length of a text."""

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> int:
        """Return it."""
        return len(input)


def half(n: int) -> float:
    """Return the half of a number."""
    return n / 2


async def later(n: float) -> bytes:
    """Return a number as text."""
    return str(n).encode()


steps = Count() | half
assert_type(steps, RunnableSequence[str, float])
assert_type(steps.invoke("abc"), float)
assert_type(steps.batch(["a", "b"]), list[float])
assert_type((steps | later).invoke("abc"), bytes)
assert_type((Count() | {"n": half}).invoke("abc"), dict[str, Any])
assert_type((Count() | RunnableLambda(half)).invoke("abc"), float)
assert_type(RunnableLambda(later).invoke(1), bytes)
assert_type(RunnableParallel(n=half).invoke(1), dict[str, Any])
assert_type((ChatPromptTemplate.from_template("{q}") | Count()).invoke({"q": "hi"}), int)
assert_type(Count().with_retry(stop_after_attempt=2).invoke("abc"), int)
assert_type(Count().map().invoke(["a"]), list[int])


async def awaited() -> None:
    """Both faces know the same."""
    assert_type(await steps.ainvoke("abc"), float)
    async for chunk in steps.astream("abc"):
        assert_type(chunk, float)
