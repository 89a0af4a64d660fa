"""Run a user's blocking function for an awaiting caller, in a thread of the process's one pool."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast



if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from clew.config import RunnableConfig

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_executor(
    executor_or_config: Executor | RunnableConfig | None, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a blocking function in a worker thread, with the caller's context variables.

    executor_or_config: an executor of the caller's; anything else means the library's own pool.
    Cancelled while the function runs, the wait ends at once; the function goes on and may ask `cancel_requested()`.
    Raises: what the function raises; StopIteration, which can't cross an await, as RuntimeError.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    context = copy_context()
    if executor_or_config is not None and not isinstance(executor_or_config, dict):
        executor = cast("Executor", executor_or_config)
        return await loop.run_in_executor(executor, lambda: context.run(_guarded, func, args, kwargs))
    from clew.runnables._pool import pool

    return await pool.start(loop, context, lambda: _guarded(func, args, kwargs))


def _guarded(func: Callable[..., T], args: Any, kwargs: Any) -> T:
    try:
        return func(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError(f"{func!r} raised StopIteration") from error


