"""Values to what a journal stores, and back.

`encode` and `decode` turn a value into bytes (deltas are taken on those); `seal` and `unseal` wrap what goes to
disk. By
default they are the typed msgpack of clew, and nothing. A serializer given to the saver takes their place; one that
encrypts seals each row together with the id of its thread, so a row that was moved to another thread is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clew import _serde
from clew.errors import DeserializationError, StorageCorruptError

if TYPE_CHECKING:
    from collections.abc import Callable

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class Codec:
    """The codec of a saver that was given no serializer. seals: whether `seal` does anything."""

    __slots__ = ()
    seals = False

    encode: Callable[[Any], bytes] = staticmethod(_serde.encode)
    """Raises: SerializationError with the path of what can't be saved."""
    decode: Callable[[bytes | bytearray], Any] = staticmethod(_serde.decode)
    """Raises: DeserializationError."""

    def seal(self, thread_id: str, raw: bytes) -> bytes:
        """Return what is stored."""
        return raw

    def unseal(self, thread_id: str, stored: bytes) -> bytes:
        """Return what was sealed. Raises: StorageCorruptError when it belongs to another thread."""
        return stored


class SerdeCodec(Codec):
    """Values go through the `dumps_typed` of the saver's serializer."""

    __slots__ = ("_serde",)

    def __init__(self, serde: Any) -> None:
        self._serde = serde

    def encode(self, value: Any) -> bytes:  # type: ignore[override] - a method where the plain codec has a function
        kind, data = self._serde.dumps_typed(value)
        return _pack((kind, bytes(data)))

    def decode(self, data: bytes | bytearray) -> Any:  # type: ignore[override] - as above
        kind, body = _unpack(data)
        return self._serde.loads_typed((kind, body))


class SealedCodec(Codec):
    """Values are clew's msgpack; every stored row goes through the encrypting serializer, bound to its thread."""

    __slots__ = ("_serde",)
    seals = True

    def __init__(self, serde: Any) -> None:
        self._serde = serde

    def seal(self, thread_id: str, raw: bytes) -> bytes:
        kind, data = self._serde.dumps_typed([thread_id, raw])
        return _pack((kind, bytes(data)))

    def unseal(self, thread_id: str, stored: bytes) -> bytes:
        try:
            kind, data = _unpack(stored)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            raise DeserializationError("this row is not encrypted, and the saver reads encrypted rows only") from error
        owner, raw = self._serde.loads_typed((kind, data))
        if owner != thread_id:
            raise StorageCorruptError(f"a row of another thread was found in thread {thread_id!r}; it was not used")
        return raw


def codec_for(serde: Any) -> Codec:
    """Return the codec of a saver with this serializer (None for clew's own)."""
    if serde is None:
        return Codec()
    if getattr(serde, "encrypts", False) or hasattr(serde, "cipher"):
        return SealedCodec(serde)
    return SerdeCodec(serde)
