"""One process of the demo: `python -m clew.cli._demo_child FILE LOG MODEL COMMAND …`.

The workflows are the ones that the documents print, with a model in the task. A task that has an effect
appends a line `thread task … process` to the log, so that whoever reads the log can count how often it
really ran.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.checkpoint.sqlite import SqliteSaver
from clew.cli._models import open_model
from clew.func import entrypoint, task
from clew.types import Command, interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

say = sys.stdout.write
ASK = "Write a short essay about {topic}, in three or four sentences."
STEPS = ("reserve", "charge", "pack", "ship", "thank")


def effect(log: Path, thread: str, name: str) -> None:
    """Append to the log that a task of a thread ran in this process."""
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{thread} {name} ran in process {os.getpid()}\n")


def essay(saver: Any, log: Path, spec: str) -> Any:
    """The essay that waits for its reviewer."""

    @task
    def write_essay(topic: str) -> str:
        """Let the model write, token by token."""
        effect(log, "essay", "write_essay")
        model = open_model(spec, max_tokens=100, temperature=0.4)
        parts: list[str] = []
        for chunk in model.stream(ASK.format(topic=topic)):
            parts.append(str(chunk.content))
            say(parts[-1])
            sys.stdout.flush()
        say("\n")
        return "".join(parts)

    @entrypoint(checkpointer=saver)
    def workflow(topic: str) -> dict[str, Any]:
        """Write an essay and have it reviewed."""
        text = write_essay(topic).result()
        answer = interrupt({"essay": text, "action": "Please approve/reject the essay"})
        return {"essay": text, "is_approved": answer}

    return workflow


def orders(saver: Any, log: Path) -> Any:
    """Five tasks in a row, each with an effect that must not happen twice."""

    @task
    def step(name: str) -> str:
        """Do one thing, and leave a mark."""
        time.sleep(0.1)
        effect(log, "orders", name)
        return f"{name}: done"

    @entrypoint(checkpointer=saver)
    def workflow(names: list[str]) -> list[str]:
        """Do one thing after the other."""
        done: list[str] = []
        for name in names:
            done.append(step(name).result())
            say(f"  finished: {name}\n")
            sys.stdout.flush()
            time.sleep(0.3)  # time for a kill to arrive between two tasks
        return done

    return workflow


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _write(file: Path, log: Path, spec: str, thread: str, topic: str) -> None:
    say(f"  process {os.getpid()} runs the workflow; the model writes:\n\n")
    with SqliteSaver.from_conn_string(str(file)) as saver:
        for item in essay(saver, log, spec).stream(topic, _config(thread)):
            for question in item.get("__interrupt__", ()):
                say(f"\n  it stops and asks: {question.value['action']!r} (question {question.id})\n")


def _list(file: Path, log: Path, spec: str) -> None:
    del log, spec
    from clew.cli._threads import print_list

    say(f"  process {os.getpid()} lists the threads of {file}:\n")
    sys.stdout.flush()
    print_list(file)


def _answer(file: Path, log: Path, spec: str, thread: str, answer: str) -> None:
    say(f"  process {os.getpid()} resumes {thread!r} with {answer!r}\n")
    began = time.monotonic()
    with SqliteSaver.from_conn_string(str(file)) as saver:
        result = essay(saver, log, spec).invoke(Command(resume=answer), _config(thread))
    took = (time.monotonic() - began) * 1000
    say(f"  it ended after {took:.0f} ms with is_approved = {result['is_approved']!r}")
    say(f" and the essay of {len(result['essay'].split())} words from before\n")


def _steps(file: Path, log: Path, spec: str, thread: str, mode: str = "new") -> None:
    del spec
    say(f"  process {os.getpid()} {'starts' if mode == 'new' else 'goes on with'} {thread!r}\n")
    with SqliteSaver.from_conn_string(str(file)) as saver:
        given = list(STEPS) if mode == "new" else None
        result = orders(saver, log).invoke(given, _config(thread))
    say(f"  result: {result}\n")


def _chat(file: Path, log: Path, spec: str, text: str) -> None:
    del log
    from clew.cli import _chat as chat

    before = len(chat.open_history(file, "demo").messages)
    say(f"  process {os.getpid()} finds {before} earlier messages in the file\n  you:   {text}\n  model: ")
    options: dict[str, Any] = {} if spec == "scripted" else {"max_tokens": 60, "temperature": 0}
    chat.say(chat.conversation(spec, file, **options), "demo", text)
    say(f"  the file now holds {len(chat.open_history(file, 'demo').messages)} messages of this chat\n")


COMMANDS: dict[str, Callable[..., None]] = {
    "write": _write,
    "list": _list,
    "answer": _answer,
    "steps": _steps,
    "chat": _chat,
}


def main(argv: list[str]) -> None:
    """Run one command on a file."""
    file, log, spec, command, *words = argv
    COMMANDS[command](Path(file), Path(log), spec, *words)


if __name__ == "__main__":
    main(sys.argv[1:])
