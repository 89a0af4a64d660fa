"""The demo, whole: it checks every claim that it prints, and one that fails ends it with code 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def _demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clew.cli", "demo", "--folder", str(folder), *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170,
        env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip


def _check(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT SO" not in done.stdout
    log = next(folder.glob("*.log")).read_text().splitlines()
    essays = [line for line in log if line.startswith("essay ")]
    orders = [line.split()[1] for line in log if line.startswith("orders ")]
    assert len(essays) == 1
    assert orders == ["reserve", "charge", "pack", "ship", "thank"]
    assert len({line.split()[-1] for line in log if line.startswith("orders ")}) == 2
    assert "exit code -9" in done.stdout
    assert "finds 2 earlier messages" in done.stdout
    for part in "abcde":
        assert f"\n{part}. " in done.stdout


def test_demo_with_the_script(tmp_path: Path) -> None:
    done = _demo(tmp_path, "--model", "scripted")
    _check(done, tmp_path)
    assert "SCRIPTED" in done.stdout


def test_demo_with_the_model_in_this_machine(tmp_path: Path) -> None:
    from clew.cli._models import choose

    choice = choose()
    if choice.spec != "local:smollm2":
        pytest.skip(f"needs the local model: {choice.why_not_local}")
    done = _demo(tmp_path)
    _check(done, tmp_path)
    assert "SmolLM2" in done.stdout
    assert "SCRIPTED" not in done.stdout
