"""The body of a compiled graph: supersteps, until nothing is left to run.

A step runs its nodes as durable tasks, folds their updates into the state, and asks the plan where to go. On a thread
of its own the state is a checkpoint after each step; inside another run, and with durability "exit", the steps are
replayed from the records of the nodes instead, which have a fixed place each: step and number.
Invariant: the state after a step depends on the outcomes of its nodes and on their order in the plan, never on which
node was faster.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, cast

from clew._ids import sortable_id
from clew.checkpoint import _records as R
from clew.checkpoint._journal import IDLE, RUNNING, Batch, Fenced, Row
from clew.errors import Cancelled, GraphInterrupt, GraphRecursionError, InvalidUpdateError, NodeError, Signal
from clew.graph._job import Job, Outcome, command_of, goto_of, targets_of
from clew.graph._plan import END, START, Call, Position
from clew.graph._position import pack_position, unpack_position
from clew.graph._saving import Ledger
from clew.graph._state import apply, as_update, start_values
from clew.pregel import _end
from clew.types import MISSING, Command

if TYPE_CHECKING:
    from clew.graph._compiled import CompiledStateGraph
    from clew.pregel._begin import Start
    from clew.pregel._flow import Flow
    from clew.pregel._future import TaskFuture


class Steps:
    """One attempt of a graph's run.

    values, position: where it stands. last: the nodes of the step before. step: number of the newest checkpoint.
    saves: each step is a checkpoint. up: the Command for the graph around that ended this one, or None.
    """

    def __init__(self, graph: CompiledStateGraph, flow: Flow) -> None:
        self.graph = graph
        self.flow = flow
        self.root = flow.root
        self.start: Start | None = flow.start
        self.saves = flow.start is not None and flow.root.durability != "exit"
        self.ledger = None if flow.start is None else Ledger(flow.start.values)
        self.values: dict[str, Any] = {}
        self.position = Position()
        self.last: tuple[str, ...] = ()
        self.step = -1
        self.taken = 0
        self.up: Command[Any] | None = None
        config: Any = flow.root.config or {}
        self.limit = int(config.get("recursion_limit") or graph.recursion_limit)

    async def run(self) -> Steps:
        """Run to the end; returns itself, with the final values not yet saved."""
        await self._load()
        first = True
        while self.position.next:
            if self.root.stop is not None:
                self.root.check()
            if self.taken >= self.limit:
                raise GraphRecursionError(
                    f"{self.graph.name!r} took {self.limit} steps and has not come to its end; next would be "
                    f"{self.next_names()}. Raise the limit with config={{'recursion_limit': ...}} if that is right"
                )
            await self._breakpoint(fresh=not first)
            first = False
            await self._step()
            if self.up is not None:
                return self
        return self

    def next_names(self) -> tuple[str, ...]:
        """Return the nodes that would run next."""
        return tuple(call.node for call in self.position.next)

    # -- where to begin ------------------------------------------------------------------------------

    async def _load(self) -> None:
        graph, start = self.graph, self.start
        if start is None or self.ledger is None:
            self.values = start_values(graph.channels)
            await self._enter(self.flow.input)
            return
        body = start.body
        self.step = body.step
        for key, ref in body.values.items():
            if key in graph.channels:
                self.values[key] = await self.ledger.read(key, ref)
        self.values = {**start_values(graph.channels), **self.values}
        if START in body.values:
            await self._enter(self.flow.input)
            return
        self.position, self.last = unpack_position(body.private, self.root.codec)
        command = self.flow.command
        if command is not None:
            self._obey(command)

    async def _enter(self, given: Any) -> None:
        """Fold the input into the state and find the first nodes."""
        if given is MISSING or given is None:
            given = {}
        if isinstance(given, Command):
            self.position = Position()
            self._obey(cast("Command[Any]", given))
            return
        graph = self.graph
        update = as_update(given, graph.builder.input, START)
        targets: list[Any] = []
        if graph.entry.node.branches:
            job = Job(graph.entry.node, Call(START, given, True), self.values, self.limit)
            future = self._call(graph.entry, job, "s0")
            outcome = await self._wait(future)
            targets = [targets_of(one) for one in outcome[1]]
        self.values = apply(graph.channels, self.values, [(START, update)])
        self.position = graph.plan.advance(Position(), [(START, targets)])
        await self._commit()
        self._tell_values()

    def _obey(self, command: Command[Any]) -> None:
        """Apply the update and goto of a Command that a caller gave."""
        if command.update is not None:
            update = as_update(command.update, self.graph.schema, "the Command")
            self.values = apply(self.graph.channels, self.values, [("the Command", update)])
        targets = goto_of(command)
        if targets:
            self.graph.check_targets("the Command", targets)
            self.position = self.graph.plan.advance(Position(), [("the Command", targets)])

    # -- one step ------------------------------------------------------------------------------------

    async def _step(self) -> None:
        calls = self.position.next
        jobs = [Job(self.graph.node(call.node), call, self.values, self.limit - self.taken) for call in calls]
        alone = len(calls) == 1 and self.saves
        self.root.step = self.step + 1
        began = time.time()
        futures: list[TaskFuture] = []
        for number, job in enumerate(jobs):
            place = f"s{self.step + 1}-{number}"
            if alone:
                self.root.unkept = self.flow.frame.prefix + place
            futures.append(self._call(self.graph.runners[job.node.name], job, place))
        try:
            outcomes = await self._outcomes(futures, jobs)
        finally:
            self.root.unkept = None
        for outcome in outcomes:
            if outcome[2] is not None:
                self.up = command_of(outcome[2])
                return
        self._advance(jobs, outcomes)
        if alone:
            kept = R.Result(futures[0].path, calls[0].node, b"", b"", began, time.time(), 1, "step")
            await self._commit(kept)
        else:
            await self._commit()
        self._tell_values()

    def _call(self, runner: Any, job: Job, place: str) -> TaskFuture:
        spec = runner.awaited if self.flow.awaited else runner.blocking
        return self.flow.frame.call(spec, (job,), {}, place=place)

    async def _outcomes(self, futures: list[TaskFuture], jobs: list[Job]) -> list[Outcome]:
        """Wait for all nodes of the step; what finished is kept, also when another failed or asks something."""
        outcomes: list[Outcome] = []
        failure: BaseException | None = None
        pause: GraphInterrupt | None = None
        for number, future in enumerate(futures):
            try:
                outcomes.append(await self._wait(future))
            except GraphInterrupt as asked:
                pause = asked
            except Signal:
                raise
            except Exception as error:
                handler = self.graph.runners[jobs[number].node.name].handler
                if handler is not None:
                    outcomes.append(await self._handled(jobs[number], handler, error, number))
                elif failure is None:
                    failure = error
        if failure is not None:
            raise failure
        if pause is not None:
            raise GraphInterrupt(self.root.pending() or pause.interrupts)
        return outcomes

    async def _wait(self, future: TaskFuture) -> Outcome:
        return await self.flow.wait(future)

    async def _handled(self, job: Job, handler: Any, error: Exception, number: int) -> Outcome:
        """Return the outcome that a node's error handler gives in its place."""
        runner = self.graph.handler_of(job.node, handler)
        told = (job.state(), NodeError(job.node.name, error))
        asked = Job(runner.node, Call(job.node.name, told, True), self.values, 0)
        return await self._wait(self._call(runner, asked, f"s{self.step + 1}-{number}-error"))

    def _advance(self, jobs: list[Job], outcomes: list[Outcome]) -> None:
        graph = self.graph
        if len(jobs) == 1 and jobs[0].after is not None:
            self.values = jobs[0].after
        else:
            updates = [(job.node.name, one) for job, outcome in zip(jobs, outcomes, strict=True) for one in outcome[0]]
            self.values = apply(graph.channels, self.values, updates) if updates else self.values
        done = [
            (job.node.name, [targets_of(one) for one in outcome[1]])
            for job, outcome in zip(jobs, outcomes, strict=True)
        ]
        for name, targets in done:
            if targets:
                graph.check_targets(name, targets)
        self.position = graph.plan.advance(self.position, done)
        self.last = tuple(job.node.name for job in jobs)
        self.taken += 1

    # -- stops ---------------------------------------------------------------------------------------

    async def _breakpoint(self, *, fresh: bool) -> None:
        """Stop before or after nodes as compile() was told, once at each place.

        A call that goes on with a thread (`invoke(None)`, also after `update_state`) does not stop where it begins.
        """
        graph = self.graph
        if not (graph.stops_at(self.next_names(), graph.before) or graph.stops_at(self.last, graph.after)):
            return
        root, name = self.root, f"break:{self.flow.frame.path}:{self.step}"
        root.must_keep("interrupt_before/interrupt_after")
        if not fresh and self.start is None and name in root.marks:
            return
        if not fresh and self.start is not None and not self.start.fresh and self.start.place.state != RUNNING:
            return  # in the state RUNNING its process died, maybe before anybody saw that it stopped
        mark = R.Mark(name, root.codec.encode(True))
        root.marks[name] = mark.value
        root.save(mark)
        raise GraphInterrupt(())

    # -- writing -------------------------------------------------------------------------------------

    def body_of(self, source: str, step: int, run: str) -> tuple[R.Body, Any]:
        """Return the state as the body of a checkpoint, and the rows of values to write with it."""
        assert self.ledger is not None
        assert self.start is not None
        refs, rows = self.ledger.write(self.values)
        private = pack_position(self.position, self.last, self.root.codec)
        body = R.Body(
            time.time(), source, step, refs, self.root.name, self.start.body.metadata, private, None, None, None, run
        )
        return body, rows

    async def _commit(self, *records: R.Record) -> None:
        """Make the state a checkpoint; the last one of a run is left to `finish`."""
        self.step += 1
        start, root = self.start, self.root
        if start is None or not self.saves:
            return
        seal, thread = root.codec.seal, root.thread_id or ""
        kept = root.take_backlog()
        kept += [(root.at or "", next(root.numbers), seal(thread, R.pack(one))) for one in records]
        if not self.position.next:
            root.backlog.extend(kept)
            return
        body, rows = self.body_of("loop", self.step, root.run_id or "")
        row = Row(sortable_id(), root.at, seal(thread, R.pack(body)))
        try:
            await start.io.commit(start.place, Batch(checkpoint=row, values=rows, records=kept))
        except Fenced:
            root.stop = Cancelled()
            raise root.stop from None
        except BaseException as error:
            root.broken = error
            raise
        self._moved(row, body)

    def _moved(self, row: Row, body: R.Body) -> None:
        """Let what comes belong to the new checkpoint."""
        root = self.root
        root.at = row.id
        root.numbers = itertools.count()
        root.records = {}
        root.attempts = {}
        root.marks = {}
        root.met.clear()
        root.failed.clear()
        root.dirty = True
        assert self.start is not None
        self.start.body = body
        self.tell_checkpoint(row)

    async def finish(self) -> None:
        """Write the last checkpoint of the run and give the thread back."""
        start, root = self.start, self.root
        assert start is not None
        if self.up is not None:
            raise InvalidUpdateError(
                f"a node of {self.graph.name!r} gave a Command for Command.PARENT, and no graph is around it"
            )
        body, rows = self.body_of("loop", self.step, "")
        parent, drops = root.at, ()
        if not self.saves and start.fresh:
            parent = None if start.place.head is None else start.place.head.id
            drops = (root.at or "",)
        row = Row(sortable_id(), parent, root.codec.seal(root.thread_id or "", R.pack(body)))
        notes: list[tuple[str, bytes | None]] = []
        if start.idempotency is not None:
            seal = root.codec.seal(root.thread_id or "", root.codec.encode((root.at, row.id)))
            notes.append((start.idempotency, seal))
        records = [] if drops else root.take_backlog()
        await _end.close(root, start, Batch(
            checkpoint=row, values=rows, records=records, notes=notes, drops=drops,
            state=(IDLE, root.name, b""), release=True,
        ))  # fmt: skip
        root.done = row.id
        start.body = body
        self.tell_checkpoint(row)

    # -- telling -------------------------------------------------------------------------------------

    def _tell_values(self) -> None:
        sink = self.root.sink
        if sink is not None:
            sink.emit("values", self.graph.visible(self.values, self.flow.options), self.flow.frame.namespace)

    def tell_checkpoint(self, row: Row) -> None:
        """Tell the stream of a checkpoint that is on disk."""
        sink = self.root.sink
        if sink is not None and self.start is not None:
            from clew.graph._telling import checkpoint_event

            sink.checkpoint(lambda: checkpoint_event(self, row), self.flow.frame.namespace, self.step)


__all__ = ["END", "Steps"]
