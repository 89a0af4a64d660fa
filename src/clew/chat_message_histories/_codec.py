"""Messages as text, and back, the same for every store.

A message is stored as `{"type": "human", "data": {…}}`, the form that the field's stores already hold, so existing
tables, lists and files open as they are. Values that JSON can't carry exactly (bytes, tuples, NaN, dates, integers
beyond 64 bits …) put the whole message, typed, into a third key beside a readable rendering: nothing decays in silence,
and what can't be stored at all is refused before anything is written.

Reading builds messages and nothing else: what the text names is never imported or called.
"""

from __future__ import annotations

import base64
import functools
import json
from typing import TYPE_CHECKING, Any, Union, cast

import msgspec

from clew.errors import DeserializationError
from clew.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message, message_to_dict, messages_from_dict
from clew.messages.base import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["bound_text", "decode", "encode", "encode_each", "encode_readable", "unbound_text"]

_TYPED = "clew"
_OURS = ',"data":{"_":"'  # how a message class writes itself, its defaults left out
_encode_json = msgspec.json.Encoder().encode
_decode_json = cast("Callable[[bytes | str], Any]", msgspec.json.decode)
_PLAIN = frozenset({str, bool, type(None)})


def encode(message: BaseMessage) -> str:
    """Return a message as JSON text; a chunk is stored as the message it stands for.

    Raises: SerializationError (a TypeError) naming the value that can't be stored.
    """
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(cast("Any", message))
    kind = _kinds().get(type(message))
    try:
        if kind is not None and _has_plain_fields(message):
            return f'{{"type":"{kind}","data":{str(_encode_json(message), "utf-8")}}}'
        return str(_encode_json(_to_dict(message)), "utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: only an escape carries it
        return json.dumps(_to_dict(message))


@functools.cache
def _kinds() -> dict[type, str]:
    """Message class -> its type text, for the classes whose JSON is written and read in C."""
    return {cls: kind for kind, cls in REGISTRY.items() if not issubclass(cls, BaseMessageChunk)}


def _has_plain_fields(message: BaseMessage) -> bool:
    for name in message.__struct_fields__:
        value = getattr(message, name)
        kind = cast("Any", type(value))
        if kind is str or value is None or (not value and (kind is dict or kind is list)):
            continue
        if not _is_plain(value):
            return False
    return True


def encode_each(messages: Iterable[BaseMessage]) -> list[str]:
    """Encode all messages before any is written, so that a write is all or none."""
    return [encode(message) for message in messages]


def encode_readable(message: BaseMessage, *, ensure_ascii: bool) -> str:
    """Return a message as JSON text for a file that people read."""
    return json.dumps(_to_dict(message), ensure_ascii=ensure_ascii)


def decode(rows: Sequence[str | bytes]) -> list[BaseMessage]:
    """Return the messages that `encode` made these rows from.

    Raises: DeserializationError (a ValueError) when a row is no message.
    """
    if not rows:
        return []
    mark: Any = _OURS
    if isinstance(rows[0], bytes):
        text: str | bytes = b"[%b]" % b",".join(cast("Sequence[bytes]", rows))
        mark = _OURS.encode()
    else:
        text = f"[{','.join(cast('Sequence[str]', rows))}]"
    # rows of our own hold no member that a message class lacks, so they may be read straight into the classes
    if all(mark in row[:40] for row in rows):
        try:
            return [stored.data for stored in _reader()(text)]
        except (msgspec.DecodeError, UnicodeEncodeError):
            pass  # a row in the other form among them: read all that way
    return from_dicts(loads(text))


@functools.cache
def _reader() -> Callable[[bytes | str], list[Any]]:
    """Return the function that reads a list of our rows, in C."""
    forms = [
        msgspec.defstruct(
            f"Stored{cls.__name__}", [("data", cls)], tag=kind, tag_field="type", forbid_unknown_fields=True
        )
        for cls, kind in _kinds().items()
    ]
    return msgspec.json.Decoder(list[Union[tuple(forms)]]).decode  # type: ignore[misc]  # noqa: UP007 - made of a list


def loads(text: str | bytes) -> Any:
    """Read JSON text, also such as only the standard library accepts (lone surrogates).

    Raises: DeserializationError.
    """
    try:
        return _decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            return json.loads(text)
        except ValueError as error:
            raise DeserializationError(f"a stored message is not JSON: {error}") from error


def from_dicts(stored: Any) -> list[BaseMessage]:
    """Return the messages of a list of `{"type": …, "data": …}`.

    Raises: DeserializationError.
    """
    try:
        messages = messages_from_dict(stored)
        typed = [place for place, item in enumerate(stored) if _TYPED in item]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeserializationError(f"what is stored is not a list of messages: {error!r}") from error
    for place in typed:
        messages[place] = _from_typed(stored[place][_TYPED])
    return messages


def _to_dict(message: BaseMessage) -> dict[str, Any]:
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(cast("Any", message))
    stored = message_to_dict(message)
    if _is_plain(stored["data"]):
        return stored
    from clew import _serde

    typed = _serde.encode(message)
    return {"type": stored["type"], "data": _rendered(stored["data"]), _TYPED: str(base64.b64encode(typed), "ascii")}


def _from_typed(text: Any) -> BaseMessage:
    from clew import _serde

    message = _serde.decode(base64.b64decode(text))
    if not isinstance(message, BaseMessage):
        raise DeserializationError(f"what is stored is no message but a {type(message).__name__}")
    return message


def _is_plain(value: Any) -> bool:
    """Whether JSON carries a value exactly."""
    kind = cast("Any", type(value))
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    if kind is list:
        return all(map(_is_plain, value))
    if kind is int:
        return -(2**63) <= value < 2**63
    return kind is float and value - value == 0.0


def _rendered(value: Any) -> Any:
    """Make anything JSON, for the eye only."""
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return {str(key): _rendered(item) for key, item in items.items()}
    if isinstance(value, (list, tuple)):
        return [_rendered(item) for item in cast("Sequence[Any]", value)]
    return value if _is_plain(value) else repr(value)


def bound_text(text: str) -> str:
    """Return an id in a form that every database takes as text: no NUL, no half surrogate; reversible.

    Ordinary ids are returned as they are.
    """
    if "\x00" not in text and not text.startswith("\ue000"):
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return "\ue000" + json.dumps(text)


def unbound_text(text: str) -> str:
    """Return the id that `bound_text` was given."""
    return json.loads(text[1:]) if text.startswith("\ue000") else text
