"""The serialiser of all savers, by the name that people know. It writes typed msgpack; see `clew._serde`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew._serde import Registry, decode, default, encode
from clew.errors import DeserializationError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["JsonPlusSerializer"]


class JsonPlusSerializer:
    """Values to (form, bytes) and back with their exact types; loading runs nothing.

    registry: the classes that may be saved and loaded, besides those that `register` knows.
    pickle_fallback: only False is accepted: pickle runs code when it loads.
    """

    __slots__ = ("registry",)

    def __init__(self, *, registry: Registry | None = None, pickle_fallback: bool = False) -> None:
        if pickle_fallback:
            raise ValueError(
                "pickle runs code when it loads, so it is not supported: register the class with "
                "clew.checkpoint.serde.register, with pack= and unpack= where it has no fields"
            )
        self.registry = registry if registry is not None else default

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return (form, bytes): "null", "bytes", "bytearray" as they are, all else "msgpack".

        Raises: SerializationError (a TypeError) with the path of the value that can't be kept.
        """
        if obj is None:
            return "null", b""
        if type(obj) is bytes:
            return "bytes", obj
        if type(obj) is bytearray:
            return "bytearray", bytes(obj)
        return "msgpack", encode(obj, registry=self.registry)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of (form, bytes).

        Raises: DeserializationError (a ValueError) when the form is unknown ("pickle" among them), the bytes are
        damaged, or a class is not registered.
        """
        form, raw = data
        if form == "msgpack":
            return decode(raw, registry=self.registry)
        if form == "null":
            return None
        if form == "bytes":
            return bytes(raw)
        if form == "bytearray":
            return bytearray(raw)
        if form == "json":
            try:
                return json.loads(raw)
            except ValueError as error:
                raise DeserializationError(f"stored JSON is damaged: {error}") from error
        raise DeserializationError(f"a stored value has the form {form!r}, which is never loaded")

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[type[Any] | tuple[str, ...]]) -> JsonPlusSerializer:
        """Return a serialiser that also knows these classes. Names are refused: a class is given, never looked up."""
        registry = Registry(self.registry)
        for cls in extra_allowlist:
            if not isinstance(cls, type):
                raise TypeError(f"give the class itself instead of {cls!r}: nothing is imported by name")
            registry.add(cls)
        return JsonPlusSerializer(registry=registry)
