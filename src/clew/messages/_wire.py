"""Messages as bytes, for histories, stores and savers.

The form: msgpack of the Struct's fields that differ from their defaults, with the type text under "_" . Encoding and
decoding run in C. `is_plain` says whether a message holds only values that msgpack carries exactly; any other message
must be written field by field (`to_fields`), with the caller's encoding for the odd values.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast

import msgspec

from clew.messages._any import AnyMessage
from clew.messages._model import build
from clew.messages.ai import AIMessageChunk
from clew.messages.base import REGISTRY, BaseMessage
from clew.messages.modifier import RemoveMessage

Wire = AnyMessage | RemoveMessage

_encoder = msgspec.msgpack.Encoder()
_one = msgspec.msgpack.Decoder(Wire)
_many = msgspec.msgpack.Decoder(list[Wire])
_TEXT = frozenset({str})
_ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_CLOSED = frozenset({"type", "name", "id", "tool_call_id", "status", "role", "chunk_position", "usage_mode"})
_OPEN: dict[Any, Callable[[Any], tuple[Any, ...]]] = {
    cls: attrgetter(*(name for name in cls.__struct_fields__ if name not in _CLOSED)) for cls in REGISTRY.values()
}
"""Message class -> a function that gets the values of the fields that may hold anything."""


def is_plain(message: BaseMessage) -> bool:
    """Whether `encode_message` gives the message back equal in value and type, or raises.

    It raises OverflowError for integers beyond 64 bits and UnicodeEncodeError for half a surrogate pair.
    """
    fields = _OPEN.get(type(message))
    if fields is None:
        return False
    for value in fields(message):
        kind = cast("Any", type(value))
        if kind is str or value is None or ((kind is dict or kind is list) and not value):
            continue
        if not _is_plain(value):
            return False
    return True


def _is_plain(value: Any) -> bool:
    kind = cast("Any", type(value))
    items: Any = value
    if kind is dict:
        if not _TEXT.issuperset(map(type, value)):
            return False
        items = value.values()
    elif kind is not list:
        return kind in _ATOMS
    if _ATOMS.issuperset(map(type, items)):
        return True
    for item in items:  # noqa: SIM110 - a generator costs more than what it would check here
        if type(item) not in _ATOMS and not _is_plain(item):
            return False
    return True


def encode_message(message: BaseMessage) -> bytes:
    """Return the bytes of one plain message. Raises: UnicodeEncodeError for text with lone surrogates."""
    if isinstance(message, AIMessageChunk):
        _settle(message)
    return _encoder.encode(message)


def encode_messages(messages: list[Any]) -> bytes:
    """Return the bytes of n plain messages."""
    for message in messages:
        if type(message) is AIMessageChunk:
            _settle(message)
    return _encoder.encode(messages)


def decode_message(data: bytes) -> BaseMessage:
    """Return the message of `encode_message`. Raises: msgspec.DecodeError (a ValueError)."""
    return _one.decode(data)


def decode_messages(data: bytes) -> list[BaseMessage]:
    """Return the messages of `encode_messages`. Raises: msgspec.DecodeError (a ValueError)."""
    return cast("list[BaseMessage]", _many.decode(data))


def _settle(chunk: AIMessageChunk) -> None:
    """Work out the fields of a sum."""
    _ = chunk.content
    _ = chunk.tool_calls


def to_fields(message: BaseMessage) -> dict[str, Any]:
    """Return the fields of a message that differ from their defaults, and its type text under "_".

    The values are the message's own objects, not copies. For a user's subclass the type text is that of the clew class
    below it.
    """
    cls = type(message)
    defaults = _DEFAULTS.get(cls)
    if defaults is None:
        from clew.messages._model import defaults_of

        defaults = _DEFAULTS[cls] = defaults_of(cls)
    out: dict[str, Any] = {"_": cls.__struct_config__.tag}
    for name in cls.__struct_fields__:
        value = getattr(message, name)
        if name not in defaults or value != defaults[name]:
            out[name] = value
    return out


_DEFAULTS: dict[type[BaseMessage], dict[str, Any]] = {}


def from_fields(fields: dict[str, Any]) -> BaseMessage:
    """Return the message of `to_fields`. Raises: ValueError for an unknown type."""
    cls = REGISTRY.get(fields.get("_", ""))
    if cls is None:
        raise ValueError(f"unknown message type {fields.get('_')!r}")
    return build(cls, {key: value for key, value in fields.items() if key != "_"})
