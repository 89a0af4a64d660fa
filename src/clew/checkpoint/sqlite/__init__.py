"""Savers on one SQLite file: blocking and awaitable."""

from clew.checkpoint.sqlite._saver import SqliteSaver
from clew.checkpoint.sqlite.aio import AsyncSqliteSaver

__all__ = ["AsyncSqliteSaver", "SqliteSaver"]
