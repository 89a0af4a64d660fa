"""The commands and their options; what they do stands in the files beside this one.

An error that clew raises ends the command with its message and exit code 1, without a traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from clew.errors import ClewError

FILE, DEMO = Path("clew.sqlite"), Path(".clew/demo")
File = Annotated[Path, typer.Option("--file", "-f", envvar="CLEW_FILE", help="The SQLite file.")]
Model = Annotated[str | None, typer.Option("--model", "-m", help='"provider:model", or "scripted".')]
Thread = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Chat models, memory and durable workflows."
)
threads = typer.Typer(no_args_is_help=True, help="Look at the threads of workflows in a file.")
histories = typer.Typer(no_args_is_help=True, help="Move the messages of chats between stores.")
app.add_typer(threads, name="threads")
app.add_typer(histories, name="histories")


def run() -> None:
    """Run the command line; an error of clew's own is one line on stderr and exit code 1."""
    try:
        app()
    except ClewError as error:
        Console(stderr=True).print(f"[red]{type(error).__name__}[/red]: {error}", highlight=False)
        sys.exit(1)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where its files go; made when missing.")] = DEMO,
    model: Model = None,
) -> None:
    """Show the main job: a model writes, the process dies, another picks the thread up."""
    from clew.cli._demo import play

    sys.exit(play(folder, model))


@app.command()
def chat(
    session: Annotated[
        str, typer.Option("--session", "-s", help="Which conversation to go on with.")
    ] = "default",
    model: Model = None,
    file: File = FILE,
    once: Annotated[str | None, typer.Option("--once", help="Say this, print the answer, end.")] = None,
) -> None:
    """Talk to a model; the conversation is kept in the file and goes on next time."""
    from clew.cli._chat import talk

    sys.exit(talk(session, model, file, once))


@threads.command("list")
def list_threads(file: File = FILE) -> None:
    """List the threads of a file, the last changed first."""
    from clew.cli._threads import print_list

    print_list(file)


@threads.command("show")
def show_thread(
    thread: Thread,
    file: File = FILE,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid gantt chart.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="As an SVG picture.")] = False,
) -> None:
    """Show the timeline of a thread: tasks with their durations, pauses and answers."""
    from clew.cli._threads import print_thread

    print_thread(file, thread, "mermaid" if mermaid else "svg" if svg else "text")


@threads.command("delete")
def delete_thread(
    thread: Thread,
    file: File = FILE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Delete a thread and all it saved."""
    from clew.cli._threads import delete

    if yes or typer.confirm(f"delete thread {thread!r} of {file} for good?"):
        delete(file, thread)


@app.command()
def resume(
    thread: Thread,
    workflow: Annotated[
        str,
        typer.Option(
            "--workflow",
            "-w",
            envvar="CLEW_WORKFLOW",
            help='"module:name" of the workflow, or of a function saver -> workflow.',
        ),
    ],
    answer: Annotated[str | None, typer.Option("--answer", "-a", help="JSON, else taken as text.")] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Id of the question, if several wait.")
    ] = None,
    file: File = FILE,
) -> None:
    """Go on with a thread: answer its question, or finish a run whose process died."""
    from clew.cli._resume import go_on

    sys.exit(go_on(file, thread, workflow, answer, question))


@histories.command("copy")
def copy_history(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="As sqlite:///chat.sqlite#session or file:chat.jsonl.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="Likewise; its messages are kept, the others added.")
    ],
) -> None:
    """Copy the messages of one conversation to another store."""
    from clew.cli._histories import copy

    copy(source, target)
