"""Starts of a workflow at set hours, kept in its saver: any number of processes may look, each start happens once.

A schedule is a note in the saver. Whoever calls `run_due` takes the hours that have come, under a lease, and starts
a run for
each on a thread of its own, with an idempotency key: a start that is taken twice is one run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from clew._drive import drive
from clew.checkpoint._journal import IDLE, Batch, Busy, live, new_owner
from clew.func._cron import Cron
from clew.pregel import _state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clew.func._entrypoint import Workflow
    from clew.pregel._state import Reader

_THREAD = "~clew schedules"


class Schedule(NamedTuple):
    """One schedule. catch_up: what happens to hours that passed while nobody looked. last: the last hour that was
    taken, next: the one to come; both seconds since the epoch.
    """

    name: str
    cron: str
    input: Any
    zone: str = "UTC"
    catch_up: Literal["one", "all", "none"] = "one"
    paused: bool = False
    last: float = 0.0

    @property
    def next(self) -> float:
        """The hour to come."""
        return Cron(self.cron, self.zone).after(self.last)

    def due(self, now: float) -> list[float]:
        """Return the hours that have come, oldest first, after catching up as the schedule says."""
        cron, found, at = Cron(self.cron, self.zone), list[float](), self.last
        while (at := cron.after(at)) <= now and len(found) < 10_000:
            found.append(at)
        if self.catch_up == "all":
            return found
        if self.catch_up == "none":
            return [one for one in found[-1:] if now - one < 60]
        return found[-1:]


class Scheduler:
    """The schedules of a workflow.

    `run_due()` starts what is due and returns the thread ids; call it from a loop of yours, a cron job, or use
    `serve()`.
    """

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        workflow.must_have_saver()

    # -- changing ------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        cron: str,
        input: Any,
        *,
        zone: str = "UTC",
        catch_up: Literal["one", "all", "none"] = "one",
        start: float | None = None,
    ) -> Schedule:
        """Start the workflow with `input` whenever `cron` is due, from now (or `start`, seconds since the epoch) on.

        catch_up: hours that passed while no process looked give "one" start, "all" of them, or "none".
        Each start has a thread of its own: "<name>@<hour>". Raises: ValueError for a bad cron expression.
        """
        return drive(self._add(_state.blocking(self.workflow), name, cron, input, zone, catch_up, start))

    async def aadd(
        self,
        name: str,
        cron: str,
        input: Any,
        *,
        zone: str = "UTC",
        catch_up: Literal["one", "all", "none"] = "one",
        start: float | None = None,
    ) -> Schedule:
        """Awaitable `add`."""
        return await self._add(_state.awaiting(self.workflow), name, cron, input, zone, catch_up, start)

    def pause(self, name: str) -> None:
        """Take no hours until `resume`."""
        drive(self._change(_state.blocking(self.workflow), name, paused=True))

    async def apause(self, name: str) -> None:
        """Awaitable `pause`."""
        await self._change(_state.awaiting(self.workflow), name, paused=True)

    def resume(self, name: str) -> None:
        """Take hours again; those that passed meanwhile are caught up as the schedule says."""
        drive(self._change(_state.blocking(self.workflow), name, paused=False))

    async def aresume(self, name: str) -> None:
        """Awaitable `resume`."""
        await self._change(_state.awaiting(self.workflow), name, paused=False)

    def remove(self, name: str) -> None:
        """Forget a schedule; runs that it started stay."""
        drive(self._remove(_state.blocking(self.workflow), name))

    async def aremove(self, name: str) -> None:
        """Awaitable `remove`."""
        await self._remove(_state.awaiting(self.workflow), name)

    def list(self) -> list[Schedule]:
        """Return the schedules by name."""
        return drive(self._read(_state.blocking(self.workflow)))

    async def alist(self) -> list[Schedule]:
        """Awaitable `list`."""
        return await self._read(_state.awaiting(self.workflow))

    # -- running -------------------------------------------------------------------------------------

    def run_due(self, now: float | None = None) -> list[str]:
        """Start what is due and wait for it; returns the ids of the threads. now: seconds since the epoch."""

        async def go(input: Any, config: Any) -> Any:
            return self.workflow.invoke(input, config)

        return drive(self._run_due(_state.blocking(self.workflow), now, go))

    async def arun_due(self, now: float | None = None) -> list[str]:
        """Awaitable `run_due`."""

        async def go(input: Any, config: Any) -> Any:
            return await self.workflow.ainvoke(input, config)

        return await self._run_due(_state.awaiting(self.workflow), now, go)

    def serve(self, *, poll: float = 1.0, stop: Callable[[], bool] | None = None) -> None:
        """Start what is due and take over what died, until `stop()` says so. poll: seconds between two looks."""
        while stop is None or not stop():
            self.run_due()
            self.workflow.recover()
            time.sleep(poll)

    # -- flows ---------------------------------------------------------------------------------------

    def _key(self, name: str) -> str:
        return f"cron:{self.workflow.name}:{name}"

    async def _read(self, reader: Reader) -> list[Schedule]:
        notes = await reader.io.notes(_THREAD, "", self._key(""))
        found = [Schedule(**reader.codec.decode(reader.codec.unseal(_THREAD, raw))) for raw in notes.values()]
        return sorted(found, key=lambda one: one.name)

    def _note(self, reader: Reader, schedule: Schedule) -> tuple[str, bytes]:
        return self._key(schedule.name), reader.codec.seal(_THREAD, reader.codec.encode(schedule._asdict()))

    async def _add(
        self, reader: Reader, name: str, cron: str, input: Any, zone: str, catch_up: Any, start: float | None
    ) -> Schedule:
        if catch_up not in ("one", "all", "none"):
            raise ValueError(f"catch_up is 'one', 'all' or 'none', not {catch_up!r}")
        last = time.time() if start is None else start
        Cron(cron, zone).after(last)
        schedule = Schedule(name, cron, input, zone, catch_up, last=last)
        await self._locked(reader, lambda _: ([self._note(reader, schedule)], None))
        return schedule

    async def _change(self, reader: Reader, name: str, *, paused: bool) -> None:
        def change(schedules: list[Schedule]) -> Any:
            for one in schedules:
                if one.name == name:
                    return [self._note(reader, one._replace(paused=paused))], None
            raise KeyError(f"there is no schedule {name!r}")

        await self._locked(reader, change)

    async def _remove(self, reader: Reader, name: str) -> None:
        await self._locked(reader, lambda _: ([(self._key(name), None)], None))

    async def _locked(self, reader: Reader, change: Callable[[list[Schedule]], Any]) -> Any:
        """Read and change the schedules under a lease; returns what `change` gives beside its notes."""
        owner = new_owner()
        live.add(owner)
        try:
            while True:
                try:
                    place = await reader.io.acquire(_THREAD, "", owner, 30.0)
                    break
                except Busy:
                    await reader.io.sleep(0.005)
            try:
                notes, outcome = change(await self._read(reader))
            except BaseException:
                await reader.io.commit(place, Batch(state=(IDLE, "", b""), release=True))
                raise
            await reader.io.commit(place, Batch(notes=notes, state=(IDLE, "", b""), release=True))
        finally:
            live.discard(owner)
        return outcome

    async def _run_due(self, reader: Reader, now: float | None, go: Callable[[Any, Any], Awaitable[Any]]) -> list[str]:
        at = time.time() if now is None else now

        def take(schedules: list[Schedule]) -> Any:
            notes: list[tuple[str, bytes | None]] = []
            starts: list[tuple[Schedule, float]] = []
            for one in schedules:
                if not one.paused:
                    hours = one.due(at)
                    starts += [(one, hour) for hour in hours]
                    if one.next <= at:
                        notes.append(self._note(reader, one._replace(last=max([one.last, *hours, at - 60]))))
            return notes, starts

        due: list[tuple[Schedule, float]] = await self._locked(reader, take)
        started: list[str] = []
        for schedule, hour in due:
            import datetime

            label = datetime.datetime.fromtimestamp(hour, datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
            thread_id = f"{schedule.name}@{label}"
            config = {"configurable": {"thread_id": thread_id, "idempotency_key": thread_id}}
            started.append(thread_id)
            await go(schedule.input, config)
        return started
