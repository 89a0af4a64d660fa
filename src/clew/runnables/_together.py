"""Run calls at the same time and wait for all of them: the one place where composition forks.

An error stops what has not begun, waits for what runs (awaited: cancels it), and is raised when nothing runs any more.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from clew.runnables._limit import Limit, current_limit, limit_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence


class Crew:
    """n blocking calls, done by the caller and by whoever helps.

    results: by position; an exception in a position is that call's failure if `failed` holds the position.
    """

    __slots__ = (
        "_calls",
        "_context",
        "_finished",
        "_keep",
        "_left",
        "_limit",
        "_lock",
        "_pending",
        "failed",
        "results",
    )

    def __init__(
        self, calls: Sequence[Callable[[], Any]], limit: Limit | None, keep: tuple[type[BaseException], ...]
    ) -> None:
        self._calls = calls
        self._context = copy_context()  # the caller's: helpers have none of their own to give
        self._limit = limit
        self._keep = keep
        self._left = len(calls)
        self._lock = threading.Lock()
        self._finished = threading.Lock()
        self._finished.acquire()
        self._pending = deque(range(len(calls)))
        self.results: list[Any] = [None] * len(calls)
        self.failed: list[int] = []

    def work(self, offer: bool = False) -> None:
        """Do calls until none is pending; offer: bring in another helper after the first call is taken."""
        while True:
            try:
                position = self._pending.popleft()
            except IndexError:
                return
            if offer and self._pending:
                self.call_helper()
                offer = False
            try:
                context = self._context.copy()
                if self._limit is not None:
                    context.run(current_limit.set, self._limit)
                self.results[position] = context.run(self._calls[position])
            except BaseException as error:
                self.results[position] = error
                self.failed.append(position)
                if not isinstance(error, self._keep):
                    self.drop()
            self._done(1)

    def _done(self, count: int) -> None:
        with self._lock:
            self._left -= count
            if self._left == 0:
                self._finished.release()

    def drop(self) -> None:
        """Forget the calls that have not begun."""
        dropped = 0
        while self._pending:
            try:
                self._pending.popleft()
            except IndexError:
                break
            dropped += 1
        if dropped:
            self._done(dropped)

    def call_helper(self) -> None:
        """Offer the pending calls to the pool."""
        from clew._pool import pool

        pool.offer(self.help)

    def help(self) -> None:
        """Work as a helper, in a thread of the pool."""
        limit = self._limit
        if not self._pending:
            return
        if limit is None:
            self.work(offer=True)
        elif limit.try_take():
            try:
                self.work(offer=True)
            finally:
                limit.give()
        else:
            limit.when_free(self.call_helper)

    def wait(self, holding: bool = True) -> None:
        """Wait until every call is done; holding: the caller has a permit, which is free meanwhile."""
        if self._finished.acquire(blocking=False):
            return
        if self._limit is None or not holding:
            self._finished.acquire()
            return
        self._limit.give()
        try:
            self._finished.acquire()
        except BaseException:
            self._limit.retake()
            raise
        self._limit.take()


def run_together(
    calls: Sequence[Callable[[], Any]], max_concurrency: int | None = None, keep: tuple[type[BaseException], ...] = ()
) -> list[Any]:
    """Run blocking calls at the same time, each in a copy of the caller's context.

    keep: exceptions that are returned in their position; any other ends the rest.
    Raises: the failure of the first position that failed otherwise.
    """
    if not calls:
        return []
    crew = Crew(calls, limit_for(max_concurrency), keep)
    try:
        if len(calls) > 1:
            crew.call_helper()
        crew.work()
        crew.wait()
    except BaseException:
        crew.drop()
        raise
    if crew.failed:
        for position in sorted(crew.failed):
            if not isinstance(crew.results[position], keep):
                raise crew.results[position]
    return crew.results


async def arun_together(
    calls: Sequence[Callable[[], Awaitable[Any]]],
    max_concurrency: int | None = None,
    keep: tuple[type[BaseException], ...] = (),
) -> list[Any]:
    """Await calls at the same time, each in a task of its own.

    keep, Raises: as `run_together`; on an error the others are cancelled and awaited before it is raised.
    """
    import asyncio

    results: list[Any] = [None] * len(calls)

    async def one(position: int) -> None:
        try:
            results[position] = await calls[position]()
        except keep as error:
            results[position] = error

    limit = limit_for(max_concurrency)
    if limit is None:
        await _all([asyncio.ensure_future(one(position)) for position in range(len(calls))])
        return results
    pending = deque(range(len(calls)))

    async def helper() -> None:
        current_limit.set(limit)
        while pending:
            await limit.atake()
            try:
                if pending:
                    await asyncio.create_task(one(pending.popleft()))
            finally:
                limit.give()

    limit.give()
    try:
        await _all([asyncio.ensure_future(helper()) for _ in range(min(len(calls), limit.permits))])
    except BaseException:
        limit.retake()
        raise
    await limit.atake()
    return results


async def _all(tasks: list[Any]) -> None:
    """Wait for tasks; at the first failure cancel the rest, await them and raise it."""
    import asyncio

    if not tasks:
        return
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        unfinished = [task for task in tasks if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.gather(*unfinished, return_exceptions=True)
    failed = [task for task in tasks if not task.cancelled() and task.exception() is not None]
    cancelled = [task for task in tasks if task.cancelled() and task not in unfinished]
    if failed:
        raise failed[0].exception()
    if cancelled:
        raise asyncio.CancelledError


@contextmanager
def crowd(
    calls: Sequence[Callable[[], Any]],
    max_concurrency: int | None,
    report: Callable[[tuple[int, Any, BaseException | None]], None],
) -> Generator[None, None, None]:
    """Run blocking calls in the background of a `with` block; each reports (position, result, error) when done.

    The end of the block forgets what has not begun and waits for what runs.
    """

    def reporting(position: int) -> Callable[[], None]:
        def call() -> None:
            try:
                result = calls[position]()
            except BaseException as error:
                report((position, None, error))
            else:
                report((position, result, None))

        return call

    limit = limit_for(max_concurrency)
    crew = Crew([reporting(i) for i in range(len(calls))], limit, ())
    if not calls:
        yield
        return
    if limit is not None:
        limit.give()
    crew.call_helper()
    try:
        yield
    finally:
        crew.drop()
        crew.wait(holding=False)
        if limit is not None:
            limit.retake()
