"""A journal as awaitables, whichever face it has: flows are written once and driven by hand on the blocking side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from clew.checkpoint._journal import Batch, Place, Row


class Blocking:
    """Coroutines over the blocking face; they never suspend."""

    __slots__ = ("journal",)

    def __init__(self, journal: Any) -> None:
        self.journal = journal

    async def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        return self.journal.acquire(thread_id, ns, owner, seconds, steal=steal)

    async def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        return self.journal.load(thread_id, ns, checkpoint_id)

    async def commit(self, place: Place, batch: Batch) -> None:
        self.journal.commit(place, batch)

    async def renew(self, place: Place, seconds: float) -> bool:
        return self.journal.renew(place, seconds)

    async def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        return self.journal.chain(place, chain, n)

    async def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        return self.journal.checkpoints(thread_id, ns, before=before, limit=limit)

    async def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        return self.journal.records(thread_id, ns, checkpoint_id)

    async def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return self.journal.notes(thread_id, ns, prefix)

    async def places(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        return self.journal.places(state=state, name=name, limit=limit)

    async def delete(self, thread_id: str) -> None:
        self.journal.delete(thread_id)

    async def copy(self, source: str, target: str) -> None:
        self.journal.copy(source, target)

    async def sleep(self, seconds: float) -> None:
        import time

        time.sleep(seconds)  # noqa: ASYNC251 - driven by hand, no loop runs


class Awaiting:
    """The awaitable face under the same names."""

    __slots__ = ("journal",)

    def __init__(self, journal: Any) -> None:
        self.journal = journal

    async def acquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        return await self.journal.aacquire(thread_id, ns, owner, seconds, steal=steal)

    async def load(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        return await self.journal.aload(thread_id, ns, checkpoint_id)

    async def commit(self, place: Place, batch: Batch) -> None:
        await self.journal.acommit(place, batch)

    async def renew(self, place: Place, seconds: float) -> bool:
        return await self.journal.arenew(place, seconds)

    async def chain(self, place: Place, chain: int, n: int) -> list[bytes]:
        return await self.journal.achain(place, chain, n)

    async def checkpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        return await self.journal.acheckpoints(thread_id, ns, before=before, limit=limit)

    async def records(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        return await self.journal.arecords(thread_id, ns, checkpoint_id)

    async def notes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return await self.journal.anotes(thread_id, ns, prefix)

    async def places(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        return await self.journal.aplaces(state=state, name=name, limit=limit)

    async def delete(self, thread_id: str) -> None:
        await self.journal.adelete(thread_id)

    async def copy(self, source: str, target: str) -> None:
        await self.journal.acopy(source, target)

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)


Io: TypeAlias = Blocking | Awaiting


class Inline:
    """The awaitable face of a journal whose blocking calls are too short to leave the event loop for."""

    quick = True

    async def aacquire(self, thread_id: str, ns: str, owner: str, seconds: float, *, steal: bool = False) -> Place:
        return self.acquire(thread_id, ns, owner, seconds, steal=steal)  # type: ignore[attr-defined]

    async def aload(self, thread_id: str, ns: str, checkpoint_id: str | None = None) -> Place | None:
        return self.load(thread_id, ns, checkpoint_id)  # type: ignore[attr-defined]

    async def acommit(self, place: Place, batch: Batch) -> None:
        self.commit(place, batch)  # type: ignore[attr-defined]

    async def arenew(self, place: Place, seconds: float) -> bool:
        return self.renew(place, seconds)  # type: ignore[attr-defined]

    async def achain(self, place: Place, chain: int, n: int) -> list[bytes]:
        return self.chain(place, chain, n)  # type: ignore[attr-defined]

    async def acheckpoints(
        self, thread_id: str | None, ns: str | None, *, before: str | None = None, limit: int | None = None
    ) -> list[tuple[str, str, Row]]:
        return self.checkpoints(thread_id, ns, before=before, limit=limit)  # type: ignore[attr-defined]

    async def arecords(self, thread_id: str, ns: str, checkpoint_id: str) -> list[bytes]:
        return self.records(thread_id, ns, checkpoint_id)  # type: ignore[attr-defined]

    async def anotes(self, thread_id: str, ns: str, prefix: str) -> dict[str, bytes]:
        return self.notes(thread_id, ns, prefix)  # type: ignore[attr-defined]

    async def aplaces(
        self, *, state: int | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Place]:
        return self.places(state=state, name=name, limit=limit)  # type: ignore[attr-defined]

    async def adelete(self, thread_id: str) -> None:
        self.delete(thread_id)  # type: ignore[attr-defined]

    async def acopy(self, source: str, target: str) -> None:
        self.copy(source, target)  # type: ignore[attr-defined]
