"""Every store, both faces, every shape of run: killed with -9 at random instants, gone on with by a new process.

CLEW_CRASH_KILLS: kills per cell, five by default (`make crash` sets 100). A wrong value ends a child with an error,
which fails the cell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("CLEW_CRASH_KILLS", "5"))


@pytest.mark.timeout(90 + 60 * KILLS)
@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("backend", ["sqlite", "postgres", "redis"])
def test_nothing_finished_runs_again_on_any_store(
    backend: str, face: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    fixtures = {"postgres": "pg_url", "redis": "redis_url"}
    url = str(tmp_path / "state.sqlite") if backend == "sqlite" else request.getfixturevalue(fixtures[backend])
    script = Path(__file__).parent / "matrix.py"
    done = subprocess.run(
        [sys.executable, str(script), backend, face, url, str(tmp_path), str(KILLS)],
        capture_output=True,
        text=True,
        timeout=60 + 60 * KILLS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert [one["again"] for one in found.values()] == [[]] * 5
    assert all(one["kills"] >= KILLS for one in found.values())
    print(backend, face, {shape: f"{one['kills']} kills in {one['runs']} runs" for shape, one in found.items()})
