"""Call functions when one call, and not what it calls, starts, ends or fails."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from clew.callbacks.base import AsyncCallbackHandler
from clew.tracers.base import BaseTracer

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from clew.config import RunnableConfig
    from clew.tracers.schemas import Run

__all__ = ["AsyncRootListenersTracer", "RootListenersTracer"]


def takes_config(function: Callable[..., Any]) -> bool:
    """Tell whether a listener takes (run, config) rather than (run)."""
    return len(inspect.signature(function).parameters) > 1


class RootListenersTracer(BaseTracer):
    """Calls its functions for the first run that it hears of."""

    def __init__(
        self,
        *,
        config: RunnableConfig,
        on_start: Callable[..., Any] | None,
        on_end: Callable[..., Any] | None,
        on_error: Callable[..., Any] | None,
    ) -> None:
        super().__init__()
        self.config = config
        self._listeners = {"start": on_start, "end": on_end, "error": on_error}
        self._root: UUID | None = None

    def _persist_run(self, run: Run) -> None:
        """Nothing is kept."""

    def _on_run_create(self, run: Run) -> None:
        if self._root is None:
            self._root = run.id
            self._tell("start", run)

    def _on_run_update(self, run: Run) -> None:
        if run.id == self._root:
            self._tell("end" if run.error is None else "error", run)

    def _tell(self, event: str, run: Run) -> Any:
        listener = self._listeners[event]
        if listener is None:
            return None
        return listener(run, self.config) if takes_config(listener) else listener(run)


class AsyncRootListenersTracer(AsyncCallbackHandler):
    """Awaits its coroutine functions for the first run that it hears of."""

    def __init__(
        self,
        *,
        config: RunnableConfig,
        on_start: Callable[..., Any] | None,
        on_end: Callable[..., Any] | None,
        on_error: Callable[..., Any] | None,
    ) -> None:
        self._waiting: list[Any] = []
        self._book = _Collecting(self._waiting, config=config, on_start=on_start, on_end=on_end, on_error=on_error)

    async def _pass(self, event: str, args: Any, kwargs: dict[str, Any]) -> None:
        getattr(self._book, event)(*args, **kwargs)
        while self._waiting:
            waiting = self._waiting.pop(0)
            if inspect.isawaitable(waiting):
                await waiting


class _Collecting(RootListenersTracer):
    """Keeps what the listeners return, to be awaited."""

    def __init__(self, waiting: list[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._waiting = waiting

    def _tell(self, event: str, run: Run) -> Any:
        self._waiting.append(super()._tell(event, run))


def _passing(event: str) -> Any:
    async def on_event(self: AsyncRootListenersTracer, *args: Any, **kwargs: Any) -> None:
        await self._pass(event, args, kwargs)  # pyright: ignore[reportPrivateUsage] - a method of the class

    on_event.__name__ = event
    return on_event


for _event in (
    "on_chat_model_start",
    "on_llm_start",
    "on_llm_new_token",
    "on_llm_end",
    "on_llm_error",
    "on_chain_start",
    "on_chain_end",
    "on_chain_error",
    "on_tool_start",
    "on_tool_end",
    "on_tool_error",
    "on_retriever_start",
    "on_retriever_end",
    "on_retriever_error",
):
    setattr(AsyncRootListenersTracer, _event, _passing(_event))
