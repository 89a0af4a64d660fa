"""Savers on Postgres: blocking and awaitable."""

from clew.checkpoint.postgres._saver import AsyncPostgresSaver, PostgresSaver

__all__ = ["AsyncPostgresSaver", "PostgresSaver"]
