"""Report runs to OpenTelemetry, as spans.

Needs `clew[opentelemetry]`; where the spans go is the application's choice (its tracer provider). Prompts and answers
are left out unless asked for.
Source: OpenTelemetry semantic conventions, "Generative AI" (attributes `gen_ai.*`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from clew._lazy import need
from clew.tracers.base import BaseTracer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from clew.tracers.schemas import Run

__all__ = ["OpenTelemetryTracer"]

OPERATIONS = {"chat_model": "chat", "llm": "text_completion", "tool": "execute_tool", "retriever": "retrieval"}
METADATA = {"ls_provider": "gen_ai.provider.name", "ls_model_name": "gen_ai.request.model"}


class OpenTelemetryTracer(BaseTracer):
    """Makes a span of every run, under its parent's, or under the span that is current where the call begins.

    tracer_provider: an OpenTelemetry TracerProvider; None for the global one. content: also report inputs and outputs.
    Raises: MissingDependencyError when OpenTelemetry is not installed.
    """

    def __init__(self, tracer_provider: Any = None, *, content: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._trace: Any = need("opentelemetry.trace", "opentelemetry", "OpenTelemetryTracer")
        self._tracer: Any = self._trace.get_tracer("clew", tracer_provider=tracer_provider)
        self._content = content
        self._spans: dict[str, Any] = {}

    def _persist_run(self, run: Run) -> None:
        """Every span was ended with its run."""

    def _on_run_create(self, run: Run) -> None:
        parent = self._spans.get(str(run.parent_run_id))
        context = None if parent is None else self._trace.set_span_in_context(parent)
        self._spans[str(run.id)] = self._tracer.start_span(
            run.name, context, start_time=nanoseconds(run.start_time), attributes=dict(self._facts(run))
        )

    def _on_run_update(self, run: Run) -> None:
        span = self._spans.pop(str(run.id), None)
        if span is None or run.end_time is None:
            return
        for name, value in usage_of(run):
            span.set_attribute(name, value)
        if self._content and run.outputs is not None:
            span.set_attribute("clew.outputs", as_text(run.outputs))
        if run.error is not None:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, run.error))
        span.end(end_time=nanoseconds(run.end_time))

    def _facts(self, run: Run) -> Iterator[tuple[str, Any]]:
        yield "clew.run_type", run.run_type
        yield "clew.run_id", str(run.id)
        if run.tags:
            yield "clew.tags", list(run.tags)
        if run.run_type in OPERATIONS:
            yield "gen_ai.operation.name", OPERATIONS[run.run_type]
        for key, value in run.metadata.items():
            if isinstance(value, (str, bool, int, float)):
                yield METADATA.get(key, f"clew.metadata.{key}"), value
        if self._content:
            yield "clew.inputs", as_text(run.inputs)


def nanoseconds(moment: datetime) -> int:
    """Return a moment as nanoseconds since the epoch."""
    return int(moment.timestamp() * 1e6) * 1000


def as_text(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, default=repr, ensure_ascii=False)


def usage_of(run: Run) -> Iterator[tuple[str, int]]:
    """Yield what a model's answer used, as attributes."""
    for row in (run.outputs or {}).get("generations") or () if run.run_type == "chat_model" else ():
        for made in row[:1]:
            message = cast("dict[str, Any]", made.get("message") or {})
            arguments = cast("dict[str, Any]", message.get("kwargs") or {})
            usage = cast("dict[str, Any]", arguments.get("usage_metadata") or {})
            for key in ("input_tokens", "output_tokens"):
                if isinstance(usage.get(key), int):
                    yield f"gen_ai.usage.{key}", usage[key]
