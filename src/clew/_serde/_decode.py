"""Bytes to values. Plain data is read in C; each extension is looked up by its code or tag.

Nothing that the bytes name is imported or called: a code leads to a handler of ours, a tag to a class that this
program registered, the name of an exception to a class that is loaded already.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.msgpack import Decoder

from clew._serde import _types as T
from clew._serde._groups import load_for_code
from clew._serde._known import load_known_tag
from clew._serde._registry import Registry, default
from clew._serde._shapes import FieldsDiffer
from clew.errors import ClewError, DeserializationError

_decoders: dict[int, Any] = {}


def decode(data: bytes | bytearray | memoryview, *, registry: Registry = default) -> Any:
    """Return the value that `encode` wrote.

    Raises: DeserializationError (a ValueError) when the bytes are damaged, or hold a class that is not registered here
    or whose fields have changed; the message names the class and the hook to give.
    """
    try:
        return decoder(registry).decode(data)
    except RecursionError:
        from clew._serde._encode import in_thread

        return in_thread(lambda: decoder(registry).decode(data))
    except ClewError:
        raise
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise DeserializationError(f"these bytes are not a value that clew saved, or are damaged: {error}") from error


def decoder(registry: Registry) -> Decoder[Any]:
    """Return the decoder of a registry."""
    found = _decoders.get(id(registry))
    if found is None or found[0] is not registry:
        found = (registry, _make(registry))
        if len(_decoders) > 64:
            _decoders.clear()
        _decoders[id(registry)] = found
    return found[1]


def _make(registry: Registry) -> Decoder[Any]:
    def hook(code: int, raw: memoryview) -> Any:
        if code == T.MESSAGE:
            return _message(raw)
        data = inner(raw)
        if code == T.OBJECT:
            return _object(registry, data)
        handler = T.by_code.get(code)
        if handler is None and load_for_code(code):
            handler = T.by_code.get(code)
        try:
            if handler is not None:
                return handler.build(data)
            if code == T.MESSAGE_FIELDS:
                from clew.messages._wire import from_fields

                return from_fields(data)
            if code == T.ERROR:
                from clew._serde._exceptions import build

                return build(data)
        except (RecursionError, ClewError):
            raise
        except Exception as error:
            raise DeserializationError(f"a stored value of kind {code} is damaged: {error}") from error
        raise DeserializationError(
            f"a stored value is of kind {code}, which this version of clew does not know: it was saved by a newer one"
        )

    made: Decoder[Any] = Decoder(ext_hook=hook)
    inner = made.decode
    return made


def _message(raw: memoryview) -> Any:
    from clew.messages._wire import decode_message

    try:
        return decode_message(raw)  # type: ignore[arg-type] - any buffer will do
    except ValueError as error:
        raise DeserializationError(f"a stored message is damaged: {error}") from error


def _object(registry: Registry, data: Any) -> Any:
    try:
        tag, fields, *rest = data
        entry = registry.of_tag(tag)
    except (TypeError, ValueError) as error:
        raise DeserializationError(f"a stored object is damaged: {error}") from error
    if entry is None:
        entry = load_known_tag(tag, registry)
    if entry is None:
        raise DeserializationError(
            f"a stored value is of class {tag!r}, which is not registered in this program. If the class exists, "
            f"annotate the task, entrypoint or state with it or call clew.checkpoint.serde.register(cls); if it was "
            f"moved or renamed, register(NewClass, aliases=[{tag!r}]), with migrate= when its fields changed"
        )
    version = rest[0] if rest else 1
    try:
        if version != entry.version:
            if entry.migrate is None or version > entry.version:
                raise FieldsDiffer(f"it was saved as version {version} and is version {entry.version} here")
            fields = entry.migrate(fields, version)
        return entry.shape.build(fields)
    except FieldsDiffer as differ:
        raise DeserializationError(
            f"a stored {tag!r} does not fit the class as it is now: {differ}. Say how to read it: register("
            f"{entry.cls.__qualname__}, version={max(entry.version, version) + 1}, migrate=lambda fields, version: …)"
        ) from differ
