"""Make docs/demo.svg out of a real run of the demo: `python docs/picture.py` (make picture)."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

OUT = pathlib.Path(__file__).with_name("demo.svg")


def main() -> int:
    """Run the demo without a terminal, in colour, and draw what it printed."""
    env = os.environ | {"FORCE_COLOR": "1", "COLUMNS": "110"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "clew.cli", "demo", "--folder", "demo"]
        done = subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        return done.returncode
    console = Console(record=True, width=110, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text.from_ansi(done.stdout))
    svg = console.export_svg(title="make demo")
    # without web fonts: nothing is fetched when somebody looks at it
    OUT.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
    sys.stderr.write(f"{OUT}: {OUT.stat().st_size // 1024} KB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
