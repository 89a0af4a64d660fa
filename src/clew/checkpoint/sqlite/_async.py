"""The awaitable face: tries at once, with no busy wait, and leaves for a thread only when the file is busy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.checkpoint.sqlite._journal import SqliteJournal
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.checkpoint._journal import Batch, Place, Row


def _is_busy(error: StorageError) -> bool:
    import sqlite3

    from clew import _sqlite

    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and _sqlite.is_busy(cause)


class AsyncSqliteJournal(SqliteJournal):
    """Both faces over one connection."""

    async def _leave(self, call: Callable[[], Any]) -> Any:
        """Call inline; when another process holds the file, call again in a thread, waiting there."""
        if self._group.lock.acquire(blocking=False):
            try:
                self.inline = True
                try:
                    return call()
                except StorageError as error:
                    if not _is_busy(error):
                        raise
            finally:
                self.inline = False
                self._group.lock.release()
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, call)

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        return await self._leave(lambda: self.acquire(thread_id, ns, owner, seconds, steal=steal))

    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        return await self._leave(lambda: self.load(thread_id, ns, checkpoint_id))

    async def acommit(self, place: Place, batch: Batch) -> None:
        await self._leave(lambda: self.commit(place, batch))

    async def arenew(self, place: Place, seconds: float) -> bool:
        return await self._leave(lambda: self.renew(place, seconds))

    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]:
        return await self._leave(lambda: self.chain(place, chain, n))

    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        return await self._leave(lambda: self.checkpoints(thread_id, ns, before=before, limit=limit))

    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        return await self._leave(lambda: self.records(thread_id, ns, checkpoint_id))

    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return await self._leave(lambda: self.notes(thread_id, ns, prefix))

    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        return await self._leave(lambda: self.places(state=state, name=name, limit=limit))

    async def adelete(self, thread_id: str) -> None:
        await self._leave(lambda: self.delete(thread_id))

    async def acopy(self, source: str, target: str) -> None:
        await self._leave(lambda: self.copy(source, target))
