"""`clew threads`: what a file knows about its threads, and how to be rid of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from clew.checkpoint.sqlite import SqliteSaver
from clew.cli import _story, _timeline
from clew.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path


def existing(file: Path) -> Path:
    """The file itself; nothing is made by looking. Raises: StorageError when it is not there."""
    if not file.is_file():
        raise StorageError(f"there is no file {file}; name it with --file (or CLEW_FILE)")
    return file


def print_list(file: Path) -> None:
    """Print the threads of a file, last changed first."""
    with SqliteSaver.from_conn_string(str(existing(file))) as saver:
        stories = _story.read_all(saver)
    table = Table(title=f"{len(stories)} thread{'' if len(stories) == 1 else 's'} in {file}", title_justify="left")
    for heading in ("thread", "workflow", "stands", "tasks done", "last change"):
        table.add_column(heading, justify="right" if heading == "tasks done" else "left", overflow="fold")
    for story in stories:
        done = sum(event.kind == "task" and not event.failed for event in story.events)
        table.add_row(
            story.thread_id, story.workflow, story.status, str(done), _timeline.clock(story.changed)
        )
    Console(highlight=False).print(table)


def print_thread(file: Path, thread: str, form: str) -> None:
    """Print one thread's timeline. form: "text", "mermaid" or "svg"."""
    with SqliteSaver.from_conn_string(str(existing(file))) as saver:
        story = _story.read(saver, thread)
    console = Console(highlight=False)
    if form == "text":
        console.print(_timeline.as_text(story))
    else:
        draw = _timeline.as_mermaid if form == "mermaid" else _timeline.as_svg
        console.out(draw(story), highlight=False)


def delete(file: Path, thread: str) -> None:
    """Delete a thread and all it saved. Raises: ClewError when there is none."""
    with SqliteSaver.from_conn_string(str(existing(file))) as saver:
        _story.read(saver, thread)
        saver.delete_thread(thread)
    Console(highlight=False).print(f"thread {thread!r} is gone from {file}", markup=False)
