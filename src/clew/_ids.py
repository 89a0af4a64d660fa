"""Identifiers: sortable ones for what is stored in order, random ones for the rest.

No import of `uuid` at start-up: it costs as much as the rest of this floor together.
"""

from __future__ import annotations

import os
import threading
import time

_GREGORIAN = 0x01B21DD213814000  # 100 ns steps between 1582-10-15 and 1970-01-01
_last = 0
_lock = threading.Lock()


def new_id() -> str:
    """Return 32 random hex digits."""
    return os.urandom(16).hex()


def sortable_id() -> str:
    """Return a UUID version 6 as text: later ids of one process compare greater, also within one clock tick.

    Source: RFC 9562, 5.6.
    """
    global _last
    with _lock:
        _last = now = max(time.time_ns() // 100 + _GREGORIAN, _last + 1)
    tail = int.from_bytes(os.urandom(8), "big") & 0x3FFFFFFFFFFFFFFF | 0x8000000000000000
    value = (now >> 12) << 80 | 0x6 << 76 | (now & 0xFFF) << 64 | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
