"""A cache on Redis or Valkey, shared by machines."""

from __future__ import annotations

from typing import Any

from clew._redis import connect, wrapped
from clew.caches._base import RETURN_VAL_TYPE, BaseCache
from clew.caches._rows import digest, pack, unpack


class RedisCache(BaseCache):
    """Keep answers on a Redis server.

    redis: a URL, or a blocking client of the caller's. ttl: seconds that an answer lives after it was written; None:
    for ever. prefix: what all keys of this cache begin with. Rows that can't be read count as misses and are
    overwritten.
    Raises: StorageError when the server fails; ValueError if ttl is not positive.
    """

    def __init__(
        self, redis: Any = "redis://localhost:6379/0", *, ttl: float | None = None, prefix: str = "clew:llm:"
    ) -> None:
        if ttl is not None and ttl <= 0:
            raise ValueError(f"ttl must be positive, got {ttl!r}")
        self._client, self._ours = connect(redis, "RedisCache")
        self._ttl = ttl
        self._prefix = prefix

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the generations that are kept for this request, or None."""
        with wrapped("looking up an answer"):
            row: Any = self._client.get(self._name(prompt, llm_string))
        return None if row is None else unpack(row)

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep the generations of this request."""
        answer = pack(return_val)
        if answer is not None:
            milliseconds = None if self._ttl is None else max(1, round(self._ttl * 1000))
            with wrapped("keeping an answer"):
                self._client.set(self._name(prompt, llm_string), answer, px=milliseconds)

    def clear(self, **kwargs: Any) -> None:
        """Forget everything under the prefix; other keys of the server stay."""
        with wrapped("forgetting answers"):
            names: list[Any] = []
            for name in self._client.scan_iter(match=_literal(self._prefix) + "*", count=1000):
                names.append(name)
                if len(names) == 500:
                    self._client.unlink(*names)
                    names = []
            if names:
                self._client.unlink(*names)

    def close(self) -> None:
        """Close the connection, if it is ours."""
        if self._ours:
            self._client.close()

    def _name(self, prompt: str, llm_string: str) -> str:
        return self._prefix + digest(prompt, llm_string).hex()


def _literal(text: str) -> str:
    """Return a text as a pattern that matches itself only."""
    return "".join("\\" + each if each in "*?[]\\^" else each for each in text)


RedisCache._compact = RedisCache.lookup  # pyright: ignore[reportPrivateUsage] - our own subclass
