"""The awaitable saver on Postgres, where people look for it."""

from clew.checkpoint.postgres._saver import AsyncPostgresSaver

__all__ = ["AsyncPostgresSaver"]
