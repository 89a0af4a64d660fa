"""Failures and pauses: recorded, reported, never swallowed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.errors import (
    GraphDrained,
    MissingSaverError,
    MissingThreadError,
    SerializationError,
    UnknownInterruptError,
)
from clew.func import entrypoint, task
from clew.runtime import RunControl
from clew.types import Command, RetryPolicy, default_retry_on, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def test_case_094_a_failed_task_that_nobody_awaited_fails_the_run(call: Callable[..., Any]) -> None:
    @task
    def bad() -> None:
        raise ValueError("nobody looked")

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> str:
        bad()
        return "done"

    with pytest.raises(ValueError, match="nobody looked"):
        call(flow, "invoke", 0, CONFIG)


def test_a_cancelled_call_fails_nothing() -> None:
    @task
    def bad() -> None:
        raise ValueError

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> str:
        bad().cancel()
        return "done"

    assert flow.invoke(0, CONFIG) == "done"


def test_case_095_a_caught_failure_is_an_outcome(call: Callable[..., Any]) -> None:
    ran: list[int] = []

    @task
    def shaky() -> str:
        ran.append(1)
        raise LookupError("not there", 404)

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        try:
            shaky().result()
        except LookupError as error:
            return [type(error).__name__, *error.args, interrupt("?")]

    call(flow, "invoke", 0, CONFIG)
    assert call(flow, "invoke", Command(resume=1), CONFIG) == ["LookupError", "not there", 404, 1]
    assert ran == [1]


def test_case_097_a_sibling_in_flight_is_let_finish_and_kept() -> None:
    ran: list[str] = []
    release = threading.Event()

    @task
    def slow() -> str:
        ran.append("slow")
        assert release.wait(10)
        return "slow"

    @task
    def bad() -> str:
        while "slow" not in ran:
            time.sleep(0.001)
        if not release.is_set():
            release.set()
            raise ConnectionError
        return "good"

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        futures = [slow(), bad()]
        return [futures[1].result(), futures[0].result()]

    with pytest.raises(ConnectionError):
        flow.invoke(0, CONFIG)
    assert flow.invoke(None, CONFIG) == ["good", "slow"]
    assert ran == ["slow"]


def test_except_exception_does_not_swallow_a_pause(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        try:
            return interrupt("?")
        except Exception:
            return "swallowed"

    assert call(flow, "invoke", 0, CONFIG)["__interrupt__"][0].value == "?"
    assert call(flow, "invoke", Command(resume=1), CONFIG) == 1


def test_a_pause_swallowed_by_a_bare_except_is_raised_at_the_end(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        try:
            return interrupt("?")
        except:  # noqa: E722 - what this test is about
            return "swallowed"

    assert call(flow, "invoke", 0, CONFIG)["__interrupt__"][0].value == "?"
    assert call(flow, "invoke", Command(resume=1), CONFIG) == 1


def test_pauses_in_a_task_group_are_pauses() -> None:
    @task
    async def ask(name: str) -> Any:
        return interrupt(name)

    async def one(name: str) -> Any:
        return await ask(name)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        async with asyncio.TaskGroup() as group:
            futures = [group.create_task(one(name)) for name in "ab"]
        return [future.result() for future in futures]

    async def main() -> Any:
        asked = (await flow.ainvoke(0, CONFIG))["__interrupt__"]
        while True:
            outcome = await flow.ainvoke(Command(resume={one.id: one.value.upper() for one in asked}), CONFIG)
            if isinstance(outcome, list):
                return outcome
            asked = outcome["__interrupt__"]

    assert asyncio.run(main()) == ["A", "B"]


@pytest.mark.parametrize("answer", [None, {}, False, 0, "", []])
def test_case_100_case_101_any_value_is_an_answer(call: Callable[..., Any], answer: Any) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [interrupt("first"), interrupt("second")]

    call(flow, "invoke", 0, CONFIG)
    assert call(flow, "invoke", Command(resume=answer), CONFIG)["__interrupt__"][0].value == "second"
    assert call(flow, "invoke", Command(resume="two"), CONFIG) == [answer, "two"]


def test_case_103_a_new_input_while_a_question_waits_is_refused(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> Any:
        return [n, interrupt(f"approve {n}?")]

    call(flow, "invoke", 1, CONFIG)
    with pytest.raises(RuntimeError, match="approve 1"):
        call(flow, "invoke", 2, CONFIG)
    assert call(flow, "cancel", CONFIG) is True
    assert call(flow, "get_state", CONFIG).next == ()
    assert call(flow, "invoke", 2, CONFIG)["__interrupt__"][0].value == "approve 2?"


def test_an_answer_that_is_used_up_reaches_no_other_question(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [interrupt("draft?"), interrupt("everything?")]

    first = call(flow, "invoke", 0, CONFIG)["__interrupt__"][0].id
    call(flow, "invoke", Command(resume={first: "yes"}), CONFIG)
    with pytest.raises(UnknownInterruptError, match="any more") as caught:
        call(flow, "invoke", Command(resume={first: "yes"}), CONFIG)
    assert caught.value.reason == "not_pending" and caught.value.interrupt_ids == (first,)


def test_fifty_questions_at_once_answered_some_by_some() -> None:
    import random

    @task
    def ask(n: int) -> Any:
        return interrupt(n)

    @entrypoint(checkpointer=InMemorySaver())
    def flow(count: int) -> Any:
        return [future.result() for future in [ask(n) for n in range(count)]]

    asked = {one.value: one.id for one in flow.invoke(50, CONFIG)["__interrupt__"]}
    assert sorted(asked) == list(range(50))
    left, chance = list(asked), random.Random(1)
    chance.shuffle(left)
    outcome: Any = None
    while left:
        some = [left.pop() for _ in range(min(len(left), chance.choice([1, 1, 5, 20])))]
        outcome = flow.invoke(Command(resume={asked[n]: -n for n in some}), CONFIG)
        if left:
            assert sorted(one.value for one in outcome["__interrupt__"]) == sorted(left)
    assert outcome == [-n for n in range(50)]


def test_a_question_with_an_expired_time_takes_its_default(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return interrupt("?", expires=0.05, default="nobody")

    assert call(flow, "invoke", 0, CONFIG)["__interrupt__"][0].expires_at is not None
    time.sleep(0.06)
    with pytest.raises(UnknownInterruptError, match="over"):
        call(flow, "invoke", Command(resume="late"), CONFIG)
    assert call(flow, "invoke", None, CONFIG) == "nobody"


def test_a_question_without_a_saver_is_an_error(call: Callable[..., Any]) -> None:
    @entrypoint()
    def flow(_: int) -> Any:
        return interrupt("?")

    with pytest.raises(MissingSaverError, match="checkpointer"):
        call(flow, "invoke", 0)


def test_a_missing_thread_is_told_before_anything_runs(call: Callable[..., Any]) -> None:
    ran: list[int] = []

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> None:
        ran.append(n)

    for config in (None, {}, {"configurable": {"user": "ada"}}):
        with pytest.raises(MissingThreadError, match="thread_id"):
            call(flow, "invoke", 1, config)
    assert ran == []


def test_a_resume_with_nothing_pending_is_told(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        return n

    with pytest.raises(UnknownInterruptError, match="nothing waits"):
        call(flow, "invoke", Command(resume=1), CONFIG)
    call(flow, "invoke", 5, CONFIG)
    with pytest.raises(UnknownInterruptError, match="nothing waits"):
        call(flow, "invoke", Command(resume=1), CONFIG)
    assert call(flow, "get_state", CONFIG).values == 5


@pytest.mark.parametrize("place", ["input", "output", "save", "task", "question"])
def test_a_value_that_can_not_be_saved_is_named_with_its_path(call: Callable[..., Any], place: str) -> None:
    bad = {"list": [1, object()]}

    @task
    def step() -> Any:
        return bad if place == "task" else 1

    @entrypoint(checkpointer=InMemorySaver())
    def flow(value: Any) -> Any:
        step().result()
        if place == "question":
            interrupt(bad)
        if place == "save":
            return entrypoint.final(value=1, save=bad)
        return bad if place == "output" else 1

    with pytest.raises(SerializationError, match="object") as caught:
        call(flow, "invoke", bad if place == "input" else 1, CONFIG)
    assert "list" in caught.value.path and "1" in caught.value.path


def test_case_107_the_default_rule_for_retries() -> None:
    class Answer:
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code

    class HTTPError(OSError):
        def __init__(self, status_code: int) -> None:
            self.response = Answer(status_code)

    retried = [ConnectionResetError(), TimeoutError(), BrokenPipeError(), HTTPError(500), HTTPError(429)]
    given_up = [
        ValueError(),
        KeyError(),
        FileNotFoundError(),
        PermissionError(),
        HTTPError(404),
        HTTPError(400),
        NameError(),
    ]
    assert [default_retry_on(error) for error in retried] == [True] * len(retried)
    assert [default_retry_on(error) for error in given_up] == [False] * len(given_up)


def test_case_127_attempts_are_counted_over_restarts() -> None:
    saver, ran = InMemorySaver(), list[int]()

    @task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0, jitter=False, retry_on=ConnectionError))
    def shaky() -> None:
        ran.append(1)
        if len(ran) == 1:
            raise ConnectionError
        if len(ran) == 2:
            raise KeyboardInterrupt  # the process is stopped in the middle of the second attempt
        raise ConnectionError

    @entrypoint(checkpointer=saver)
    def flow(_: int) -> None:
        shaky().result()

    with pytest.raises(KeyboardInterrupt):
        flow.invoke(0, CONFIG)
    with pytest.raises(ConnectionError):
        flow.invoke(None, CONFIG)
    assert len(ran) == 4  # the two that were left after the one that counted, not three


def test_a_drained_workflow_stops_at_its_next_task_and_goes_on_later(call: Callable[..., Any]) -> None:
    control, ran = RunControl(), list[int]()

    @task
    def step(n: int) -> int:
        ran.append(n)
        if n == 1:
            control.request_drain("deploy")
        return n

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int) -> int:
        return sum(step(i).result() for i in range(n))

    with pytest.raises(GraphDrained, match="deploy"):
        call(flow, "invoke", 4, CONFIG, control=control)
    assert ran == [0, 1]
    assert call(flow, "invoke", None, CONFIG) == 6
    assert ran == [0, 1, 2, 3]
