"""`clew resume`: go on with a thread in this process.

The workflow's code is named by the user: nothing that a file holds is ever imported or called.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from clew.errors import ClewError


def load_workflow(target: str, saver: Any) -> Any:
    """Import "module:name": a workflow, or a function that makes one around a saver.

    Raises: ClewError when there is no such module or name.
    """
    module, _, name = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name or "workflow")
    except (ImportError, AttributeError) as error:
        raise ClewError(
            f"--workflow {target!r} can't be imported: {error}; give it as module:name"
        ) from error
    return found if hasattr(found, "invoke") else found(saver)


def parse_answer(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def go_on(file: Path, thread: str, target: str, answer: str | None, question: str | None) -> int:
    """Answer the thread's question, or finish its cut-off run; prints the result or the next question."""
    from clew.checkpoint.sqlite import SqliteSaver
    from clew.cli._threads import existing
    from clew.types import Command

    console = Console(highlight=False)
    with SqliteSaver.from_conn_string(str(existing(file))) as saver:
        workflow = load_workflow(target, saver)
        given: Any = None
        if answer is not None:
            value = parse_answer(answer)
            given = Command(resume={question: value} if question else value)
        result: Any = workflow.invoke(given, {"configurable": {"thread_id": thread}})
    waiting: Any = cast("dict[str, Any]", result).get("__interrupt__") if isinstance(result, dict) else None
    if waiting:
        for one in waiting:
            console.print(f"[yellow]waits for an answer[/yellow] ({one.id}): {one.value}", markup=True)
    else:
        console.print(f"{result}", markup=False)
    return 0
