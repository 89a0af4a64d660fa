"""`clew demo`: the main job, played by real processes that really end.

This process only starts others (`_demo_child`), reads what they print, ends one of them with SIGKILL and
counts lines in a file that the tasks append to. Nothing is simulated; where no model can be had, the text
is a script and called so. In a terminal it asks; without one it answers itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from clew.cli._chat import open_history
from clew.cli._models import choose

if TYPE_CHECKING:
    from pathlib import Path

    from clew.cli._models import Choice

console = Console(highlight=False, soft_wrap=True)


@dataclass
class Stage:
    """Where the demo plays: its file, the log of side effects, and the model.

    failures: claims that turned out false; the demo then ends with exit code 1.
    """

    file: Path
    log: Path
    choice: Choice
    is_interactive: bool
    failures: int = 0

    def ask(self, question: str, answer: str) -> str:
        """The person's answer, or `answer` where there is no terminal."""
        if not self.is_interactive:
            console.print(f"[bold]{question}[/bold] (no terminal: the demo answers) [green]{answer}[/green]")
            return answer
        with contextlib.suppress(EOFError):
            return console.input(f"[bold]{question}[/bold] \\[{answer}] ").strip() or answer
        return answer

    def claim(self, text: str, is_true: bool) -> None:
        """Print what was checked just now, as true or as false."""
        self.failures += not is_true
        console.print(f"  [green]✓[/green] {text}" if is_true else f"  [red]✗ NOT SO: {text}[/red]")

    def effects(self, prefix: str) -> list[str]:
        """Lines that tasks appended to the log, of one thread."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(prefix + " ")]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a process of its own on this stage."""
        base = [sys.executable, "-m", "clew.cli._demo_child", str(self.file), str(self.log), self.choice.spec]
        return subprocess.Popen(
            [*base, *words],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            bufsize=0,
        )

    def run(self, *words: str) -> tuple[int, float]:
        """Run a process to its end, showing what it writes as it comes; returns exit code and seconds."""
        began = time.monotonic()
        with self.start(*words) as process:
            out = process.stdout
            while out and (piece := out.read(1)):
                console.out(piece, end="", highlight=False)
        console.print(f"  [dim]process {process.pid} has ended, exit code {process.returncode}[/dim]")
        self.failures += process.returncode != 0
        return process.returncode, time.monotonic() - began


def _heading(letter: str, text: str) -> None:
    console.print(f"\n[bold cyan]{letter}. {text}[/bold cyan]")


def _essay(stage: Stage) -> None:
    _heading("a", "A model writes an essay in a task; the workflow asks a person; the process ends")
    topic = stage.ask("What should the essay be about?", "cats")
    stage.run("write", "essay", topic)
    stage.claim("the process is gone, and the thread waits in the file", not stage.failures)

    _heading("b", "Another process finds the waiting thread and goes on with your answer")
    stage.run("list")
    written = len(stage.effects("essay"))
    answer = stage.ask("Do you approve the essay?", "yes")
    _, seconds = stage.run("answer", "essay", answer)
    again = len(stage.effects("essay")) - written
    stage.claim(
        f"the writing task ran {written} time in the first process and {again} times in this one, "
        f"which took {seconds:.1f} s in all",
        written == 1 and again == 0,
    )


def _kill(stage: Stage) -> None:
    _heading("c", "A run is killed with SIGKILL between two tasks; the next process finishes it")
    process = stage.start("steps", "orders")
    for line in process.stdout or ():
        console.print(line.rstrip(), markup=False)
        if line.strip() == "finished: pack":
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    if process.stdout:
        process.stdout.close()
    before = len(stage.effects("orders"))
    stage.claim(
        f"process {process.pid} was killed (exit code {process.returncode}) after {before} of 5 tasks",
        process.returncode == -signal.SIGKILL and before < 5,
    )
    stage.run("steps", "orders", "go-on")
    lines = stage.effects("orders")
    console.print(f"  the log of side effects, {stage.log}:")
    for line in lines:
        console.print("    " + line, markup=False)
    tasks = [line.split()[1] for line in lines]
    stage.claim(
        "each of the 5 tasks stands in the log exactly once",
        sorted(tasks) == sorted(set(tasks)) and len(tasks) == 5,
    )
    stage.claim("two processes did the work", len({line.split()[-1] for line in lines}) == 2)


def _chat(stage: Stage) -> None:
    _heading("d", "A chat that remembers across two processes")
    name = stage.ask("What is your name?", "Ada")
    first = f"Please repeat: {name} is my name."
    stage.run("chat", first)
    stage.run("chat", "What is my name?")
    kept = [str(message.content) for message in open_history(stage.file, "demo").messages]
    stage.claim("both turns are in the file, in order", kept[0::2] == [first, "What is my name?"] and len(kept) == 4)
    if stage.choice.is_scripted:
        console.print("  [dim]the answers are a script; the messages kept and sent are real[/dim]")
    elif name.lower() in kept[-1].lower():
        stage.claim("the model knew the name, which only the first process was told", True)
    else:
        console.print("  the second process sent the first one's turn to the model, which did not use it: it is small")


def _story(stage: Stage) -> None:
    _heading("e", "Where it all is, and what `clew threads show` says about it")
    size = sum(f.stat().st_size for f in stage.file.parent.glob(stage.file.name + "*"))
    console.print(f"  {stage.file} ({size / 1024:.0f} KB with its write-ahead log); try:", markup=False)
    for command in (
        "threads list",
        "threads show essay",
        "threads show orders --mermaid",
        "chat --session demo",
    ):
        console.print(f"    clew {command} --file {stage.file}", markup=False)
    from clew.cli._threads import print_list, print_thread

    print_list(stage.file)
    print_thread(stage.file, "essay", "text")
    print_thread(stage.file, "orders", "text")


def play(folder: Path, model: str | None = None) -> int:
    """Play all five parts in a new file; returns 0 when everything it said was so."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = time.strftime("%Y%m%d-%H%M%S") + f"-{os.getpid()}"
    began = time.monotonic()
    console.print("[bold]clew: the thread that leads back[/bold]")
    choice = choose(model)
    if choice.why_not_local:
        console.print(f"[yellow]No local model here: {choice.why_not_local}[/yellow]")
    console.print(f"Model: {choice.label}.")
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
    stage = Stage(folder / f"{stem}.sqlite", folder / f"{stem}.log", choice, is_interactive)
    for part in (_essay, _kill, _chat, _story):
        part(stage)
    console.print(f"\n[dim]{time.monotonic() - began:.0f} s in all[/dim]")
    if stage.failures:
        console.print(f"[red]{stage.failures} of the things shown did not hold[/red]")
    return 1 if stage.failures else 0
