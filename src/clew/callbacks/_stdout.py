"""Print to standard output: chains as they begin and end, tokens as they come."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from clew.callbacks.base import BaseCallbackHandler

if TYPE_CHECKING:
    from typing import Self

COLORS = {"blue": "36;1", "yellow": "33;1", "pink": "38;5;200", "green": "32;1", "red": "31;1"}


class StdOutCallbackHandler(BaseCallbackHandler):
    """Prints chains, tools and agents as they begin and end.

    color: "blue", "yellow", "pink", "green", "red" or None; only used in a terminal.
    """

    def __init__(self, color: str | None = None) -> None:
        self.color = color

    def _print(self, text: str, color: str | None = None, end: str = "\n") -> None:
        code = COLORS.get(color or self.color or "")
        if code and sys.stdout.isatty():
            text = f"\033[{code}m{text}\033[0m"
        print(text, end=end, flush=True)  # noqa: T201 - its purpose

    def on_chain_start(self, serialized: dict[str, Any] | None, inputs: Any, **kwargs: Any) -> None:
        """Print that a chain begins."""
        self._print(f"\n\n> Entering new {kwargs.get('name') or _name(serialized)} chain...")

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Print that a chain ended."""
        self._print("\n> Finished chain.")

    def on_agent_action(self, action: Any, color: str | None = None, **kwargs: Any) -> Any:
        """Print what an agent is about to do."""
        self._print(str(getattr(action, "log", action)), color, end="")

    def on_tool_end(
        self,
        output: Any,
        color: str | None = None,
        observation_prefix: str | None = None,
        llm_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Print the output of a tool."""
        self._print(f"{observation_prefix or ''}{output}{llm_prefix or ''}", color)

    def on_text(self, text: str, color: str | None = None, end: str = "", **kwargs: Any) -> None:
        """Print some text worth showing."""
        self._print(text, color, end=end)

    def on_agent_finish(self, finish: Any, color: str | None = None, **kwargs: Any) -> None:
        """Print that an agent is done."""
        self._print(str(getattr(finish, "log", finish)), color)


class StreamingStdOutCallbackHandler(BaseCallbackHandler):
    """Prints the tokens of a streamed answer as they come."""

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        """Print one piece."""
        sys.stdout.write(token)
        sys.stdout.flush()


class FileCallbackHandler(StdOutCallbackHandler):
    """Writes to a file what `StdOutCallbackHandler` prints.

    filename: made if it is not there; mode: as for `open`. Close it, or use it as a context manager.
    """

    def __init__(self, filename: str | Path, mode: str = "a", color: str | None = None) -> None:
        super().__init__(color)
        self.filename = Path(filename)
        self._file: IO[str] = self.filename.open(mode, encoding="utf-8")

    def _print(self, text: str, color: str | None = None, end: str = "\n") -> None:
        self._file.write(text + end)
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _name(serialized: dict[str, Any] | None) -> str:
    return (serialized or {}).get("name") or ((serialized or {}).get("id") or ["<unknown>"])[-1]
