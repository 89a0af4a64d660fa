"""Caches of model answers: in memory, in one SQLite file, in Redis."""

from typing import TYPE_CHECKING

from clew._lazy import attributes
from clew.caches._base import RETURN_VAL_TYPE, BaseCache

if TYPE_CHECKING:
    from clew.caches._memory import InMemoryCache
    from clew.caches._redis import RedisCache
    from clew.caches._sqlite import SQLiteCache

__all__ = ["RETURN_VAL_TYPE", "BaseCache", "InMemoryCache", "RedisCache", "SQLiteCache"]

__getattr__, __dir__ = attributes(
    __name__, {"InMemoryCache": "._memory", "RedisCache": "._redis", "SQLiteCache": "._sqlite"}
)
