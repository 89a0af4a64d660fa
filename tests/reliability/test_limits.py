"""One limit and one cache for several processes, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

WORKER = """
import sys, time
from clew.rate_limiters import RedisRateLimiter, SQLiteRateLimiter
kind, place = sys.argv[1:3]
limiter = (SQLiteRateLimiter if kind == "sqlite" else RedisRateLimiter)(place, requests_per_second=50)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    limiter.acquire()
    print(time.time(), flush=True)
"""


def start(kind: str, place: str, count: int) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, kind, place, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    return worker


def go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_processes_share_one_limit_even_when_one_is_killed(
    kind: str, tmp_path: Any, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "limit.db") if kind == "sqlite" else request.getfixturevalue("redis_url")
    workers = [start(kind, place, 15), start(kind, place, 15), start(kind, place, 10_000)]
    began = time.time()
    for worker in workers:
        go(worker)
    time.sleep(0.2)
    os.kill(workers[2].pid, signal.SIGKILL)
    times = sorted(float(line) for worker in workers for line in worker.communicate(timeout=60)[0].split())
    assert sum(worker.returncode == 0 for worker in workers) == 2
    assert len(times) >= 30
    assert times[-1] - began >= (len(times) - 1) / 50 * 0.95, "n requests take at least n - 1 slots"


def test_processes_share_one_cache(tmp_path: Any) -> None:
    program = """
import sys
from clew.caches import SQLiteCache
from clew.language_models import ScriptedChatModel
model = ScriptedChatModel(script=[sys.argv[2]], cache=SQLiteCache(sys.argv[1]))
print(*[model.invoke(str(n)).text for n in range(20)], len(model.calls))
"""
    path = str(tmp_path / "cache.db")
    run = [sys.executable, "-c", program, path]
    first = subprocess.run([*run, "one"], capture_output=True, text=True, check=True).stdout.split()
    second = subprocess.run([*run, "two"], capture_output=True, text=True, check=True).stdout.split()
    assert first == [*["one"] * 20, "20"] and second == [*["one"] * 20, "0"]
