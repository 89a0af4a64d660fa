"""Differences between two encodings of a value, so that a growing value costs what was added.

Works on bytes and knows no types: a longer list differs from the old one in its header and its end, also where it
sits inside a dict. A delta is a list of (start, end, replacement) on the old bytes, applied back to front.

Invariant: `apply(bytearray(old), diff(old, new))` equals new.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clew.errors import StorageCorruptError

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[tuple[int, int, bytes]]).decode

Splices = list[tuple[int, int, bytes]]
_HEADERS = [(a, b) for total in range(11) for a in range(6) for b in range(6) if a + b == total]
_SYNC = 24  # bytes that must agree before two places count as the same
_SEGMENTS = 12


def _common(old: bytes | bytearray, i: int, new: bytes, j: int) -> int:
    """Return how many bytes old[i:] and new[j:] have in common at their beginning."""
    size = min(len(old) - i, len(new) - j)
    if old[i : i + size] == new[j : j + size]:
        return size
    low, step = 0, 64
    while old[i + low : i + low + step] == new[j + low : j + low + step]:
        low += step
        step *= 2
    while step > 1:
        step //= 2
        if old[i + low : i + low + step] == new[j + low : j + low + step]:
            low += step
    return min(low, size)


def _common_end(old: bytes | bytearray, i: int, new: bytes, j: int) -> int:
    size = min(len(old) - i, len(new) - j)
    low, step = 0, 64
    m, n = len(old), len(new)
    while low + step <= size and old[m - low - step : m - low] == new[n - low - step : n - low]:
        low += step
        step *= 2
    while step > 1:
        step //= 2
        if low + step <= size and old[m - low - step : m - low] == new[n - low - step : n - low]:
            low += step
    return low


def diff(old: bytes | bytearray, new: bytes) -> Splices:
    """Return the splices that turn old into new: few and long where the two are alike. Cost: O(len) memory compares."""
    splices: Splices = []
    i = j = 0
    for _ in range(_SEGMENTS):
        same = _common(old, i, new, j)
        i += same
        j += same
        if i == len(old) and j == len(new):
            return splices
        for a, b in _HEADERS:  # a header of another length or count, then the same again
            probe = old[i + a : i + a + _SYNC]
            if len(probe) == _SYNC and probe == new[j + b : j + b + _SYNC]:
                splices.append((i, i + a, new[j : j + b]))
                i += a
                j += b
                break
        else:
            break
    end = _common_end(old, i, new, j)
    splices.append((i, len(old) - end, new[j : len(new) - end]))
    return splices


def apply(value: bytearray, splices: Splices) -> bytearray:
    """Change the value in place and return it. Cost: O(what is inserted) for appends and headers of the same length."""
    for start, end, replacement in reversed(splices):
        if start == end == len(value):
            value += replacement
        else:
            value[start:end] = replacement
    return value


def pack(splices: Splices) -> bytes:
    """Return splices as bytes."""
    return _pack(splices)


def join(bodies: list[bytes]) -> bytearray:
    """Return the value of a chain: a snapshot, then packed deltas. Raises: StorageCorruptError."""
    try:
        value = bytearray(bodies[0])
        for body in bodies[1:]:
            apply(value, _unpack(body))
    except (msgspec.DecodeError, IndexError, ValueError, TypeError) as error:
        raise StorageCorruptError(
            f"a stored value can't be put together ({error}): rows are missing or damaged"
        ) from error
    return value


def size(splices: Splices) -> int:
    """Return about how many bytes the splices take."""
    return sum(len(text) + 8 for _, _, text in splices)


def unpack(body: Any) -> Splices:
    """Return packed splices."""
    return _unpack(body)
