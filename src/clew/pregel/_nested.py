"""A workflow or graph that is called inside a run is a part of that run: one durable call, its tasks below it.

It takes the thread, the saver and the streams of the run around it; its questions are the run's questions. Its result
is kept, so a resumed run does not run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew._run import current
from clew.pregel._flow import Flow
from clew.pregel._spec import Spec

if TYPE_CHECKING:
    from clew.pregel._frame import Frame
    from clew.pregel._pregel import Pregel
    from clew.pregel._stream import Sink

_NOTHING: frozenset[str] = frozenset()


def _enter(
    workflow: Pregel, input: Any, context: Any, options: dict[str, Any], sink: Sink | None, awaited: bool
) -> Flow:
    """Make the frame that is now current that of the inner body."""
    frame: Any = current.get()
    outer = frame.parent
    label = f"{outer.name}:{outer.task_id()}"
    frame.namespace = (*outer.namespace, label)
    if workflow.store is not None or context is not None:
        frame.scope = (workflow.store, workflow.coerce_context(context))
    if sink is not None:
        frame.root.join(sink, frame.namespace)
    flow = Flow(workflow, frame.root, frame, None, input, awaited)
    flow.options = options
    return flow


def _spec(workflow: Pregel, call: Any, *, awaited: bool) -> Spec:
    return Spec(call, workflow.name, retry=(), hidden=True, is_coroutine=awaited, inject=_NOTHING)


def invoke(
    workflow: Pregel,
    frame: Frame,
    input: Any,
    config: Any,
    context: Any,
    options: dict[str, Any],
    sink: Sink | None = None,
) -> Any:
    """Run a workflow inside the run of `frame`, and return its value."""

    def call(_: Any) -> Any:
        flow = _enter(workflow, input, context, options, sink, awaited=False)
        return _ended(workflow, flow, drive(workflow.body(flow)))

    return frame.call(_spec(workflow, call, awaited=False), (input,), {}).result()


async def ainvoke(
    workflow: Pregel,
    frame: Frame,
    input: Any,
    config: Any,
    context: Any,
    options: dict[str, Any],
    sink: Sink | None = None,
) -> Any:
    """Awaitable `invoke`."""
    if frame.root.loop is None:
        raise RuntimeError(
            f"{workflow.name!r} is awaited inside a blocking run: use its invoke, or run the whole with ainvoke"
        )

    async def call(_: Any) -> Any:
        flow = _enter(workflow, input, context, options, sink, awaited=True)
        return _ended(workflow, flow, await workflow.body(flow))

    return await frame.call(_spec(workflow, call, awaited=True), (input,), {})


def _ended(workflow: Pregel, flow: Flow, outcome: Any) -> Any:
    if flow.root.sink is not None:
        workflow.tell(flow, outcome, None)
    return workflow.shown(outcome)
