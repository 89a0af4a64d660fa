"""A cache in this process's memory."""

from __future__ import annotations

import threading
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.caches._base import RETURN_VAL_TYPE, BaseCache
from clew.caches._rows import digest

if TYPE_CHECKING:
    from clew.outputs import ChatGeneration, Generation


class _Row(NamedTuple):
    generations: list[Generation | ChatGeneration]
    expires: float


def _copies(generations: Any) -> list[Generation | ChatGeneration]:
    return [g.model_copy(deep=True) if hasattr(g, "model_copy") else deepcopy(g) for g in generations]


class InMemoryCache(BaseCache):
    """Keep answers in memory; what goes in and comes out are copies.

    maxsize: number of answers; when full, the one that was written first leaves. ttl: seconds that an answer lives
    after it was written. None: no limit.
    Raises: ValueError if maxsize or ttl is not positive.
    """

    def __init__(self, *, maxsize: int | None = None, ttl: float | None = None) -> None:
        if maxsize is not None and maxsize <= 0:
            raise ValueError(f"maxsize must be positive, got {maxsize!r}")
        if ttl is not None and ttl <= 0:
            raise ValueError(f"ttl must be positive, got {ttl!r}")
        self._maxsize = maxsize
        self._ttl = ttl
        self._rows: dict[bytes, _Row] = {}
        self._lock = threading.Lock()

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return copies of what is kept for this request, or None."""
        row = self._rows.get(digest(prompt, llm_string))
        if row is None or row.expires <= time.monotonic():
            return None
        return _copies(row.generations)

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep copies of the generations of this request."""
        key, copies, now = digest(prompt, llm_string), _copies(return_val), time.monotonic()
        expires = float("inf") if self._ttl is None else now + self._ttl
        with self._lock:
            self._rows.pop(key, None)
            self._rows[key] = _Row(copies, expires)
            self._make_room(now)

    def clear(self, **kwargs: Any) -> None:
        """Forget everything."""
        with self._lock:
            self._rows.clear()

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return copies of what is kept for this request, or None."""
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep copies of the generations of this request."""
        self.update(prompt, llm_string, return_val)

    async def aclear(self, **kwargs: Any) -> None:
        """Forget everything."""
        self.clear()

    def _make_room(self, now: float) -> None:
        # Rows are in order of writing and live equally long: the expired ones are the first.
        while self._rows:
            first = next(iter(self._rows))
            full = self._maxsize is not None and len(self._rows) > self._maxsize
            if not full and self._rows[first].expires > now:
                return
            del self._rows[first]


InMemoryCache._compact = InMemoryCache.lookup  # pyright: ignore[reportPrivateUsage] - our own subclass
