"""The awaitable saver on Redis, where people look for it."""

from clew.checkpoint.redis._saver import AsyncRedisSaver

__all__ = ["AsyncRedisSaver"]
