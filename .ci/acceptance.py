"""Run the acceptance folder part by part; fail when fewer tests pass than .ci/acceptance-floor says.

The floor only rises: a commit that lowers it fails too.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
FLOOR = HERE / "acceptance-floor"
# The memory part cuts the connections of other clients of its server: one process.
PARTS = {"models": ["-n", "2"], "memory": [], "workflows": ["-n", "2"]}
PART_SECONDS = 1200


def run(folder: pathlib.Path, part: str, options: list[str]) -> int:
    """Run one part and show its failures; returns how many tests passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "120", "--tb=line"]
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "-rfE", *options, str(folder / part)],
            capture_output=True, text=True, timeout=PART_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace") + f"\n{part} did not end in {PART_SECONDS} s"
    lines = text.rstrip().splitlines() or ["no output"]
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            print("  " + line[:200])
    print(f"acceptance {part}: {lines[-1].strip('= ')} ({time.monotonic() - began:.0f} s here)", flush=True)
    passed = re.search(r"(\d+) passed", lines[-1])
    return int(passed.group(1)) if passed else 0


def highest_floor() -> int:
    """The highest floor that any commit wrote, the present one included."""
    floors = [int(FLOOR.read_text())]
    git = ["git", "-C", str(HERE.parent)]
    commits = subprocess.run(
        [*git, "log", "--format=%H", "--", ".ci/acceptance-floor"], capture_output=True, text=True, check=False
    )
    for commit in commits.stdout.split():
        text = subprocess.run(
            [*git, "show", f"{commit}:.ci/acceptance-floor"], capture_output=True, text=True, check=False
        ).stdout
        floors += [int(text)] if text.strip().isdigit() else []
    return max(floors)


def main(folder: pathlib.Path) -> int:
    """Run all parts; 0 when at least the floor passed."""
    passed = sum(run(folder, part, options) for part, options in PARTS.items())
    floor = highest_floor()
    print(f"acceptance: {passed} tests pass, the floor is {floor}", flush=True)
    return 0 if passed >= floor else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
