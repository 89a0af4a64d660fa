"""The part that stores with a transaction have in common: prepare, embed, run, restart times to live."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew.store._engine import MINUTE, Plan, Shelf, prepare, run
from clew.store._index import Index
from clew.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

Touched = "Sequence[tuple[tuple[str, ...], str, int]]"


class _Shared(BaseStore):
    """What both faces need: the index, the times to live."""

    def __init__(self, index: IndexConfig | None, ttl: TTLConfig | None) -> None:
        self._index = Index(index) if index else None
        self.ttl_config = ttl
        self._swept = time.time_ns()

    def _run(self, plan: Plan, shelf: Shelf, vectors: Sequence[bytes]) -> Any:
        return run(
            plan,
            shelf,
            vectors,
            self._index is not None,
            (self.ttl_config or {}).get("refresh_on_read", True),
        )

    def _sweep_is_due(self, plan: Plan) -> bool:
        """Whether this batch also removes what has expired: with a write, once per interval."""
        interval = (self.ttl_config or {}).get("sweep_interval_minutes") or 5
        if not plan.writes or time.time_ns() - self._swept < interval * MINUTE:
            return False
        self._swept = time.time_ns()
        return True


class BlockingStore(_Shared):
    """A store over a blocking driver. `abatch` runs it in a worker thread."""

    @abstractmethod
    def _shelf(self, plan: Plan) -> AbstractContextManager[Shelf]:
        """Return a transaction for a batch; it is rolled back when its body raises."""

    @abstractmethod
    def _touch(self, touched: Any) -> None:
        """Set new times to live, in a transaction of its own."""

    @abstractmethod
    def sweep_ttl(self) -> int:
        """Remove the items whose time to live has run out; return how many there were."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, all or none; return an answer for each."""
        plan = prepare(ops, self._index)
        return self._apply(plan, self._index.embed(plan.texts) if self._index else [])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, all or none, in a worker thread; return an answer for each."""
        from clew._pool import run_in_executor

        plan = prepare(ops, self._index)
        vectors = await self._index.aembed(plan.texts) if self._index else []
        return await run_in_executor(None, self._apply, plan, vectors)

    def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> list[Result]:
        if self._sweep_is_due(plan):
            self.sweep_ttl()
        with self._shelf(plan) as shelf:
            outcome = drive(self._run(plan, shelf, vectors))
        if outcome.touched:
            self._touch(outcome.touched)
        return outcome.answers


class AwaitedStore(_Shared):
    """A store over an async driver. It has no blocking face: calling one inside the loop would hang."""

    @abstractmethod
    def _shelf(self, plan: Plan) -> AbstractAsyncContextManager[Shelf]:
        """Return a transaction for a batch; it is rolled back when its body raises."""

    @abstractmethod
    async def _touch(self, touched: Any) -> None:
        """Set new times to live, in a transaction of its own."""

    @abstractmethod
    async def sweep_ttl(self) -> int:
        """Remove the items whose time to live has run out; return how many there were."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Refuse: this store is awaited. Raises: RuntimeError."""
        raise RuntimeError(f"{type(self).__name__} is awaited: use aget, aput, asearch, abatch, or the blocking store")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, all or none; return an answer for each."""
        plan = prepare(ops, self._index)
        return await self._apply(plan, await self._index.aembed(plan.texts) if self._index else [])

    async def _apply(self, plan: Plan, vectors: Sequence[bytes]) -> list[Result]:
        if self._sweep_is_due(plan):
            await self.sweep_ttl()
        async with self._shelf(plan) as shelf:
            outcome = await self._run(plan, shelf, vectors)
        if outcome.touched:
            await self._touch(outcome.touched)
        return outcome.answers
