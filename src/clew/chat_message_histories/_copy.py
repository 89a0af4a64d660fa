"""Move a conversation from one store to another: addresses, and a copy that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from clew.errors import StorageError

if TYPE_CHECKING:
    from clew.chat_history import BaseChatMessageHistory

__all__ = ["CopyReport", "copy_history", "open_history"]

_PART = 500  # messages of one write: bounds the memory of a copy and the size of a request


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy did: messages copied, and how many the target held before."""

    copied: int
    before: int


def open_history(address: str) -> BaseChatMessageHistory:
    """Return the history that an address names: `scheme:place#session`.

    file:chat.json · sqlite:///chat.db#ann · redis://host:6379/0#ann · postgresql://host/db#ann ·
    mongodb://host:27017#ann · dynamodb://table#ann (or dynamodb://table?endpoint=http://host:8000#ann) ·
    firestore://collection?user=u#ann · cosmos: by code (it needs a credential) · any other SQLAlchemy URL#ann.
    The session is percent-decoded.
    Raises: ValueError when the address names no store or no session.
    """
    place, _, fragment = address.partition("#")
    session = unquote(fragment)
    scheme, found, rest = place.partition(":")
    if not found:
        raise ValueError(f"{address!r} names no store: write file:PATH, sqlite:///PATH#SESSION, redis://HOST#SESSION …")
    if scheme == "file":
        from clew.chat_message_histories.file import FileChatMessageHistory

        return FileChatMessageHistory(rest.removeprefix("//"))
    if not session:
        raise ValueError(f"{address!r} names no session: add #SESSION")
    return _open(scheme.partition("+")[0], place, session)


def _open(scheme: str, place: str, session: str) -> BaseChatMessageHistory:
    if scheme in ("redis", "rediss", "valkey"):
        from clew.chat_message_histories.redis import RedisChatMessageHistory

        return RedisChatMessageHistory(session, url=place)
    if scheme in ("postgres", "postgresql"):
        from clew.chat_message_histories.postgres import PostgresChatMessageHistory

        return PostgresChatMessageHistory(session, connection_string=place)
    if scheme in ("mongodb", "mongodb+srv"):
        from clew.chat_message_histories.mongodb import MongoDBChatMessageHistory

        return MongoDBChatMessageHistory(place, session)
    parts = urlsplit(place)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if scheme == "dynamodb":
        from clew.chat_message_histories.dynamodb import DynamoDBChatMessageHistory

        return DynamoDBChatMessageHistory(parts.netloc, session, endpoint_url=options.get("endpoint"))
    if scheme == "firestore":
        from clew.chat_message_histories.firestore import FirestoreChatMessageHistory

        return FirestoreChatMessageHistory(parts.netloc, session, options.get("user", ""))
    from clew.chat_message_histories.sql import SQLChatMessageHistory

    return SQLChatMessageHistory(session_id=session, connection=place)


def copy_history(source: BaseChatMessageHistory, target: BaseChatMessageHistory) -> CopyReport:
    """Append all messages of one history to another, and read them back.

    Raises: StorageError when what the target gives back is not what was copied; nothing is removed anywhere.
    """
    messages = source.messages
    before = len(target.messages)
    for start in range(0, len(messages), _PART):
        target.add_messages(messages[start : start + _PART])
    found = target.get_messages_after(before)
    if found[: len(messages)] != messages:
        place = next(
            (n for n, (a, b) in enumerate(zip(messages, found, strict=False)) if a != b), min(len(messages), len(found))
        )
        raise StorageError(f"message {place} of the copy is not what the source holds; the source is untouched")
    return CopyReport(copied=len(messages), before=before)
