"""What users' type checkers see: `assert_type` files under a strict checker."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

CASES = sorted((pathlib.Path(__file__).parent / "cases").glob("*.py"))


def test_cases_check() -> None:
    pytest.importorskip("basedpyright", reason="needs: pip install basedpyright")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", *map(str, CASES)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
