"""The awaited face: async tasks on the caller's event loop, sync ones in the pool, nothing that blocks the loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from clew._run import current
from clew.checkpoint._journal import Batch, Fenced
from clew.errors import Cancelled, GraphInterrupt, NodeTimeoutError
from clew.pregel._attempts import cache_key, note_attempt, wait_before
from clew.pregel._frame import Frame, prepare
from clew.pregel._future import CANCELLED, FINISHED, RUNNING
from clew.pregel._pool import Call, pool
from clew.pregel._watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.pregel._future import TaskFuture
    from clew.pregel._root import Root


def start(future: TaskFuture) -> None:
    """Let an async task begin at the loop's next turn, unless somebody awaits it before."""
    loop = future.root.loop
    if future.root.loop_thread == get_ident():
        loop.call_soon(_begin, future, context=future.context)
    else:
        loop.call_soon_threadsafe(_begin, future, context=future.context)


def _begin(future: TaskFuture) -> None:
    if future.claim():
        future._state = RUNNING  # pyright: ignore[reportPrivateUsage] - one idea, two files
        future._task = asyncio.get_running_loop().create_task(run(future), context=future.context)  # pyright: ignore[reportPrivateUsage]


async def wait(future: TaskFuture) -> None:
    """Return when the task has ended; runs it right here when it is async and nobody has begun it."""
    if future.spec.is_async and future.root.loop_thread == get_ident() and future.claim():
        future._state = RUNNING  # pyright: ignore[reportPrivateUsage] - one idea, two files
        outer = current.get()
        try:
            await run(future)
        finally:
            current.set(outer)
        return
    loop = asyncio.get_running_loop()
    gate = loop.create_future()

    def wake(_: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(lambda: gate.done() or gate.set_result(None))

    future.add_done_callback(wake)
    slots, frame = future.root.slots, current.get()
    lent = slots is not None and getattr(frame, "slot", False)
    if lent and slots is not None:
        slots.leave()
    try:
        await gate
    finally:
        if lent:
            await _slot(future.root)
    if future._state == CANCELLED:  # pyright: ignore[reportPrivateUsage]
        raise asyncio.CancelledError


async def _slot(root: Root) -> None:
    """Take one of max_concurrency's slots."""
    assert root.slots is not None
    loop = asyncio.get_running_loop()
    gate = loop.create_future()

    def open_gate() -> None:
        loop.call_soon_threadsafe(gate.set_result, None)

    root.slots.enter(open_gate)
    await gate


async def run(future: TaskFuture) -> None:
    """Run a claimed async task to its end, with cache, attempts, timeouts and events; always settles it."""
    root, spec = future.root, future.spec
    frame = Frame(root, future.path, spec.name, future.caller)
    frame.future = future
    frame.task = asyncio.current_task()
    mine = False
    outer: Any = future.caller
    if root.slots is not None:
        if outer.slot and outer.task is frame.task:  # its caller awaits it right here and lends its slot
            frame.slot = True
        else:
            await _slot(root)
            mine = frame.slot = True
    current.set(frame)
    try:
        if (
            root.manager is None
            and root.sink is None
            and not spec.retry
            and spec.cache is None
            and spec.timeout is None
        ):
            await _once(future, frame)
        else:
            await _attempts(future, frame)
    except BaseException as error:
        if not future.done():
            root.publish_failure(future, error)
        if not isinstance(error, (Exception, GraphInterrupt, Cancelled)):
            raise
    finally:
        if mine and root.slots is not None:
            root.slots.leave()


async def _once(future: TaskFuture, frame: Frame) -> None:
    root, spec = future.root, future.spec
    began = time.time()
    try:
        kwargs = prepare(frame, spec.inject, future.kwargs) if spec.inject else future.kwargs
        value = await spec.fn(*future.args, **kwargs)
        if root.keeps or root.memo:
            await keep_result(future, value, began, 1)
    except BaseException as error:
        await keep_failure(future, error, began, 1)
        raise
    future.settle(value, None)


async def _attempts(future: TaskFuture, frame: Frame) -> None:
    root, spec = future.root, future.spec
    cache: Any = root.cache
    watch = Watch(root, frame, future) if root.manager is not None or root.sink is not None else None
    if watch is not None:
        await _done(watch.begin())
    began = frame.first = time.time()
    frame.attempt = root.attempts.get(future.path, 0) + 1
    try:
        key = cache_key(spec, future.args, future.kwargs) if spec.cache is not None and root.cache is not None else None
        found: dict[Any, Any] = await cache.aget([key]) if key is not None else {}
        hit = key in found
        value: Any = found[key] if hit else await _try(future, frame)
        if root.keeps or root.memo:
            await keep_result(future, value, began, frame.attempt, "cached" if hit else "")
        if key is not None and spec.cache is not None and not hit:
            await cache.aset({key: (value, spec.cache.ttl)})
        if watch is not None:
            await _done(watch.end(value, cached=hit))
    except BaseException as error:
        if watch is not None:
            await _done(watch.fail(error))
        await keep_failure(future, error, began, frame.attempt)
        raise
    future.settle(value, None)


async def _try(future: TaskFuture, frame: Frame) -> Any:
    """Return the function's value, within its timeout, trying again as its policies say."""
    root, spec = future.root, future.spec
    while True:
        frame.calls, frame.loose = 0, None
        try:
            kwargs = prepare(frame, spec.inject, future.kwargs) if spec.inject else future.kwargs
            call = spec.fn(*future.args, **kwargs)
            return await (call if spec.timeout is None else within(call, frame, spec.timeout))
        except BaseException as caught:
            error = caught
            seconds = wait_before(spec.retry, error, frame.attempt)
            if seconds is None:
                raise
        await root_save(root, partial(note_attempt, root, future, error, frame.attempt, seconds))
        await asyncio.sleep(seconds)
        root.check()
        frame.attempt += 1


async def _done(pending: Any) -> None:
    if pending is not None:
        await pending


async def within(call: Any, frame: Frame, policy: Any) -> Any:
    """Await a call under a TimeoutPolicy. Raises: NodeTimeoutError."""
    began = last = time.monotonic()
    task = asyncio.ensure_future(call)
    frame.task = task

    def beat() -> None:
        nonlocal last
        last = time.monotonic()

    frame.beat = beat
    try:
        while True:
            now = time.monotonic()
            total = None if policy.run_timeout is None else began + policy.run_timeout - now
            idle = None if policy.idle_timeout is None else last + policy.idle_timeout - now
            left = min(one for one in (total, idle) if one is not None) if (total, idle) != (None, None) else None
            done, _ = await asyncio.wait((task,), timeout=None if left is None else max(left, 0))
            if done:
                return task.result()
            now = time.monotonic()
            kind = None
            if policy.run_timeout is not None and now >= began + policy.run_timeout:
                kind = "run"
            elif policy.idle_timeout is not None and now >= last + policy.idle_timeout:
                kind = "idle"
            if kind is not None:
                raise NodeTimeoutError(
                    frame.name, now - began, kind=kind, idle_timeout=policy.idle_timeout, run_timeout=policy.run_timeout
                )
    finally:
        frame.beat = None
        if not task.done():
            task.cancel()
            with contextlib.suppress(BaseException):
                await task


async def keep_result(future: TaskFuture, value: Any, began: float, attempt: int, how: str = "") -> None:
    """Write a result down, off the event loop when the storage makes it wait."""
    if future.root.instant:
        future.root.keep_result(future, value, began, attempt, how)
        return
    await root_save(future.root, lambda: future.root.keep_result(future, value, began, attempt, how))


async def keep_failure(future: TaskFuture, error: BaseException, began: float, attempt: int) -> None:
    """Write a failure down and publish it."""
    root = future.root
    if root.keeps:
        record = root.failure(future, error, began, attempt)
        if record is not None:
            try:
                await root_save(root, lambda: root.save(record))
            except BaseException as worse:
                error = worse
    root.publish_failure(future, error)


async def root_save(root: Root, save: Callable[[], Any]) -> None:
    """Call something that saves, with its commits awaited instead of made on the spot."""
    rows: list[tuple[str, int, bytes]] = []
    root.capture = rows
    try:
        save()
    finally:
        root.capture = None
    rows = root.take_backlog() + rows if root.durability == "sync" else rows
    if not rows:
        return
    try:
        await root.io.commit(root.place, Batch(records=rows))
    except Fenced:
        root.stop = Cancelled()
        raise root.stop from None
    except BaseException as error:
        root.broken = error
        raise


async def in_thread(root: Root, call: Callable[[], Any]) -> Any:
    """Run a blocking body in a thread of the pool, in a copy of this context."""
    import contextvars

    loop = asyncio.get_running_loop()
    gate: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if gate.cancelled():
            return
        if error is not None:
            gate.set_exception(error if not isinstance(error, StopIteration) else RuntimeError(repr(error)))
        else:
            gate.set_result(value)

    def work() -> None:
        try:
            value, error = context.run(call), None
        except BaseException as caught:
            value, error = None, caught
        loop.call_soon_threadsafe(settle, value, error)

    pool.submit(Call(work))
    try:
        return await asyncio.shield(gate)
    except asyncio.CancelledError:
        if not gate.done():
            root.stop = root.stop or Cancelled()
            with contextlib.suppress(BaseException):
                await gate
        raise


async def drain(root: Root, *, abandon: bool) -> None:
    """Wait until no task is under way. abandon: those that nobody has begun are not begun."""
    while root.live:
        future = next(iter(root.live))
        if abandon and future.claim():
            future._state = CANCELLED  # pyright: ignore[reportPrivateUsage] - one idea, two files
            root.live.pop(future, None)
            continue
        if future._state != FINISHED:  # pyright: ignore[reportPrivateUsage]
            seen = future.seen
            with contextlib.suppress(Exception, GraphInterrupt, Cancelled, asyncio.CancelledError):
                await wait(future)
            future.seen = seen
        root.live.pop(future, None)
