"""`clew chat`: a conversation with a model, kept in one SQLite file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console

from clew.cli._models import choose, open_model
from clew.messages import HumanMessage

if TYPE_CHECKING:
    from pathlib import Path

    from clew.chat_history import BaseChatMessageHistory

SYSTEM = "You answer in one short sentence."


def open_history(file: Path, session: str) -> BaseChatMessageHistory:
    """The messages of one conversation in the file; made when missing."""
    from clew.chat_message_histories import SQLChatMessageHistory

    file.parent.mkdir(parents=True, exist_ok=True)
    return SQLChatMessageHistory(session_id=session, connection=f"sqlite:///{file.absolute()}")


def conversation(spec: str, file: Path, **options: Any) -> Any:
    """A runnable that answers a message and keeps both sides of the turn in the file."""
    from clew.prompts import ChatPromptTemplate, MessagesPlaceholder
    from clew.runnables.history import RunnableWithMessageHistory

    prompt = ChatPromptTemplate.from_messages(
        [("system", SYSTEM), MessagesPlaceholder("history"), MessagesPlaceholder("question")]
    )

    def kept(session_id: str) -> BaseChatMessageHistory:
        return open_history(file, session_id)

    return RunnableWithMessageHistory(
        prompt | open_model(spec, **options),
        kept,
        input_messages_key="question",
        history_messages_key="history",
    )


def say(bot: Any, session: str, text: str) -> str:
    """Put a question, write the answer to stdout as it comes; returns the answer."""
    config = {"configurable": {"session_id": session}}
    parts: list[str] = []
    for chunk in bot.stream({"question": [HumanMessage(text)]}, config):
        parts.append(str(chunk.content))
        sys.stdout.write(parts[-1])
        sys.stdout.flush()
    sys.stdout.write("\n")
    return "".join(parts)


def talk(session: str, model: str | None, file: Path, once: str | None) -> int:
    """Run the conversation until the user ends it (Ctrl-D); returns the exit code."""
    console = Console(stderr=True, highlight=False)
    choice = choose(model)
    if choice.why_not_local:
        console.print(f"[yellow]no local model: {choice.why_not_local}[/yellow]")
    past = len(open_history(file, session).messages)
    console.print(f"[dim]{choice.label}; {past} earlier messages of {session!r} in {file}; Ctrl-D ends[/dim]")
    bot = conversation(choice.spec, file)
    if once is not None:
        say(bot, session, once)
        return 0
    while True:
        try:
            text = console.input("[bold]> [/bold]") if sys.stdin.isatty() else next(sys.stdin).rstrip("\n")
        except (EOFError, StopIteration, KeyboardInterrupt):
            return 0
        if text.strip():
            say(bot, session, text)
