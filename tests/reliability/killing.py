"""A lean process that forks runs and kills them: `python killing.py FOLDER SHAPE RUNS` prints what happened as JSON.

The runs are forked from this warm process, so hundreds of them take seconds. A child writes down what it does with one
unbuffered write per line; what counts is only what it wrote before it died.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from clew.checkpoint.sqlite import SqliteSaver
from clew.func import entrypoint, task

TASKS = 10


class Log:
    """Lines that survive the death of who wrote them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, text: str) -> None:
        os.write(self.fd, f"{text}\n".encode())

    def lines(self) -> list[str]:
        return self.path.read_text().split()


def fork(call: Any) -> int:
    """Run `call` in a child; it ends with 0, or 3 when it raised. Returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        call()
        code = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def ended(pid: int, seconds: float = 60) -> int:
    """Wait for a child; returns its exit code, negative for a signal."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("a child hung")


def sequential(saver: SqliteSaver, log: Log) -> Any:
    @task
    def step(thread: str, n: int) -> int:
        log(f"{thread}/begin/{n}")
        return n * 10

    @entrypoint(checkpointer=saver)
    def flow(thread: str) -> int:
        total = 0
        for n in range(TASKS):
            total += step(thread, n).result()
            log(f"{thread}/used/{n}")
        return total

    return flow


def parallel(saver: SqliteSaver, log: Log) -> Any:
    @task
    def step(thread: str, n: int) -> int:
        log(f"{thread}/begin/{n}")
        time.sleep(0.0003 * (n % 3))
        return n * 10

    @entrypoint(checkpointer=saver)
    def flow(thread: str) -> int:
        total = 0
        for n, future in enumerate([step(thread, n) for n in range(TASKS)]):
            total += future.result()
            log(f"{thread}/used/{n}")
        return total

    return flow


def nested(saver: SqliteSaver, log: Log) -> Any:
    @task
    def step(thread: str, n: int) -> int:
        log(f"{thread}/begin/{n}")
        return n * 10

    @task
    def pair(thread: str, n: int) -> int:
        first = step(thread, n).result()
        log(f"{thread}/used/{n}")
        second = step(thread, n + 1).result()
        log(f"{thread}/used/{n + 1}")
        return first + second

    @entrypoint(checkpointer=saver)
    def flow(thread: str) -> int:
        return sum(pair(thread, n).result() for n in range(0, TASKS, 2))

    return flow


def kill_and_resume(folder: Path, make: Any, runs: int) -> dict[str, Any]:
    """Kill each run up to three times at a random instant, resuming it in a new process each time until it is done."""
    chance = random.Random(11)
    log = Log(folder / "log")
    saver = SqliteSaver.open(folder / "state.sqlite")
    saver.setup()
    flow = make(saver, log)
    began = time.monotonic()
    flow.invoke("warm", {"configurable": {"thread_id": "warm"}})
    whole = time.monotonic() - began

    def go(thread: str) -> None:
        config: Any = {"configurable": {"thread_id": thread}}
        state = flow.get_state(config)
        if state.created_at is None:
            assert flow.invoke(thread, config) == 450
        elif state.next:
            assert flow.invoke(None, config) == 450
        else:
            assert state.values == 450

    kills, span = 0, max(whole, 0.004)  # seconds within which a kill comes; follows the machine's mood
    for number in range(runs):
        thread = f"t{number}"
        for attempt in range(4):
            pid = fork(lambda thread=thread: go(thread))
            if attempt < 3:
                time.sleep(chance.random() * span)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            code = ended(pid)
            if code == 0:
                span = max(span * 0.8, 0.0005) if attempt == 0 else span
                break
            assert code == -signal.SIGKILL, code
            span = min(span * 1.1, 0.2)
            kills += 1
    used: set[str] = set()
    again: list[str] = []
    for line in log.lines():
        thread, kind, n = line.split("/")
        if kind == "used":
            used.add(f"{thread}/{n}")
        elif f"{thread}/{n}" in used:
            again.append(line)
    values = [flow.get_state({"configurable": {"thread_id": f"t{n}"}}).values for n in range(runs)]
    saver.close()
    return {"again": again, "used": len(used), "kills": kills, "wrong": sum(value != 450 for value in values)}


if __name__ == "__main__":
    shapes = {"sequential": sequential, "parallel": parallel, "nested": nested}
    print(json.dumps(kill_and_resume(Path(sys.argv[1]), shapes[sys.argv[2]], int(sys.argv[3]))))
