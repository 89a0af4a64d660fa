"""An attempt from beginning to end, for both faces: begin, body, wait for what is under way, write down the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn, cast

from clew._run import current
from clew.checkpoint._io import Awaiting, Blocking
from clew.config import current_config
from clew.errors import GraphInterrupt
from clew.pregel import _end
from clew.pregel._begin import PREVIOUS, START, Finished, begin
from clew.pregel._config import thread_of
from clew.pregel._flow import Flow
from clew.pregel._frame import Frame
from clew.pregel._root import Root
from clew.pregel._thread import event_notes
from clew.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.pregel._begin import Start
    from clew.pregel._pregel import Options, Pregel
    from clew.types import Interrupt


class Waiting:
    """The outcome of an attempt that stopped at questions. state: what a graph has so far."""

    __slots__ = ("interrupts", "state")

    def __init__(self, interrupts: Sequence[Interrupt], state: Any = None) -> None:
        self.interrupts = tuple(interrupts)
        self.state = state


async def attempt(workflow: Pregel, input: Any, config: Any, options: Options, *, awaited: bool) -> Any:
    """Run to a result or to a question; returns the value, or Waiting.

    A run that stops to wait for an event looks once more, as it may have been sent just before.
    """
    outcome = await _attempt(workflow, input, config, options, awaited=awaited)
    while isinstance(outcome, Waiting) and any((one.key or "").startswith("event:") for one in outcome.interrupts):
        root: Root = options.__dict__["root"]
        place = root.place
        if place is None:
            break
        sent = await root.io.notes(place.thread_id, place.ns, "event:")
        begins = tuple(event_notes(one.key or "") for one in outcome.interrupts)
        if not any(note.startswith(begins) for note in sent):
            break
        outcome = await _attempt(workflow, None, config, options, awaited=awaited)
    return outcome


async def _attempt(workflow: Pregel, input: Any, config: Any, options: Options, *, awaited: bool) -> Any:
    """Run one attempt; returns the value, or Waiting.

    Raises: what the body raises, and the refusals of `begin`.
    """
    root = Root(workflow.name)
    await _equip(root, workflow, config, options, awaited=awaited)
    start = None
    if root.keeps:
        thread_id, ns = thread_of(config)
        try:
            start = await begin(workflow, root, root.io, thread_id, ns, input, config)
        except Finished as finished:
            if root.sink is not None:
                root.sink.update(workflow.name, finished.value, ())
                root.sink.emit("values", finished.value)
            return finished.value
    elif workflow.needs_input and input is None:
        from clew.errors import EmptyInputError

        raise EmptyInputError("nothing is saved, so there is nothing to continue: give an input")
    frame = Frame(root, "", workflow.name, None)
    frame.first = time.time()
    if workflow.namespace is not None:
        frame.namespace = workflow.namespace
    flow = Flow(workflow, root, frame, start, input, awaited)
    flow.options = options.__dict__
    try:
        if start is not None:
            await _recall(workflow, flow, start)
        outcome: Any = await _body(workflow, flow)
        error = None
    except BaseException as caught:
        outcome, error = None, caught
    return await _settle(workflow, flow, start, outcome, error)


async def _equip(root: Root, workflow: Pregel, config: Any, options: Options, *, awaited: bool) -> None:
    """Give the run what the workflow and this call say."""
    options.__dict__["root"] = root
    root.config = config
    root.store = workflow.store
    root.cache = workflow.cache
    root.context = workflow.coerce_context(options.context)
    root.policy = workflow.nondeterminism
    root.sink = options.sink
    root.memo = bool(workflow.retry_policy)
    root.durability = options.durability or workflow.durability
    if options.control is not None:
        root.control = options.control
        root.stop = True
    if awaited:
        import asyncio
        from threading import get_ident

        root.loop = asyncio.get_running_loop()
        root.loop_thread = get_ident()
    saver = workflow.saver_for(config)
    if saver is not None:
        from clew.pregel._foreign import journal_of

        root.journal, root.codec = journal_of(saver)
        root.io = Awaiting(root.journal) if awaited and hasattr(root.journal, "aacquire") else Blocking(root.journal)
        root.quick = getattr(root.journal, "quick", False)
        root.instant = getattr(root.journal, "instant", False)
        root.keeps = True
    if config:
        limit = config.get("max_concurrency")
        if limit is not None:
            from clew.pregel._limit import Slots

            root.slots = Slots(limit)
    if options.messages or _listens(config):
        _observe(root, workflow, options, awaited=awaited)


def _run_name(root: Root) -> str | None:
    return root.config.get("run_name") if root.config else None


def _listens(config: Any) -> bool:
    from clew.callbacks import anyone_listening

    return anyone_listening(config.get("callbacks") if config else None)


def _observe(root: Root, workflow: Pregel, options: Options, *, awaited: bool) -> None:
    """Make the callback manager of the run."""
    from clew.callbacks import AsyncCallbackManager, CallbackManager

    config: dict[str, Any] = root.config or {}
    kind = AsyncCallbackManager if awaited else CallbackManager
    root.manager = kind.configure(
        config.get("callbacks"), None, False, config.get("tags"), None, config.get("metadata"), None
    )
    if options.messages:
        from clew.pregel._messages import StreamMessages

        assert root.sink is not None
        root.manager.add_handler(StreamMessages(root.sink, root))


async def _recall(workflow: Pregel, flow: Flow, start: Start) -> None:
    """Read from the checkpoint what the body needs."""
    body, values = start.body, start.values
    if flow.input is None or not start.fresh:
        flow.input = await values.value(body.values[START]) if START in body.values else MISSING
    if workflow.wants_previous and PREVIOUS in body.values:
        flow.root.previous_ = await values.value(body.values[PREVIOUS])


async def _body(workflow: Pregel, flow: Flow) -> Any:
    """Run the body in its context: the frame, and the config when there is anything in it."""
    root, frame = flow.root, flow.frame
    token = current.set(frame)
    config_token = None
    try:
        if root.manager is not None:
            started = root.manager.on_chain_start(None, flow.input, name=_run_name(root) or workflow.name)
            run = frame.run_manager = await started if flow.awaited else started
            whole: Any = dict(root.full_config())
            whole["callbacks"] = run.get_child()
            for key in ("run_name", "run_id"):
                whole.pop(key, None)
            frame.config_ = whole
            config_token = current_config.set(whole)
        elif root.config:
            config_token = current_config.set(root.config)
        if flow.awaited:
            import asyncio

            frame.task = asyncio.current_task()
        if root.sink is not None and workflow.is_task:
            root.sink.started(frame.task_id(), workflow.name, flow.input, frame.namespace, (START,))
        return await workflow.body(flow)
    finally:
        current.reset(token)
        if config_token is not None:
            current_config.reset(config_token)


async def _settle(workflow: Pregel, flow: Flow, start: Start | None, outcome: Any, error: BaseException | None) -> Any:
    """Wait for what is under way, decide how the attempt ended, write that down, tell observers."""
    root = flow.root
    abandon = error is not None and not isinstance(error, GraphInterrupt)
    if root.live:
        await _see_out(flow, abandon=abandon)
    error = _judge(root, error)
    if error is None and start is not None and not start.fresh and root.policy != "rerun" and workflow.is_task:
        error = _left_out(root)
    try:
        if error is None:
            if start is not None:
                await workflow.finish(flow, start, outcome)
            return await _told(workflow, flow, workflow.shown(outcome), None)
        if isinstance(error, GraphInterrupt):
            if start is not None:
                await workflow.hold(flow, start)
                await _end.pause(root, start, error.interrupts)
            return await _told(workflow, flow, Waiting(error.interrupts, workflow.state_so_far(flow)), error)
        if start is not None:
            await _note_failure(workflow, flow, start, error)
    except BaseException as worse:
        await _could_not_save(workflow, flow, start, worse, error)
    await _told(workflow, flow, None, error)
    final = _end.for_caller(root, error)
    if final is error:
        raise error
    raise final from None


async def _see_out(flow: Flow, *, abandon: bool) -> None:
    """Wait until no task is under way."""
    if flow.awaited:
        from clew.pregel._awaiting import drain

        await drain(flow.root, abandon=abandon)
    else:
        flow.root.drain(abandon=abandon)


def _left_out(root: Root) -> BaseException | None:
    """Return the mismatch of a body that ended before it came to all that is on record."""
    left = root.unmet()
    if left is None:
        return None
    try:
        root.differs("(end)", left, "nothing: it ended before that call")
    except BaseException as found:
        return found
    return None


async def _could_not_save(
    workflow: Pregel, flow: Flow, start: Start | None, worse: BaseException, error: BaseException | None
) -> NoReturn:
    """Raise what kept the end of an attempt from being written down."""
    if start is not None:
        _lose(start)
    await _told(workflow, flow, None, worse)
    cause = error if worse is not error and not isinstance(error, GraphInterrupt) else None
    raise _end.for_caller(flow.root, worse) from cause


def _judge(root: Root, error: BaseException | None) -> BaseException | None:
    """Return why the attempt did not end well, or None; a pause or stop that was swallowed is found again."""
    found = root.verdict()
    if error is None:
        return found
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group
        pauses, rest = group.split(GraphInterrupt)
        if rest is None and pauses is not None:
            error = found if found is not None else GraphInterrupt(root.pending())
        elif pauses is not None and rest is not None:
            error = rest
    if isinstance(error, GraphInterrupt):
        return found if found is not None else error
    if found is not None and (found is root.broken or found is root.mismatch):
        return found
    return error


async def _note_failure(workflow: Pregel, flow: Flow, start: Start, error: BaseException) -> None:
    """Write down why the run ended; when that can't be, the error itself still reaches the caller."""
    root = flow.root
    try:
        if root.broken is None:
            await workflow.hold(flow, start)
        await _end.fail(root, start, error)
    except BaseException as worse:
        _lose(start)
        if worse is not error and root.broken is None:
            error.add_note(f"the end of this run could not be saved: {type(worse).__name__}: {worse}")


def _lose(start: Start) -> None:
    from clew.pregel import _lease

    _lease.drop(start.place.owner)


async def _told(workflow: Pregel, flow: Flow, outcome: Any, error: BaseException | None) -> Any:
    """Tell observers how the attempt ended; returns the outcome."""
    root, frame = flow.root, flow.frame
    sink = root.sink
    if sink is not None:
        workflow.tell(flow, outcome, error)
    run = frame.run_manager
    if run is not None:
        if error is None:
            pending = run.on_chain_end(outcome)
        elif isinstance(error, GraphInterrupt):
            pending = run.on_chain_end({"__interrupt__": list(error.interrupts)})
        else:
            pending = run.on_chain_error(error)
        if pending is not None and hasattr(pending, "__await__"):
            await pending
    return outcome
