"""The configuration of a call, and the one ambient copy of it.

A `RunnableConfig` travels down the call tree. Inside a user's function it is also ambient: `current_config` holds it,
so that a model called with no config in there still reports to the right parent.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypedDict

from clew.errors import OutsideWorkflowError

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from clew.callbacks import Callbacks

__all__ = ["RunnableConfig", "current_config", "get_config", "get_store", "get_stream_writer"]


class RunnableConfig(TypedDict, total=False):
    """What a caller may say about one call; every key is optional.

    tags, metadata: go to this call's callbacks and to those below it.
    callbacks: a list of handlers, or a callback manager.
    run_name, run_id: of this call only, not inherited.
    max_concurrency: how many leaves of the whole call tree may run at the same time.
    recursion_limit: how deep functions that return runnables, and how far graphs, may go (25).
    configurable: values for `configurable_fields`, `configurable_alternatives`, thread ids and the like.
    timeout: seconds for the whole call; TimeoutError after that.
    """

    tags: list[str]
    metadata: dict[str, Any]
    callbacks: Callbacks
    run_name: str
    run_id: UUID | None
    max_concurrency: int | None
    recursion_limit: int
    configurable: dict[str, Any]
    timeout: float | None


current_config: ContextVar[RunnableConfig | None] = ContextVar("clew_config", default=None)


def get_config() -> RunnableConfig:
    """Return the config of the runnable, task or workflow that calls this.

    Raises: OutsideWorkflowError (a RuntimeError) when there is none.
    """
    config = current_config.get()
    if config is None:
        raise OutsideWorkflowError("get_config() was called outside of a runnable, task or workflow")
    return config


def get_store() -> Any:
    """Return the store that the running workflow was given, or None if it has none.

    Raises: OutsideWorkflowError when no workflow is running.
    """
    return _running("get_store").store


def get_stream_writer() -> Callable[[Any], None]:
    """Return the function that writes to the `custom` stream of the running workflow.

    Raises: OutsideWorkflowError when no workflow is running.
    """
    return _running("get_stream_writer").stream_writer


def _running(asker: str) -> Any:
    from clew import _run

    run = _run.current.get()
    if run is None:
        raise OutsideWorkflowError(f"{asker}() was called outside of a workflow")
    return run
