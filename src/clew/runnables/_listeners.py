"""`with_listeners`: functions that are called when a call starts, ends or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.runnables._binding import RunnableBinding
from clew.tracers.root_listeners import AsyncRootListenersTracer, RootListenersTracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.runnables.base import Runnable


def factory(on_start: Any, on_end: Any, on_error: Any) -> Callable[[Any], Any]:
    """Return a config factory that adds a new listening handler to each call."""
    return lambda config: {
        "callbacks": [RootListenersTracer(config=config, on_start=on_start, on_end=on_end, on_error=on_error)]
    }


def afactory(on_start: Any, on_end: Any, on_error: Any) -> Callable[[Any], Any]:
    """Return a config factory that adds a new listening handler to each call; its functions are awaited."""
    return lambda config: {
        "callbacks": [AsyncRootListenersTracer(config=config, on_start=on_start, on_end=on_end, on_error=on_error)]
    }


def listening(runnable: Runnable[Any, Any], on_start: Any, on_end: Any, on_error: Any) -> Runnable[Any, Any]:
    """Return a runnable that calls functions of (run) or (run, config)."""
    return RunnableBinding(bound=runnable, config_factories=[factory(on_start, on_end, on_error)])


def alistening(runnable: Runnable[Any, Any], on_start: Any, on_end: Any, on_error: Any) -> Runnable[Any, Any]:
    """Return a runnable that awaits functions of (run) or (run, config)."""
    return RunnableBinding(bound=runnable, config_factories=[afactory(on_start, on_end, on_error)])
