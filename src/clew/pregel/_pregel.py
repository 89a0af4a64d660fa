"""What an entrypoint and a compiled graph are: something that runs on threads, with all the documented verbs.

The verbs are doors; each leads to the file that holds the idea. A subclass brings the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from clew._drive import drive
from clew._run import current
from clew.errors import MissingSaverError
from clew.pregel._config import merged
from clew.runnables.base import Runnable
from clew.types import Command, GraphOutput, ensure_valid_checkpointer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.checkpoint import _records as R
    from clew.checkpoint._journal import Row
    from clew.config import RunnableConfig
    from clew.pregel._begin import Start
    from clew.pregel._flow import Flow
    from clew.pregel._stream import Sink
    from clew.pregel._thread import Known, Values
    from clew.runtime import RunControl
    from clew.types import Durability, Multitask, PregelTask, RetryPolicy, StateSnapshot, StateUpdate


class Options:
    """What one call says beside input and config."""

    __slots__ = ("__dict__", "context", "control", "durability", "messages", "sink")

    def __init__(
        self,
        *,
        context: Any = None,
        control: RunControl | None = None,
        durability: Durability | None = None,
        sink: Sink | None = None,
        messages: bool = False,
        **more: Any,
    ) -> None:
        self.context = context
        self.control = control
        self.durability = durability
        self.sink = sink
        self.messages = messages
        self.__dict__.update(more)


class Pregel(Runnable[Any, Any]):
    """Base of workflows and compiled graphs.

    checkpointer: a saver, or None: then nothing is kept and no thread is needed. lease: seconds after which a run whose
    process is gone may be taken over. multitask: what happens when a thread is busy. nondeterminism: what happens
    when a
    resumed run does something else than is on record. retry_policy: for the body as a whole.
    """

    name: str
    is_task: ClassVar[bool] = False  # the body is itself one task for observers and streams
    refuses_input: ClassVar[bool] = False  # a new input while a question waits is an error
    needs_input: ClassVar[bool] = True
    default_mode: ClassVar[Any] = "values"
    wants_previous = False
    namespace: tuple[str, ...] | None = None

    def __init__(
        self,
        name: str,
        *,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: Any = None,
        lease: float = 30.0,
        multitask: Multitask = "reject",
        nondeterminism: Literal["raise", "warn", "rerun"] = "raise",
        retry_policy: Sequence[RetryPolicy] = (),
        durability: Durability = "sync",
        version: str | int | None = None,
    ) -> None:
        self.version = None if version is None else str(version)
        self.name = name  # pyright: ignore[reportIncompatibleVariableOverride] - a workflow always has one
        self.checkpointer = ensure_valid_checkpointer(checkpointer)
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        self.lease = float(lease)
        if self.lease <= 0:
            raise ValueError(f"lease is a positive number of seconds, not {lease}")
        self.multitask = multitask
        if multitask not in ("reject", "enqueue", "interrupt", "rollback"):
            raise ValueError(f"multitask_strategy is 'reject', 'enqueue', 'interrupt' or 'rollback', not {multitask!r}")
        self.nondeterminism = nondeterminism
        if nondeterminism not in ("raise", "warn", "rerun"):
            raise ValueError(f"nondeterminism is 'raise', 'warn' or 'rerun', not {nondeterminism!r}")
        self.retry_policy = tuple(retry_policy)
        self.durability: Durability = durability

    # -- what a subclass brings ----------------------------------------------------------------------

    async def body(self, flow: Flow) -> Any:
        """Run to the end; returns what `finish` and `shown` take."""
        raise NotImplementedError

    async def finish(self, flow: Flow, start: Start, outcome: Any) -> None:
        """Write the last checkpoint of the run and give the thread back."""
        raise NotImplementedError

    def shown(self, outcome: Any) -> Any:
        """Return what the caller gets of an outcome."""
        return outcome

    def tell(self, flow: Flow, outcome: Any, error: BaseException | None) -> None:
        """Send the last events of an attempt to the stream."""

    async def hold(self, flow: Flow, start: Start) -> None:
        """Write what a pause or failure must find on disk, before that is written down."""

    async def result_at(self, values: Values, body: R.Body) -> Any:
        """Return what a run gave its caller, from its last checkpoint."""
        return await values.value(body.values.get("__end__"))

    def is_open(self, body: R.Body) -> bool:
        """Say whether the run that wrote this checkpoint has not come to its end."""
        return body.source in ("input", "fork")

    def takes_command(self, command: Command[Any]) -> bool:
        """Say whether a Command without resume= means something here."""
        return False

    def private_of_input(self, body: R.Body | None) -> bytes | None:
        """Return the position that goes into the checkpoint of a new input."""
        return None

    def state_so_far(self, flow: Flow) -> Any:
        """Return the state to show beside questions, or None."""
        return None

    # -- surroundings --------------------------------------------------------------------------------

    def coerce_context(self, context: Any) -> Any:
        """Return the context as its schema has it."""
        schema = self.context_schema
        given = context
        if isinstance(context, dict) and isinstance(schema, type) and not issubclass(cast("Any", schema), dict):
            return cast("Any", schema)(**given)
        return given

    def saver_for(self, config: Any) -> Any:
        """Return the saver of this call, or None."""
        return self.checkpointer if self.checkpointer not in (None, False, True) else None

    def must_have_saver(self) -> Any:
        """Return the saver; raises MissingSaverError."""
        saver = self.saver_for(None)
        if saver is None:
            raise MissingSaverError(f"{self.name!r} has no saver (checkpointer=), so it keeps no state")
        return saver

    # -- running -------------------------------------------------------------------------------------

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: Any = "values",
        output_keys: Any = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **options: Any,
    ) -> Any:
        """Run to the end, or to the next question, and return the value.

        input: for a new run; None goes on with an unfinished one; Command(resume=...) answers. A run that waits returns
        {"__interrupt__": [Interrupt, ...]}. version="v2": a GraphOutput. Other stream modes: the list of their events.
        """
        if stream_mode != "values":
            return list(self.stream(
                input, config, context=context, stream_mode=stream_mode, output_keys=output_keys, durability=durability,
                control=control, version=version, **options,
            ))  # fmt: skip
        frame: Any = current.get()
        if frame is not None and self._nests(config):
            from clew.pregel._nested import invoke

            return invoke(self, frame, input, config, context, {**options, "output_keys": output_keys})
        from clew.pregel._run import attempt

        more = Options(context=context, control=control, durability=durability, output_keys=output_keys, **options)
        return result(drive(attempt(self, input, merged(config), more, awaited=False)), version)

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: Any = "values",
        output_keys: Any = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **options: Any,
    ) -> Any:
        """Awaitable `invoke`, on the caller's event loop."""
        if stream_mode != "values":
            items = self.astream(
                input, config, context=context, stream_mode=stream_mode, output_keys=output_keys, durability=durability,
                control=control, version=version, **options,
            )  # fmt: skip
            return [item async for item in items]
        frame: Any = current.get()
        if frame is not None and self._nests(config):
            from clew.pregel._nested import ainvoke

            return await ainvoke(self, frame, input, config, context, {**options, "output_keys": output_keys})
        from clew.pregel._run import attempt

        more = Options(context=context, control=control, durability=durability, output_keys=output_keys, **options)
        return result(await attempt(self, input, merged(config), more, awaited=True), version)

    def _nests(self, config: RunnableConfig | None) -> bool:
        """Say whether a call from inside a run is part of that run: yes, unless it names a thread of its own saver."""
        if self.saver_for(config) is None:
            return True
        frame: Any = current.get()
        named = (config or {}).get("configurable", {}).get("thread_id")
        return named is None or (str(named) == frame.root.thread_id and frame.root.keeps)

    def stream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: Any = None,
        output_keys: Any = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **options: Any,
    ) -> Iterator[Any]:
        """Yield events while the run goes on.

        stream_mode: "updates" | "values" | "custom" | "messages" | "tasks" | "checkpoints" | "debug", or a list of
        them:
        then (mode, data). subgraphs: with their namespace first. Closing the iterator stops the run at its next task.
        """
        from clew.pregel._streaming import stream

        more = {"context": context, "control": control, "durability": durability, "output_keys": output_keys, **options}
        return stream(self, input, config, stream_mode, subgraphs, version, more)

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: Any = None,
        output_keys: Any = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Awaitable `stream`."""
        from clew.pregel._streaming import astream

        more = {"context": context, "control": control, "durability": durability, "output_keys": output_keys, **options}
        items = astream(self, input, config, stream_mode, subgraphs, version, more)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    # -- state ---------------------------------------------------------------------------------------

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a thread: at the checkpoint that the config names, or now."""
        from clew.pregel import _state

        return drive(_state.get(self, _state.blocking(self), config))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Awaitable `get_state`."""
        from clew.pregel import _state

        return await _state.get(self, _state.awaiting(self), config)

    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """Yield the states of a thread, newest first. filter: metadata that must be equal."""
        from clew.pregel import _state

        items = _state.history(self, _state.blocking(self), config, filter, before, limit)
        while True:
            try:
                yield drive(items.__anext__())  # type: ignore[arg-type] - an async generator's step is a coroutine
            except StopAsyncIteration:
                return

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Awaitable `get_state_history`."""
        from clew.pregel import _state

        async for item in _state.history(self, _state.awaiting(self), config, filter, before, limit):
            yield item

    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Write a checkpoint with changed values after the one that the config names; returns its config."""
        from clew.pregel import _state

        return drive(_state.update(self, _state.blocking(self), config, values, as_node))

    async def aupdate_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Awaitable `update_state`."""
        from clew.pregel import _state

        return await _state.update(self, _state.awaiting(self), config, values, as_node)

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Apply several updates one after another."""
        for step in supersteps:
            for update in step:
                config = self.update_state(config, update.values, update.as_node)
        return config

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Awaitable `bulk_update_state`."""
        for step in supersteps:
            for update in step:
                config = await self.aupdate_state(config, update.values, update.as_node)
        return config

    def no_values(self) -> Any:
        """Return the values of a thread that has none."""
        return None

    async def values_of(self, values: Values, body: R.Body) -> Any:
        """Return the values of a checkpoint as snapshots show them."""
        raise NotImplementedError

    async def tasks_of(self, values: Values, row: Row, body: R.Body, known: Known) -> tuple[PregelTask, ...]:
        """Return what would run next from a checkpoint."""
        raise NotImplementedError

    async def updated(
        self, values: Values, body: R.Body | None, known: Known, update: Any, as_node: str | None, *, forks: bool
    ) -> tuple[dict[str, R.Ref], list[tuple[int, int, bytes]], bytes | None]:
        """Return what `update_state` writes: references by channel, rows of values, private position."""
        raise NotImplementedError

    # -- threads -------------------------------------------------------------------------------------

    def cancel(self, config: RunnableConfig) -> bool:
        """End the run of a thread, here or in any process, or withdraw the question it waits on.

        Returns: whether there was anything to end. A running one stops at its next task; its caller gets
        RunCancelledError.
        """
        from clew.pregel import _threads

        return drive(_threads.cancel(self, _threads.blocking(self), config))

    async def acancel(self, config: RunnableConfig) -> bool:
        """Awaitable `cancel`."""
        from clew.pregel import _threads

        return await _threads.cancel(self, _threads.awaiting(self), config)

    def recover(self) -> list[str]:
        """Finish the runs whose process is gone; returns the ids of their threads."""
        from clew.pregel import _threads

        return drive(_threads.recover(self, _threads.blocking(self), self._go_on))

    async def arecover(self) -> list[str]:
        """Awaitable `recover`."""
        from clew.pregel import _threads

        async def go_on(config: Any) -> Any:
            return await self.ainvoke(None, config)

        return await _threads.recover(self, _threads.awaiting(self), go_on)

    async def _go_on(self, config: Any) -> Any:
        return self.invoke(None, config)

    def fork(
        self,
        config: RunnableConfig,
        *,
        before: int | None = None,
        results: dict[int, Any] | None = None,
        what_if: bool = False,
    ) -> RunnableConfig:
        """Make a new thread that stands where this one's run was before its n-th task; `invoke(None)` runs the rest.

        before: how many task results to keep, in call order. results: changed results, by number. what_if: keep all
        results but those that depend on a changed one. Returns: the new thread's config.
        """
        from clew.pregel import _threads

        return drive(_threads.fork(self, _threads.blocking(self), config, before, results or {}, what_if=what_if))

    async def afork(
        self,
        config: RunnableConfig,
        *,
        before: int | None = None,
        results: dict[int, Any] | None = None,
        what_if: bool = False,
    ) -> RunnableConfig:
        """Awaitable `fork`."""
        from clew.pregel import _threads

        return await _threads.fork(self, _threads.awaiting(self), config, before, results or {}, what_if=what_if)

    def send(self, config: RunnableConfig, event: str, value: Any = None) -> Any:
        """Deliver an event to a thread: wakes a run that stands at `wait_for(event)`, or is kept until one comes there.

        Returns: what the woken run returns, or None when the event was only kept.
        """
        from clew.pregel import _threads

        async def resume(command: Command[Any]) -> Any:
            return self.invoke(command, config)

        return drive(_threads.send(self, _threads.blocking(self), config, event, value, resume))

    async def asend(self, config: RunnableConfig, event: str, value: Any = None) -> Any:
        """Awaitable `send`."""
        from clew.pregel import _threads

        async def resume(command: Command[Any]) -> Any:
            return await self.ainvoke(command, config)

        return await _threads.send(self, _threads.awaiting(self), config, event, value, resume)


def result(outcome: Any, version: str) -> Any:
    """Return an outcome as `invoke` gives it."""
    from clew.pregel._run import Waiting

    if isinstance(outcome, Waiting):
        if version == "v2":
            return GraphOutput(outcome.state, outcome.interrupts)
        state: Any = outcome.state
        if not outcome.interrupts:  # a breakpoint: nothing is asked
            return state
        shown: dict[str, Any] = dict(state) if isinstance(state, dict) else {}  # pyright: ignore[reportUnknownArgumentType] - a state
        shown["__interrupt__"] = list(outcome.interrupts)
        return shown
    return GraphOutput(outcome) if version == "v2" else outcome
