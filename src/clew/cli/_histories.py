"""`clew histories copy`: the messages of one conversation, from any store to any other."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from rich.console import Console

from clew.errors import ClewError


def _redis(address: str, session: str) -> Any:
    from clew.chat_message_histories import RedisChatMessageHistory

    return RedisChatMessageHistory(session_id=session, url=address)


def _postgres(address: str, session: str) -> Any:
    from clew.chat_message_histories import PostgresChatMessageHistory

    return PostgresChatMessageHistory(session_id=session, connection_string=address)


def _sql(address: str, session: str) -> Any:
    from clew.chat_message_histories import SQLChatMessageHistory

    return SQLChatMessageHistory(session_id=session, connection=address)


def _file(address: str, session: str) -> Any:
    from clew.chat_message_histories import FileChatMessageHistory

    del session  # one file is one conversation
    return FileChatMessageHistory(address.removeprefix("file:"))


KINDS = {"file": _file, "redis": _redis, "rediss": _redis, "postgres": _postgres, "postgresql": _postgres}


def open_store(address: str) -> Any:
    """The history that an address names: `scheme:…#session`.

    file:chat.json, redis://host:6379/0#ann, postgresql://host/db#ann, and any SQLAlchemy URL
    (sqlite:///f.sqlite#ann).
    """
    place, _, session = address.partition("#")
    scheme = place.split(":", 1)[0].split("+", 1)[0]
    if ":" not in place:
        raise ClewError(
            f"{address!r} names no store; write file:PATH, sqlite:///PATH#SESSION, redis://HOST#SESSION …"
        )
    if scheme != "file" and not session:
        raise ClewError(f"{address!r} names no session; add #SESSION")
    return KINDS.get(scheme, _sql)(place, unquote(session))


def copy(source: str, target: str) -> int:
    """Add the messages of `source` to `target`; returns how many, and says so."""
    messages = open_store(source).messages
    open_store(target).add_messages(messages)
    Console(highlight=False).print(f"{len(messages)} messages copied from {source} to {target}", markup=False)
    return len(messages)
