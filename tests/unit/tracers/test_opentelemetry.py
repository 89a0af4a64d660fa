"""Runs as OpenTelemetry spans."""

from __future__ import annotations

from typing import Any

import pytest

from clew.language_models import GenericFakeChatModel
from clew.messages import AIMessage
from clew.runnables import RunnableLambda
from clew.tracers import OpenTelemetryTracer

trace = pytest.importorskip("opentelemetry.trace", reason='needs: pip install "clew[opentelemetry]"')


class Span(trace.NonRecordingSpan):  # type: ignore[misc, name-defined] - known when it is installed
    """A span that keeps what it is told."""

    def __init__(self, name: str, parent: Any, start: int, attributes: dict[str, Any]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.parent, self.start, self.attributes = name, parent, start, attributes
        self.status: Any = None
        self.ended: int | None = None

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: Any = None) -> None:
        self.status = status

    def end(self, end_time: int | None = None) -> None:
        self.ended = end_time


class Provider:
    """A provider, and its tracer, that keeps all spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def get_tracer(self, *args: Any, **kwargs: Any) -> Provider:
        return self

    def start_span(self, name: str, context: Any = None, *, start_time: int, attributes: dict[str, Any]) -> Span:
        self.spans.append(Span(name, trace.get_current_span(context), start_time, attributes))
        return self.spans[-1]


def answer() -> AIMessage:
    return AIMessage("secret", usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7})


def test_a_tree_of_spans(call):
    provider = Provider()
    steps = RunnableLambda(lambda x: x, name="first") | GenericFakeChatModel(messages=iter([answer()]))
    call(steps, "invoke", "hi", {"callbacks": [OpenTelemetryTracer(provider)], "run_name": "top", "metadata": {"m": 1}})
    top, first, model = provider.spans
    assert (top.name, first.name, model.name) == ("top", "first", "GenericFakeChatModel")
    assert first.parent is top and model.parent is top and top.parent is trace.INVALID_SPAN
    assert all(span.ended is not None and span.ended >= span.start and span.status is None for span in provider.spans)
    assert model.attributes["gen_ai.operation.name"] == "chat" and model.attributes["clew.metadata.m"] == 1
    assert (model.attributes["gen_ai.usage.input_tokens"], model.attributes["gen_ai.usage.output_tokens"]) == (3, 4)
    assert "secret" not in str([span.attributes for span in provider.spans])


def test_content_when_asked_for_and_errors(call):
    provider = Provider()
    tracer = OpenTelemetryTracer(provider, content=True)
    with pytest.raises(ZeroDivisionError):
        call(RunnableLambda(str) | (lambda x: 1 / 0), "invoke", "hi", {"callbacks": [tracer]})
    top, first, broken = provider.spans
    assert first.attributes["clew.outputs"] == '{"output": "hi"}' and "hi" in top.attributes["clew.inputs"]
    assert broken.status.status_code is trace.StatusCode.ERROR and "ZeroDivisionError" in broken.status.description
