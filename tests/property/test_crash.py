"""A process that dies after any write: what is resumed ends as if nothing had happened, nothing finished runs again.

A program is a list of steps (tasks in a row, side by side, inside each other, failing and caught, tried again,
questions). The machine runs it on a journal that dies at a chosen write, before or after that write took hold, as often
as it likes, and compares with the model: the program run once, with no journal at all.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clew.checkpoint._io import Inline
from clew.checkpoint._views import JournalSaver
from clew.checkpoint.memory import MemoryJournal
from clew.func import entrypoint, sleep, task
from clew.types import Command, RetryPolicy, interrupt

STEPS = ["task", "pair", "side by side", "caught", "retried", "ask", "ask inside", "sleep"]


class Died(BaseException):
    """The process is gone."""


class MortalJournal(Inline):
    """A journal in memory that dies at its n-th write. after: the write still takes hold."""

    def __init__(self) -> None:
        self.kept = MemoryJournal()
        self.left = -1
        self.after = False
        self.dead = False

    def _write(self, call: Any) -> Any:
        if self.dead:
            raise Died
        if self.left == 0:
            self.dead = True
            if self.after:
                call()
            raise Died
        self.left -= 1
        return call()

    def acquire(self, *args: Any, **kwargs: Any) -> Any:
        return self._write(lambda: self.kept.acquire(*args, **kwargs))

    def commit(self, *args: Any) -> Any:
        return self._write(lambda: self.kept.commit(*args))

    def renew(self, *args: Any) -> Any:
        return self.kept.renew(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept, name)


class MortalSaver(JournalSaver):
    _journal_home = True

    def __init__(self, journal: MortalJournal) -> None:
        super().__init__(journal)


class Life:
    """What happens outside: which tasks began, and whose results the body has seen."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.again: list[str] = []
        self.failures: dict[str, int] = {}

    def begin(self, name: str) -> None:
        if name in self.used:
            self.again.append(name)


def build(saver: Any, program: list[str], life: Life) -> Any:
    failures = life.failures

    @task
    def step(name: str) -> str:
        life.begin(name)
        return name.upper()

    @task
    def pair(name: str) -> list[str]:
        life.begin(name)
        first = step(f"{name}a").result()
        life.used.add(f"{name}a")
        second = step(f"{name}b").result()
        life.used.add(f"{name}b")
        return [first, second]

    @task
    def bad(name: str) -> str:
        life.begin(name)
        raise LookupError(name)

    @task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=KeyError))
    def shaky(name: str) -> str:
        life.begin(name)
        failures[name] = failures.get(name, 0) + 1
        if failures[name] == 1:
            raise KeyError(name)
        return name

    @task
    def ask(name: str) -> Any:
        life.begin(name)
        return interrupt(name)

    def one(kind: str, name: str) -> Any:
        if kind == "side by side":
            futures = [step(f"{name}{i}") for i in range(3)]
            found = []
            for i, future in enumerate(futures):
                found.append(future.result())
                life.used.add(f"{name}{i}")
            return found
        if kind == "caught":
            try:
                bad(name).result()
            except LookupError as error:
                life.used.add(name)
                return str(error)
        if kind == "ask":
            return interrupt(name)
        if kind == "sleep":
            sleep(0)
            return None
        call = {"task": step, "pair": pair, "retried": shaky, "ask inside": ask}[kind]
        value = call(name).result()
        life.used.add(name)
        return value

    @entrypoint(checkpointer=saver)
    def flow(given: int) -> Any:
        return [given, *(one(kind, f"{kind}-{number}") for number, kind in enumerate(program))]

    return flow


def expected(program: list[str]) -> list[Any]:
    found: list[Any] = [7]
    for number, kind in enumerate(program):
        name = f"{kind}-{number}"
        found.append({
            "task": name.upper(), "pair": [f"{name}a".upper(), f"{name}b".upper()], "caught": name, "retried": name,
            "side by side": [f"{name}{i}".upper() for i in range(3)], "ask": f"re {name}", "ask inside": f"re {name}",
            "sleep": None,
        }[kind])  # fmt: skip
    return found


class Crashes(RuleBasedStateMachine):
    """Attempts that die at some write, and attempts that live, in any order."""

    @initialize(program=st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
    def begin(self, program: list[str]) -> None:
        self.program = program
        self.life = Life()
        self.journal = MortalJournal()
        self.config: Any = {"configurable": {"thread_id": "t"}}
        self.result: Any = None
        self.done = False

    def go_on(self) -> None:
        """Do what the caller of a new process would do, as far as this life lasts."""
        self.journal.dead = False
        flow = build(MortalSaver(self.journal), self.program, self.life)
        try:
            state = flow.get_state(self.config)
            if state.created_at is None:
                outcome = flow.invoke(7, self.config)
            elif state.interrupts:
                outcome = flow.invoke(Command(resume=f"re {state.interrupts[0].value}"), self.config)
            elif state.next:
                outcome = flow.invoke(None, self.config)
            else:
                outcome = state.values
        except Died:
            return
        if not (isinstance(outcome, dict) and "__interrupt__" in outcome):
            self.result = outcome
            self.done = True

    @precondition(lambda self: not self.done)
    @rule(writes=st.integers(0, 12), after=st.booleans())
    def die(self, writes: int, after: bool) -> None:
        self.journal.left, self.journal.after = writes, after
        self.go_on()

    @precondition(lambda self: not self.done)
    @rule()
    def live(self) -> None:
        self.journal.left = -1
        self.go_on()

    @precondition(lambda self: self.done)
    @rule()
    def look(self) -> None:
        """What is done stays done."""
        self.journal.left = -1
        self.result = None
        self.go_on()

    @invariant()
    def nothing_finished_runs_again(self) -> None:
        if hasattr(self, "life"):
            assert self.life.again == []

    @invariant()
    def the_result_is_that_of_a_run_without_a_crash(self) -> None:
        if getattr(self, "done", False):
            assert self.result == expected(self.program)

    def teardown(self) -> None:
        if not hasattr(self, "life"):
            return
        self.journal.left = -1
        for _ in range(12):
            if self.done:
                break
            self.go_on()
        assert self.done
        assert self.result == expected(self.program)
        assert self.life.again == []


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(
    max_examples=120, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_every_single_write(kind: str, after: bool) -> None:
    """The same for each write of each kind of step, one by one."""
    for writes in range(40):
        machine = Crashes()
        machine.begin(["task", kind, "task"])
        machine.die(writes, after)
        while not machine.done and not machine.journal.dead:  # a pause: answered in the same life
            machine.go_on()
        outlived = not machine.journal.dead
        machine.teardown()
        if outlived:
            return
    raise AssertionError("the run never outlived its journal")
