"""Replay: what is on record is found again, and what differs is never answered with another call's result."""

from __future__ import annotations

import asyncio
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from clew.checkpoint.memory import InMemorySaver
from clew.errors import NonDeterminismError
from clew.func import entrypoint, patched, task
from clew.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@task
def get(key: Any) -> str:
    return f"value of {key}"


@task
def charge(amount: int) -> str:
    return f"charged {amount}"


def test_case_088_questions_in_another_order_are_told_apart(call: Callable[..., Any]) -> None:
    order = ["delete?", "send?"]

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return {one: interrupt(one) for one in list(order)}

    call(flow, "invoke", 0, CONFIG)
    order.reverse()
    with pytest.raises(NonDeterminismError, match=r"delete\?.*send\?"):
        call(flow, "invoke", Command(resume="yes"), CONFIG)
    order.reverse()
    assert call(flow, "invoke", Command(resume="yes"), CONFIG)["__interrupt__"][0].value == "send?"


@pytest.mark.parametrize("policy", ["raise", "warn", "rerun"])
def test_case_089_changed_argument_by_policy(policy: Any) -> None:
    keys = ["apple"]

    @entrypoint(checkpointer=InMemorySaver(), nondeterminism=policy)
    def flow(_: int) -> Any:
        return [get(keys[-1]).result(), interrupt("?")]

    flow.invoke(0, CONFIG)
    keys.append("pear")
    if policy == "raise":
        with pytest.raises(NonDeterminismError, match=r"apple.*pear"):
            flow.invoke(Command(resume=1), CONFIG)
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert flow.invoke(Command(resume=1), CONFIG) == ["value of pear", 1]
    assert len([one for one in seen if issubclass(one.category, RuntimeWarning)]) == (policy == "warn")


def test_arguments_that_hold_a_clock_are_matched_by_name() -> None:
    clock = iter(range(100))
    ran: list[int] = []

    @task(match="name")
    def stamp(at: int) -> int:
        ran.append(at)
        return at

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [stamp(next(clock)).result(), interrupt("?")]

    flow.invoke(0, CONFIG)
    assert flow.invoke(Command(resume=1), CONFIG) == [0, 1]
    assert ran == [0]


def test_arguments_that_can_not_be_saved_are_compared_by_their_type() -> None:
    class Handle:
        pass

    @task
    def use(handle: Any) -> str:
        return type(handle).__name__

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [use(Handle()).result(), interrupt("?")]

    flow.invoke(0, CONFIG)
    assert flow.invoke(Command(resume=1), CONFIG) == ["Handle", 1]


def test_long_arguments_are_kept_as_a_hash() -> None:
    text = ["x" * 10_000]

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [get(text[0]).result()[:8], interrupt("?")]

    flow.invoke(0, CONFIG)
    text[0] = "y" * 10_000
    with pytest.raises(NonDeterminismError):
        flow.invoke(Command(resume=1), CONFIG)
    text[0] = "x" * 10_000
    assert flow.invoke(Command(resume=1), CONFIG) == ["value of", 1]


def test_case_091_an_inserted_task_repeats_no_payment() -> None:
    paid: list[int] = []
    version = [1]

    @task
    def pay(amount: int) -> int:
        paid.append(amount)
        return amount

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        if version[0] == 2:
            get("log").result()
        return [pay(9).result(), interrupt("?")]

    flow.invoke(0, CONFIG)
    version[0] = 2
    with pytest.raises(NonDeterminismError, match=r"pay.*get"):
        flow.invoke(Command(resume=1), CONFIG)
    assert paid == [9]


def test_a_body_that_ends_before_what_is_on_record_is_told(call: Callable[..., Any]) -> None:
    short = [False]

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        if short[0]:
            return "nothing"
        return [charge(1).result(), interrupt("?")]

    call(flow, "invoke", 0, CONFIG)
    short[0] = True
    with pytest.raises(NonDeterminismError, match="charge"):
        call(flow, "invoke", Command(resume=1), CONFIG)


def test_case_092_gathered_branches_keep_their_results() -> None:
    delays = iter([0.03, 0.0, 0.0, 0.03])

    @task
    async def look_up(key: str) -> str:
        return f"v{key}"

    async def branch(key: str) -> str:
        await asyncio.sleep(next(delays))
        return await look_up(key)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        return [await asyncio.gather(branch("a"), branch("b")), interrupt("?")]

    async def main() -> Any:
        await flow.ainvoke(0, CONFIG)
        return await flow.ainvoke(Command(resume=1), CONFIG)

    assert asyncio.run(main()) == [["va", "vb"], 1]


def test_case_092_questions_of_gathered_branches_get_their_own_answers() -> None:
    delays = itertools.cycle([0.03, 0.0, 0.0, 0.03])

    async def branch(key: str) -> Any:
        await asyncio.sleep(next(delays))
        return [key, interrupt(f"{key}?")]

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        return await asyncio.gather(branch("a"), branch("b"), return_exceptions=False)

    async def main() -> Any:
        asked = (await flow.ainvoke(0, CONFIG))["__interrupt__"]
        while isinstance(asked, list) and hasattr(asked[0], "id"):
            answers = {one.id: one.value.upper() for one in asked}
            outcome = await flow.ainvoke(Command(resume=answers), CONFIG)
            asked = outcome["__interrupt__"] if isinstance(outcome, dict) else outcome
        return asked

    assert asyncio.run(main()) == [["a", "A?"], ["b", "B?"]]


def test_patched_keeps_a_run_on_its_side() -> None:
    new = [False]
    ran: list[str] = []

    @task
    def step(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        step("first").result()
        if new[0] and patched("extra"):
            step("extra").result()
        interrupt("?")
        return step("last").result()

    old: Any = {"configurable": {"thread_id": "old"}}
    flow.invoke(0, old)
    new[0] = True
    assert flow.invoke(Command(resume=1), old) == "last"
    assert ran == ["first", "last"]
    young: Any = {"configurable": {"thread_id": "young"}}
    flow.invoke(0, young)
    assert flow.invoke(Command(resume=1), young) == "last"
    assert ran == ["first", "last", "first", "extra", "last"]


def test_case_106_nothing_nested_runs_twice_over_two_resumes(call: Callable[..., Any]) -> None:
    ran: list[str] = []

    @task
    def step(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint()
    def inner(n: int) -> Any:
        return [step("inner").result(), interrupt("inner?")]

    @task
    def around(n: int) -> Any:
        return inner.invoke(n)

    @entrypoint(checkpointer=InMemorySaver())
    def outer(n: int) -> Any:
        return [around(n).result(), step("outer").result(), interrupt("outer?")]

    call(outer, "invoke", 1, CONFIG)
    call(outer, "invoke", Command(resume="i"), CONFIG)
    assert call(outer, "invoke", Command(resume="o"), CONFIG) == [["inner", "i"], "outer", "o"]
    assert ran == ["inner", "outer"]


def test_a_compensation_called_because_of_a_failure_does_not_stand_in_the_way_of_success() -> None:
    broken, ran = [True], list[str]()

    @task
    def send() -> str:
        if broken:
            raise ConnectionError("down")
        return "sent"

    @task
    def note(text: str) -> str:
        ran.append(text)
        return text

    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        try:
            sent = send().result()
        except ConnectionError:
            note("it failed").result()
            raise
        return [sent, note("fine").result()]

    with pytest.raises(ConnectionError):
        flow.invoke(0, CONFIG)
    broken.clear()
    assert flow.invoke(None, CONFIG) == ["sent", "fine"]
    assert ran == ["it failed", "fine"]
