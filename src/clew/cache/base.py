"""Results of tasks kept for later calls with the same arguments, shared by runs, threads and (on a server) machines.

A key is (namespace, key); the runtime makes the namespace from the task's module, qualified name and code, so tasks
that are merely named alike never share. A row that can't be read counts as a miss.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from clew._serde import decode, encode
from clew.errors import DeserializationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BaseCache", "FullKey", "Namespace"]

ValueT = TypeVar("ValueT")
Namespace = tuple[str, ...]
FullKey = tuple[Namespace, str]

_log = logging.getLogger("clew.cache")


class BaseCache(ABC, Generic[ValueT]):
    """A cache of task results. serde: turns values into bytes and back; typed msgpack when None.

    Subclasses implement the blocking or the awaitable methods, or both: each falls back on the other kind's twin here
    only where that does not block a loop.
    """

    serde: Any = None

    def __init__(self, *, serde: Any = None) -> None:
        if serde is not None:
            self.serde = serde

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Return the values of those keys that are there and not expired."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Store values; each with its seconds to live, None for ever. Raises: SerializationError."""

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget everything in these namespaces, or everything at all."""

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Do what `get` does, in a worker thread."""
        return await _off_loop(self.get, keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Do what `set` does, in a worker thread."""
        await _off_loop(self.set, pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Do what `clear` does, in a worker thread."""
        await _off_loop(self.clear, namespaces)

    def _dump(self, value: Any) -> bytes:
        """Return a value as one row of bytes."""
        if self.serde is None:
            return encode(value)
        form, raw = self.serde.dumps_typed(value)
        return encode([form, bytes(raw)])

    def _load(self, raw: bytes, found: dict[FullKey, Any], key: FullKey) -> None:
        """Put the value of a row into found; leave the key out, with one warning, when the row can't be read."""
        try:
            value = decode(raw)
            found[key] = value if self.serde is None else self.serde.loads_typed((value[0], value[1]))
        except (DeserializationError, ValueError, TypeError) as error:
            _log.warning("a cached result of %s can't be read and counts as a miss: %s", key[0], error)


async def _off_loop(function: Any, *arguments: Any) -> Any:
    from clew._pool import run_in_executor

    return await run_in_executor(None, function, *arguments)
