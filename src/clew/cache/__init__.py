"""Caches of task results: in memory, SQLite or Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.cache.base import BaseCache
    from clew.cache.memory import InMemoryCache
    from clew.cache.redis import RedisCache
    from clew.cache.sqlite import SqliteCache

__all__ = ["BaseCache", "InMemoryCache", "RedisCache", "SqliteCache"]

__getattr__, __dir__ = attributes(
    __name__,
    {"BaseCache": ".base", "InMemoryCache": ".memory", "RedisCache": ".redis", "SqliteCache": ".sqlite"},
)
