"""Values to checkpoints: a channel that grew costs what was added.

A list that begins with the very elements that were saved before is stored as a delta made without looking at them
again; every other change goes through the general difference of encodings. Unchanged channels keep their reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

from msgspec import msgpack

from clew.checkpoint import _delta
from clew.checkpoint._codec import Codec
from clew.checkpoint._views import INLINE
from clew.errors import SerializationError
from clew.pregel._thread import goes_on

if TYPE_CHECKING:
    from clew.checkpoint._records import Ref
    from clew.pregel._thread import Values

Rows = list[tuple[int, int, bytes]]


def _header(count: int) -> bytes:
    """Return the msgpack header of an array. Source: the msgpack specification, "array format family"."""
    if count < 16:
        return bytes((0x90 | count,))
    return b"\xdc" + count.to_bytes(2, "big") if count < 65536 else b"\xdd" + count.to_bytes(4, "big")


class _Saved:
    """What was last written of one channel. raw: its encoding, or None until it is needed."""

    __slots__ = ("count", "deltas", "raw", "ref", "snapshot", "value")

    def __init__(self, value: Any, ref: Ref) -> None:
        self.value = value
        self.ref = ref
        self.count = len(value) if type(value) is list else -1  # pyright: ignore[reportUnknownArgumentType]
        self.raw: bytearray | None = None
        self.snapshot = self.deltas = 0


class Ledger:
    """The channels of one run as they stand in the thread's newest checkpoint."""

    __slots__ = ("_saved", "_values", "grows")

    def __init__(self, values: Values) -> None:
        self._values = values
        self._saved: dict[str, _Saved] = {}
        self.grows = type(values.codec).encode is Codec.encode  # lists are encoded element by element

    async def read(self, key: str, ref: Ref) -> Any:
        """Return a channel's value from the checkpoint that the run starts from."""
        value = await self._values.value(ref)
        saved = self._saved[key] = _Saved(value, ref)
        known = self._values.known.get(ref)
        if known is not None:
            saved.raw, saved.snapshot, saved.deltas = bytearray(known[0]), known[1], known[2]
        elif isinstance(ref, bytes):
            saved.raw = bytearray(ref)
        return value

    def write(self, values: Mapping[str, Any]) -> tuple[dict[str, Ref], Rows]:
        """Return a reference for each channel, and the rows to write.

        Raises: SerializationError naming the channel and the path in it.
        """
        refs: dict[str, Ref] = {}
        rows: Rows = []
        for key, value in values.items():
            saved = self._saved.get(key)
            if saved is None or saved.value is not value or (saved.count >= 0 and saved.count != len(value)):
                saved = self._put(key, value, saved, rows)
            refs[key] = saved.ref
        return refs, rows

    def _put(self, key: str, value: Any, saved: _Saved | None, rows: Rows) -> _Saved:
        try:
            if saved is not None and self.grows and saved.raw is not None and _extends(value, saved):
                self._append(value, saved, rows)
                return saved
            raw = self._values.codec.encode(value)
        except SerializationError as error:
            raise SerializationError(f"the state's key {key!r}: {error}", path=error.path) from error
        base = None if saved is None else saved.ref
        if saved is not None and saved.raw is not None and isinstance(base, tuple):
            self._values.known[base] = (saved.raw, saved.snapshot, saved.deltas)
        ref, more = self._values.write(raw, base)
        if base is not None:
            self._values.known.pop(base, None)
        rows += more
        fresh = self._saved[key] = _Saved(value, ref)
        fresh.raw = bytearray(raw)
        known = self._values.known.get(ref)
        if known is not None:
            fresh.snapshot, fresh.deltas = known[1], known[2]
        return fresh

    def _append(self, value: list[Any], saved: _Saved, rows: Rows) -> None:
        """Store the elements that are new."""
        raw, encode = saved.raw, self._values.codec.encode
        assert raw is not None
        try:
            added = b"".join(map(encode, value[saved.count :]))
        except SerializationError:
            encode(value)  # the same, with the path from the top
            raise
        old, new = len(_header(saved.count)), _header(len(value))
        splices = [(0, old, new), (len(raw), len(raw), added)]
        _delta.apply(raw, splices)
        saved.value, saved.count = value, len(value)
        body = _delta.pack(splices)
        seal, thread = self._values.codec.seal, self._values.place.thread_id
        if len(raw) <= INLINE:
            saved.ref = bytes(raw)
        elif isinstance(saved.ref, tuple) and goes_on(saved.ref, saved.snapshot + saved.deltas + len(body), len(raw)):
            saved.ref = (saved.ref[0], saved.ref[1] + 1, False)
            saved.deltas += len(body)
            rows.append((saved.ref[0], saved.ref[1], seal(thread, body)))
        else:
            saved.ref = (self._values.new_chain(), 0, False)
            saved.snapshot, saved.deltas = len(raw), 0
            rows.append((saved.ref[0], 0, seal(thread, bytes(raw))))


def _extends(value: Any, saved: _Saved) -> bool:
    """Say whether a list begins with the very elements that were saved. Cost: a pointer compare each."""
    if type(value) is not list or saved.count < 0:  # pyright: ignore[reportUnknownArgumentType] - of any type
        return False
    old: list[Any] = saved.value
    kept: list[Any] = value[: saved.count]  # pyright: ignore[reportUnknownVariableType] - of any type
    return len(old) == saved.count == len(kept) and all(map(is_, old, kept))


def pack_private(data: Any) -> bytes:
    """Return a graph's position as bytes."""
    return msgpack.encode(data)


def unpack_private(data: bytes | None) -> Any:
    """Return the position that `pack_private` wrote; None when there is none."""
    return None if data is None else msgpack.decode(data)
