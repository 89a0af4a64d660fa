"""The savers on Redis or Valkey."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from clew._redis import aconnect, connect
from clew.checkpoint._views import JournalSaver
from clew.checkpoint.redis._journal import AsyncRedisJournal, RedisJournal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


class RedisSaver(JournalSaver):
    """Keeps threads in Redis (7) or Valkey, shared by any number of machines.

    redis: a URL or a blocking client. prefix: what all keys begin with. fsync: a commit returns once the server's
    append-only file has it; otherwise what survives the server's own crash is up to its settings.
    Raises: StorageError when the server fails; MissingDependencyError without redis. One server, not a cluster.
    """

    _journal_home = True

    def __init__(self, redis: Any, *, serde: Any = None, prefix: str = "clew:journal:", fsync: bool = False) -> None:
        self.client, self._ours = connect(redis, "RedisSaver")
        super().__init__(RedisJournal(self.client, prefix, fsync=fsync), serde=serde)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Generator[RedisSaver]:
        """Connect for a `with` block. options: as for the class."""
        saver = cls(conn_string, **options)
        try:
            yield saver
        finally:
            saver.close()

    def setup(self) -> None:
        """Nothing to create; asks the server whether it is there."""
        self.journal._ask("connecting", self.client.ping)

    def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            self.client.close()


class AsyncRedisSaver(JournalSaver):
    """Like RedisSaver, for programs with an event loop. redis: a URL or a redis.asyncio client."""

    _journal_home = True
    _loop_only = True

    def __init__(self, redis: Any, *, serde: Any = None, prefix: str = "clew:journal:", fsync: bool = False) -> None:
        self.client, self._ours = aconnect(redis, "AsyncRedisSaver")
        super().__init__(AsyncRedisJournal(self.client, prefix, fsync=fsync), serde=serde)

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncGenerator[AsyncRedisSaver]:
        """Connect for an `async with` block. options: as for the class."""
        saver = cls(conn_string, **options)
        try:
            yield saver
        finally:
            await saver.close()

    async def setup(self) -> None:
        """Nothing to create; asks the server whether it is there."""
        await self.journal._ask("connecting", self.client.ping())

    async def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            await self.client.aclose()
