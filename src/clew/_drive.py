"""Run a coroutine body that never suspends, with no event loop.

Where control flow meets waiting (retry, fallbacks, a tool loop), the body is written once as a coroutine. Its blocking
face passes it blocking doers wrapped as coroutines and steps it here; its awaited face awaits it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


def drive(body: Coroutine[Any, Any, T]) -> T:
    """Run a body that never suspends and return its result.

    Raises: whatever the body raises; RuntimeError if it waits for an event loop.
    """
    try:
        body.send(None)
    except StopIteration as done:
        return done.value
    body.close()
    raise RuntimeError(f"{body!r} suspended in a blocking call")


def awaited(function: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Return a blocking function as a coroutine function that never suspends, for bodies that `drive` steps."""

    async def call(*args: Any, **kwargs: Any) -> T:
        return function(*args, **kwargs)

    return call
