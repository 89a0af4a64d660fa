"""One thread and many callers, and what can be done to it from outside."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clew.checkpoint._journal import live
from clew.checkpoint.memory import InMemorySaver
from clew.checkpoint.sqlite import SqliteSaver
from clew.errors import EmptyInputError, RunCancelledError, ThreadBusyError
from clew.func import entrypoint, task, wait_for
from clew.pregel import _lease
from clew.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(tmp_path / "saver.sqlite") as saver:
            yield saver


def at_once(count: int, call: Callable[[int], Any]) -> tuple[list[Any], list[Exception]]:
    """Call from `count` threads together; the results, and the errors."""
    ready = threading.Barrier(count, timeout=30)

    def one(i: int) -> tuple[Any, Exception | None]:
        ready.wait()
        try:
            return call(i), None
        except Exception as error:
            return None, error

    with ThreadPoolExecutor(count) as pool:
        outcomes = list(pool.map(one, range(count)))
    return [value for value, error in outcomes if error is None], [error for _, error in outcomes if error]


def adder(saver: Any, **options: Any) -> Any:
    @task
    def work(n: int) -> int:
        time.sleep(0.005)
        return n

    @entrypoint(checkpointer=saver, **options)
    def add(n: int, *, previous: Any = None) -> int:
        return (previous or 0) + work(n).result()

    return add


def test_case_098_busy_is_refused_and_nothing_is_lost(saver: Any) -> None:
    add = adder(saver)
    done, refused = at_once(5, lambda i: add.invoke(1, CONFIG))
    assert len(done) >= 1 and len(done) + len(refused) == 5
    assert all(isinstance(error, ThreadBusyError) for error in refused)
    assert add.get_state(CONFIG).values == len(done)


def test_case_098_enqueued_runs_come_one_after_another(saver: Any) -> None:
    add = adder(saver, multitask_strategy="enqueue")
    done, refused = at_once(10, lambda i: add.invoke(1, CONFIG))
    assert refused == [] and sorted(done) == list(range(1, 11))


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
def test_a_new_run_stops_the_running_one(saver: Any, strategy: str) -> None:
    began, ran = threading.Event(), list[int]()

    @task
    def step(n: int) -> int:
        ran.append(n)
        began.set()
        time.sleep(0.1)
        return n

    @entrypoint(checkpointer=saver, multitask_strategy=strategy)  # type: ignore[arg-type] - from a parameter
    def flow(n: int) -> int:
        return sum(step(n).result() for _ in range(5 if n == 1 else 1))

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flow.invoke, 1, CONFIG)
        assert began.wait(10)
        assert flow.invoke(10, CONFIG) == 10
        with pytest.raises(RunCancelledError):
            first.result(timeout=20)
    assert ran.count(1) < 5
    history = list(flow.get_state_history(CONFIG))
    assert len(history) == (3 if strategy == "interrupt" else 2)


def test_cancel_ends_a_run_at_its_next_task(saver: Any) -> None:
    began, go_on = threading.Event(), threading.Event()

    @task
    def step(n: int) -> int:
        began.set()
        assert go_on.wait(10)
        return n

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> int:
        return step(1).result() + step(2).result()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(flow.invoke, 1, CONFIG)
        assert began.wait(10)
        assert flow.cancel(CONFIG) is True
        go_on.set()
        with pytest.raises(RunCancelledError):
            running.result(timeout=20)
    assert flow.get_state(CONFIG).next == ()
    with pytest.raises(EmptyInputError):
        flow.invoke(None, CONFIG)
    assert flow.invoke(1, CONFIG) == 3
    assert flow.cancel(CONFIG) is False


def test_one_key_starts_once_and_all_callers_get_the_result(saver: Any) -> None:
    ran: list[int] = []

    @task
    def pay(amount: int) -> str:
        ran.append(amount)
        time.sleep(0.02)
        return f"paid as number {len(ran)}"

    @entrypoint(checkpointer=saver)
    def order(amount: int) -> str:
        return pay(amount).result()

    config: Any = {"configurable": {"thread_id": "t", "idempotency_key": "17"}}
    done, errors = at_once(10, lambda i: order.invoke(9, config))
    assert errors == [] and set(done) == {"paid as number 1"} and ran == [9]


def test_a_failed_start_may_be_repeated_with_its_key(saver: Any) -> None:
    broken = [True]

    @entrypoint(checkpointer=saver)
    def order(amount: int) -> int:
        if broken:
            raise ConnectionError
        return amount

    config: Any = {"configurable": {"thread_id": "t", "idempotency_key": "17"}}
    with pytest.raises(ConnectionError):
        order.invoke(9, config)
    broken.clear()
    assert order.invoke(9, config) == 9
    assert order.invoke(10, config) == 9


def test_recover_takes_over_what_died_and_leaves_the_rest(saver: Any, call: Callable[..., Any]) -> None:
    class Died(BaseException):
        pass

    ran: list[str] = []
    dying = [True]

    @task
    def step(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint(checkpointer=saver)
    def flow(given: str) -> Any:
        found = [step(given).result()]
        if given == "ask":
            return interrupt("?")
        if dying and given == "die":
            journal = saver.journal
            journal.commit, kept = _dead, journal.commit  # from here on nothing reaches the disk, as after kill -9
            try:
                raise Died
            finally:
                journal._kept = kept
        return [*found, step("more").result()]

    def _dead(*_: Any) -> None:
        raise Died

    flow.invoke("ask", {"configurable": {"thread_id": "waits"}})
    flow.invoke("fine", {"configurable": {"thread_id": "done"}})
    with contextlib.suppress(BaseException):
        flow.invoke("die", {"configurable": {"thread_id": "dead"}})
    saver.journal.commit = saver.journal._kept
    for owner in list(_lease._held):
        _lease.drop(owner)
    live.clear()
    dying.clear()
    assert call(flow, "recover") == ["dead"]
    assert flow.get_state({"configurable": {"thread_id": "dead"}}).values == ["die", "more"]
    assert ran.count("die") == 1
    assert call(flow, "recover") == []


def steps(saver: Any, ran: list[str]) -> Any:
    @task
    def step(name: str, value: int) -> int:
        ran.append(name)
        return value + 1

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> list[int]:
        a = step("a", n).result()
        b = step("b", a).result()
        other = step("other", 100).result()
        return [a, b, other, step("c", b).result()]

    return flow


def test_a_fork_keeps_what_came_before(saver: Any, call: Callable[..., Any]) -> None:
    ran: list[str] = []
    flow = steps(saver, ran)
    assert flow.invoke(1, CONFIG) == [2, 3, 101, 4]
    forked = call(flow, "fork", CONFIG, before=2)
    assert call(flow, "invoke", None, forked) == [2, 3, 101, 4]
    assert ran == ["a", "b", "other", "c", "other", "c"]
    forked = call(flow, "fork", CONFIG, before=1, results={0: 50})
    assert call(flow, "invoke", None, forked) == [50, 51, 101, 52]
    assert flow.get_state(CONFIG).values == [2, 3, 101, 4]


def test_what_if_runs_only_what_depends_on_the_edit(saver: Any) -> None:
    ran: list[str] = []
    flow = steps(saver, ran)
    flow.invoke(1, CONFIG)
    ran.clear()
    forked = flow.fork(CONFIG, results={0: 50}, what_if=True)
    assert flow.invoke(None, forked) == [50, 51, 101, 52]
    assert ran == ["b", "c"]


def test_events_wake_a_run_or_wait_for_it(saver: Any, call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=saver)
    def flow(_: int) -> Any:
        return [wait_for("paid"), wait_for("shipped"), wait_for("paid")]

    assert call(flow, "invoke", 0, CONFIG)["__interrupt__"][0].value == {"event": "paid"}
    assert call(flow, "send", CONFIG, "paid", 1)["__interrupt__"][0].value == {"event": "shipped"}
    assert call(flow, "send", CONFIG, "paid", 2) is None  # kept until the run comes there
    assert call(flow, "send", CONFIG, "shipped", "box") == [1, "box", 2]


def test_update_state_is_what_the_next_run_finds(saver: Any, call: Callable[..., Any]) -> None:
    add = adder(saver)
    call(add, "invoke", 1, CONFIG)
    call(add, "update_state", CONFIG, 100)
    assert call(add, "get_state", CONFIG).metadata["source"] == "update"
    assert call(add, "invoke", 1, CONFIG) == 101


def test_an_old_checkpoint_forks_and_both_ways_can_be_read(saver: Any) -> None:
    @entrypoint(checkpointer=saver)
    def chat(line: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), line * 60]

    for line in "abcd":
        chat.invoke(line, CONFIG)
    states = {len(one.values): one.config for one in chat.get_state_history(CONFIG, filter={"source": "loop"})}
    chat.invoke("x", states[2])
    chat.invoke("y", CONFIG)
    assert [one[0] for one in chat.get_state(CONFIG).values] == ["a", "b", "x", "y"]
    assert [one[0] for one in chat.get_state(states[4]).values] == ["a", "b", "c", "d"]
    chat.invoke("z", states[4])
    assert [one[0] for one in chat.get_state(CONFIG).values] == ["a", "b", "c", "d", "z"]


def test_pruning_forgets_history_and_keeps_the_state(saver: Any, call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=saver)
    def chat(line: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), line * 60]

    for line in "abcd":
        chat.invoke(line, CONFIG)
    call(saver, "prune", ["t"])
    assert len(list(saver.list(CONFIG))) == 1
    assert [one[0] for one in chat.get_state(CONFIG).values] == list("abcd")
    chat.invoke("e", CONFIG)
    assert [one[0] for one in chat.get_state(CONFIG).values] == list("abcde")
    call(saver, "copy_thread", "t", "copy")
    call(saver, "delete_thread", "t")
    assert chat.get_state(CONFIG).created_at is None
    copied: Any = {"configurable": {"thread_id": "copy"}}
    assert chat.invoke("f", copied)[-1][0] == "f" and len(chat.get_state(copied).values) == 6


def test_waiting_survives_pruning(saver: Any) -> None:
    @entrypoint(checkpointer=saver)
    def flow(_: int) -> Any:
        return interrupt("?")

    flow.invoke(0, CONFIG)
    saver.prune(["t"])
    assert flow.invoke(Command(resume="yes"), CONFIG) == "yes"


def test_threads_do_not_hold_up_each_other(saver: Any) -> None:
    everyone = threading.Barrier(6, timeout=20)

    @task
    def meet(n: int) -> int:
        everyone.wait()
        return n

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> int:
        return meet(n).result()

    done, errors = at_once(6, lambda i: flow.invoke(i, {"configurable": {"thread_id": str(i)}}))
    assert errors == [] and done == list(range(6))


def test_an_event_reaches_only_those_who_wait_for_just_it_and_only_once(saver: Any) -> None:
    @task
    def wait(name: str) -> Any:
        return wait_for(name)

    @entrypoint(checkpointer=saver)
    def flow(_: int) -> Any:
        return [future.result() for future in [wait("paid"), wait("paid")]]

    flow.invoke(0, CONFIG)
    flow.send(CONFIG, "paid:late", "other")
    flow.send(CONFIG, "paid", 1)
    assert len(flow.get_state(CONFIG).interrupts) == 1
    assert sorted(flow.send(CONFIG, "paid", 2)) == [1, 2]


def test_writes_by_the_documented_interface_do_not_disturb_a_run(saver: Any) -> None:
    @entrypoint(checkpointer=saver)
    def flow(_: int) -> Any:
        return interrupt("?")

    flow.invoke(0, CONFIG)
    saver.put_writes(flow.get_state(CONFIG).config, [("channel", 5)], "somebody")
    assert ("somebody", "channel", 5) in saver.get_tuple(CONFIG).pending_writes
    assert flow.invoke(Command(resume="yes"), CONFIG) == "yes"
