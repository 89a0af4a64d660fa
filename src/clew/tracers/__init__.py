"""Tracers: build the tree of runs, print it, keep it, or react to it."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.tracers._streaming import _StreamingCallbackHandler  # pyright: ignore[reportPrivateUsage] - its documented name
    from clew.tracers.base import BaseTracer
    from clew.tracers.console import ConsoleCallbackHandler, FunctionCallbackHandler
    from clew.tracers.jsonl import JSONLTracer
    from clew.tracers.opentelemetry import OpenTelemetryTracer
    from clew.tracers.root_listeners import AsyncRootListenersTracer, RootListenersTracer
    from clew.tracers.schemas import Run

__all__ = [
    "AsyncRootListenersTracer",
    "BaseTracer",
    "ConsoleCallbackHandler",
    "FunctionCallbackHandler",
    "JSONLTracer",
    "OpenTelemetryTracer",
    "RootListenersTracer",
    "Run",
    "_StreamingCallbackHandler",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "AsyncRootListenersTracer": ".root_listeners",
        "BaseTracer": ".base",
        "ConsoleCallbackHandler": ".console",
        "FunctionCallbackHandler": ".console",
        "JSONLTracer": ".jsonl",
        "OpenTelemetryTracer": ".opentelemetry",
        "RootListenersTracer": ".root_listeners",
        "Run": ".schemas",
        "_StreamingCallbackHandler": "._streaming",
    },
)
