"""A position as bytes, beside the state in a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clew.graph._plan import Call, Position

if TYPE_CHECKING:
    from clew.checkpoint._codec import Codec


class _Stored(msgspec.Struct, array_like=True, gc=False):
    next: list[tuple[str, bytes | None]]
    joins: dict[str, list[str]]
    deferred: list[str]
    last: list[str]


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Stored).decode


def pack_position(position: Position, last: tuple[str, ...], codec: Codec) -> bytes:
    """Return a position and the nodes of the step before it. Raises: SerializationError for an argument of a Send."""
    calls = [(call.node, codec.encode(call.arg) if call.is_send else None) for call in position.next]
    return _pack(_Stored(calls, {k: list(v) for k, v in position.joins.items()}, list(position.deferred), list(last)))


def unpack_position(data: bytes | None, codec: Codec) -> tuple[Position, tuple[str, ...]]:
    """Return what `pack_position` wrote; an empty position when there is nothing."""
    if data is None:
        return Position(), ()
    stored = _unpack(data)
    calls = tuple(Call(name) if arg is None else Call(name, codec.decode(arg), True) for name, arg in stored.next)
    joins = {name: tuple(seen) for name, seen in stored.joins.items()}
    return Position(calls, joins, tuple(stored.deferred)), tuple(stored.last)


def has_next(data: bytes | None) -> bool:
    """Say whether a position has nodes to run."""
    return data is not None and bool(_unpack(data).next)
