"""Savers on Redis and Valkey: blocking and awaitable."""

from clew.checkpoint.redis._saver import AsyncRedisSaver, RedisSaver

__all__ = ["AsyncRedisSaver", "RedisSaver"]
