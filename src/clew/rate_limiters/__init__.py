"""Rate limiters: how many requests (and tokens) per second may leave, in the order in which they asked."""

from typing import TYPE_CHECKING

from clew._lazy import attributes
from clew.rate_limiters._base import BaseRateLimiter

if TYPE_CHECKING:
    from clew.rate_limiters._memory import InMemoryRateLimiter
    from clew.rate_limiters._redis import RedisRateLimiter
    from clew.rate_limiters._sqlite import SQLiteRateLimiter

__all__ = ["BaseRateLimiter", "InMemoryRateLimiter", "RedisRateLimiter", "SQLiteRateLimiter"]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "InMemoryRateLimiter": "._memory",
        "RedisRateLimiter": "._redis",
        "SQLiteRateLimiter": "._sqlite",
    },
)
