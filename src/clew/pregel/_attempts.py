"""A task with policies or observers: cache, attempts with waits between them, timeouts, events.

The decisions are functions that both faces share; the blocking loop is here, its awaited twin in `_awaiting`.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from clew.checkpoint import _records as R
from clew.pregel._frame import prepare
from clew.pregel._watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.pregel._frame import Frame
    from clew.pregel._future import TaskFuture
    from clew.pregel._root import Root
    from clew.pregel._spec import Spec
    from clew.types import RetryPolicy

CacheKey = tuple[tuple[str, ...], str]


def wait_before(policies: Sequence[RetryPolicy], error: BaseException, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt, or None when there is none. attempt: the one that failed."""
    if not isinstance(error, Exception):
        return None
    for policy in policies:
        if policy.matches(error):
            if attempt >= policy.max_attempts:
                return None
            seconds = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (attempt - 1))
            return seconds + random.uniform(0, 1) if policy.jitter else seconds
    return None


def note_attempt(root: Root, future: TaskFuture, error: BaseException, attempt: int, seconds: float) -> None:
    """Write down that an attempt failed and another follows, so a restart goes on counting."""
    now = time.time()
    text = f"{type(error).__name__}: {error}"[:200]
    root.save(R.Attempt(future.path, future.spec.name, attempt, text, now, now + seconds))


def _constant(value: Any) -> str:
    """Return what a closed-over value adds to an identity: plain values count, what may change counts by its type."""
    plain = isinstance(value, (str, int, float, bytes, bool, type(None)))
    return repr(value) if plain else getattr(value, "__qualname__", type(value).__qualname__)


def identity(spec: Spec) -> str:
    """Return what tells a task's cache from those of others with its name: where it is and what its code is."""
    if spec.identity is None:
        from hashlib import blake2b

        fn: Any = spec.fn
        while hasattr(fn, "func"):
            fn = fn.func
        code = getattr(fn, "__code__", None)
        parts = [getattr(fn, "__module__", ""), getattr(fn, "__qualname__", type(fn).__qualname__)]
        if code is not None:
            parts += [code.co_code.hex(), repr(code.co_consts), repr(code.co_names)]
        for cell in getattr(fn, "__closure__", None) or ():
            try:
                parts.append(_constant(cell.cell_contents))
            except ValueError:
                continue
        spec.identity = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return spec.identity


def cache_namespace(spec: Spec) -> tuple[str, ...]:
    """Return where a task's results are cached."""
    return ("task", spec.name, identity(spec))


def cache_key(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CacheKey:
    """Return the full key of a call."""
    assert spec.cache is not None
    key = spec.cache.key_func(*args, **kwargs)
    return cache_namespace(spec), key if isinstance(key, str) else bytes(key).hex()


def run_blocking(root: Root, future: TaskFuture, frame: Frame) -> None:
    """Run a claimed sync task to its end."""
    spec = future.spec
    cache: Any = root.cache
    watch = Watch(root, frame, future) if root.manager is not None or root.sink is not None else None
    if watch is not None:
        _done(watch.begin(), root)
    began = frame.first = time.time()
    frame.attempt = root.attempts.get(future.path, 0) + 1
    try:
        key = cache_key(spec, future.args, future.kwargs) if spec.cache is not None and root.cache is not None else None
        found: dict[Any, Any] = cache.get([key]) if key is not None else {}
        hit = key in found
        value: Any = found[key] if hit else _try(root, future, frame)
        if root.keeps or root.memo:
            root.keep_result(future, value, began, frame.attempt, "cached" if hit else "")
        if key is not None and spec.cache is not None and not hit:
            cache.set({key: (value, spec.cache.ttl)})
        if watch is not None:
            _done(watch.end(value, cached=hit), root)
    except BaseException as error:
        if watch is not None:
            _done(watch.fail(error), root)
        root.keep_failure(future, error, began, frame.attempt)
        return
    future.settle(value, None)


def _try(root: Root, future: TaskFuture, frame: Frame) -> Any:
    """Return the function's value, trying again as its policies say."""
    spec = future.spec
    while True:
        frame.calls, frame.loose = 0, None
        try:
            kwargs = prepare(frame, spec.inject, future.kwargs) if spec.inject else future.kwargs
            return spec.fn(*future.args, **kwargs)
        except BaseException as error:
            seconds = wait_before(spec.retry, error, frame.attempt)
            if seconds is None:
                raise
            note_attempt(root, future, error, frame.attempt, seconds)
            _pause(root, frame, seconds)
            frame.attempt += 1


def _pause(root: Root, frame: Frame, seconds: float) -> None:
    """Wait between attempts, giving the slot to others."""
    lent = frame.slot and root.slots is not None
    if lent and root.slots is not None:
        root.slots.leave()
    try:
        time.sleep(seconds)
    finally:
        if lent and root.slots is not None:
            root.slots.wait()
    root.check()


def _done(pending: Any, root: Root) -> None:
    """See an async handler's work through, from a worker thread of an async run."""
    if pending is not None and hasattr(pending, "__await__"):
        import asyncio

        asyncio.run_coroutine_threadsafe(pending, root.loop).result()
