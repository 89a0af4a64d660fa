"""Processes that die at random instants, and processes that want the same thread."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew.checkpoint.sqlite import SqliteSaver
from clew.errors import RunCancelledError, ThreadBusyError
from clew.func import entrypoint, task

sys.path.insert(0, str(Path(__file__).parent))
from killing import TASKS, ended, fork


@pytest.mark.parametrize("shape,runs", [("sequential", 200), ("parallel", 40), ("nested", 40)])
def test_no_finished_task_runs_again_after_kill_at_a_random_instant(tmp_path: Path, shape: str, runs: int) -> None:
    script = Path(__file__).parent / "killing.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), shape, str(runs)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["again"] == []
    assert found["wrong"] == 0
    assert found["used"] == (runs + 1) * TASKS
    assert found["kills"] >= runs // 4, "the kills came too late to mean anything"


def adder(saver: SqliteSaver, strategy: str) -> Any:
    @task
    def work(n: int) -> int:
        return n

    @entrypoint(checkpointer=saver, multitask_strategy=strategy)  # type: ignore[arg-type] - from a parameter
    def add(n: int, *, previous: int | None = None) -> int:
        return (previous or 0) + work(n).result()

    return add


def test_two_processes_on_one_thread_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    saver = SqliteSaver.open(tmp_path / "state.sqlite")
    saver.setup()
    add = adder(saver, "reject")
    add.invoke(1, {"configurable": {"thread_id": "warm"}})
    for number in range(100):
        config: Any = {"configurable": {"thread_id": f"t{number}"}}
        done = tmp_path / f"done{number}"

        def go(config: Any = config, done: Path = done) -> None:
            with contextlib.suppress(ThreadBusyError):
                add.invoke(1, config)
                with done.open("a") as file:
                    file.write("x")

        pids = [fork(go), fork(go)]
        assert [ended(pid) for pid in pids] == [0, 0]
        finished = len(done.read_text())
        assert 1 <= finished <= 2
        assert add.get_state(config).values == finished
        assert add.invoke(1, config) == finished + 1
    saver.close()


def test_ten_processes_add_ten_each(tmp_path: Path) -> None:
    saver = SqliteSaver.open(tmp_path / "state.sqlite")
    saver.setup()
    add = adder(saver, "enqueue")
    config: Any = {"configurable": {"thread_id": "t"}}

    def go() -> None:
        for _ in range(10):
            add.invoke(1, config)

    pids = [fork(go) for _ in range(10)]
    assert [ended(pid, 120) for pid in pids] == [0] * 10
    assert add.get_state(config).values == 100
    saver.close()


def test_enqueued_runs_of_killed_processes_hold_nobody_up(tmp_path: Path) -> None:
    saver = SqliteSaver.open(tmp_path / "state.sqlite")
    saver.setup()
    add = adder(saver, "enqueue")
    config: Any = {"configurable": {"thread_id": "t"}}
    chance = random.Random(5)
    for _ in range(10):
        pids = [fork(lambda: add.invoke(1, config)) for _ in range(3)]
        time.sleep(chance.random() * 0.01)
        os.kill(pids[0], signal.SIGKILL)
        codes = [ended(pid) for pid in pids]
        assert codes[1:] == [0, 0]
    # Whatever the killed ones had begun, the thread is free and its value consistent.
    before = add.get_state(config)
    value = before.values if not before.next else add.invoke(None, config)
    assert add.invoke(1, config) == value + 1
    saver.close()


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_a_run_is_stopped_from_another_process(tmp_path: Path, how: str) -> None:
    saver = SqliteSaver.open(tmp_path / "state.sqlite")
    saver.setup()
    began, marks = tmp_path / "began", tmp_path / "marks"

    @task
    def step(n: int) -> int:
        with marks.open("a") as file:
            file.write(f"{n}\n")
        began.touch()
        time.sleep(0.05)
        return n

    @entrypoint(checkpointer=saver, multitask_strategy="interrupt")
    def flow(n: int) -> int:
        return sum(step(i).result() for i in range(n))

    config: Any = {"configurable": {"thread_id": "t"}}

    def go() -> None:
        try:
            flow.invoke(200, config)
        except RunCancelledError:
            return
        raise AssertionError("nobody stopped it")

    pid = fork(go)
    end = time.monotonic() + 30
    while not began.exists() and time.monotonic() < end:
        time.sleep(0.002)
    if how == "cancel":
        assert flow.cancel(config) is True
    else:
        assert flow.invoke(1, config) == 0
    assert ended(pid, 30) == 0
    assert len(marks.read_text().split()) < 100
    assert flow.get_state(config).next == ()
    assert flow.invoke(2, config) == 1
    saver.close()
