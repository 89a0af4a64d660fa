"""The command line: `clew demo | chat | threads | resume | histories`.

The commands stand in `_app`, one file per idea beside it. typer and rich are an extra: `pip install
"clew[cli]"`.
"""

from __future__ import annotations

import sys

from clew._lazy import need
from clew.errors import MissingDependencyError

__all__ = ["main"]


def main() -> None:
    """Run the command line on this process's arguments; exits with 2 when its packages are missing."""
    try:
        for module in ("typer", "rich"):
            need(module, "cli", "the command line")
    except MissingDependencyError as error:
        sys.stderr.write(f"clew: {error}\n")
        sys.exit(2)
    from clew.cli._app import run

    run()
