"""Conversations as graph state: a reducer that adds, replaces and removes messages by id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, cast, overload

from typing_extensions import TypedDict

from clew._ids import new_id
from clew.messages import BaseMessage, BaseMessageChunk, RemoveMessage, convert_to_messages, message_chunk_to_message

REMOVE_ALL_MESSAGES = "__remove_all__"
"""The id of a RemoveMessage that empties the list; what follows it in the same update stays."""


@overload
def add_messages(left: Any, right: Any) -> list[BaseMessage]: ...
@overload
def add_messages() -> Callable[[Any, Any], list[BaseMessage]]: ...
def add_messages(left: Any = None, right: Any = None) -> Any:
    """Add messages to a conversation; a message whose id is there already takes its place.

    left: n messages, oldest first; not mutated. right: m messages or anything `convert_to_messages` takes, one or a
    list; those without an id get one. A RemoveMessage takes out the message with its id.
    Returns: a new list. Without arguments: the reducer itself.
    Raises: ValueError for a RemoveMessage whose id is not there.
    Cost: O(n + m); no lookup by id when nothing in right carried one.
    """
    if left is None and right is None:
        return partial(add_messages)
    old = cast("list[BaseMessage]", left) if _is_messages(left) else _messages(left)
    new = _messages(right)
    if all(message.id is None for message in new):
        return [*old, *map(_with_id, new)]
    for position in range(len(new) - 1, -1, -1):
        if isinstance(new[position], RemoveMessage) and new[position].id == REMOVE_ALL_MESSAGES:
            old, new = [], new[position + 1 :]
            break
    return _merge(old, new)


def _merge(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> list[BaseMessage]:
    merged: list[BaseMessage | None] = list(old)
    places = {message.id: place for place, message in enumerate(old) if message.id is not None}
    for message in new:
        if isinstance(message, RemoveMessage):
            place = places.pop(message.id or "", None)
            if place is None:
                raise ValueError(f"no message has the id {message.id!r}, so it can't be removed")
            merged[place] = None
        elif message.id in places:
            merged[places[message.id]] = message
        else:
            message = _with_id(message)
            places[message.id or ""] = len(merged)
            merged.append(message)
    return [message for message in merged if message is not None]


def _is_messages(value: Any) -> bool:
    """True for a list this reducer made: it need not be walked again."""
    return isinstance(value, list) and all(isinstance(one, BaseMessage) and one.id for one in value)  # pyright: ignore[reportUnknownVariableType]


def _messages(value: Any) -> list[BaseMessage]:
    if value is None:
        return []
    if not isinstance(value, list):
        value = [value]
    return [
        message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
        for message in convert_to_messages(value)  # pyright: ignore[reportUnknownArgumentType]
    ]


def _with_id(message: BaseMessage) -> BaseMessage:
    if message.id is None:
        message.id = new_id()
    return message


class MessagesState(TypedDict):
    """State with one key: the conversation."""

    messages: Annotated[list[BaseMessage], add_messages]
