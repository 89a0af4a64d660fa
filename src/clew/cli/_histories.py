"""`clew histories copy`: the messages of one conversation, from any store to any other."""

from __future__ import annotations

from rich.console import Console

from clew.chat_message_histories import copy_history, open_history
from clew.errors import ClewError


def copy(source: str, target: str) -> int:
    """Add the messages of `source` to `target`; returns how many, and says so.

    Raises: ClewError when an address names no store or no session.
    """
    try:
        stores = open_history(source), open_history(target)
    except ValueError as error:
        raise ClewError(str(error)) from error
    report = copy_history(*stores)
    before = f" (which held {report.before} before)" if report.before else ""
    Console(highlight=False).print(f"{report.copied} messages copied from {source} to {target}{before}", markup=False)
    return report.copied
