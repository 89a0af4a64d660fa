"""Time and events inside workflows, and code that changed while runs were waiting."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew._run import current
from clew.errors import OutsideWorkflowError

if TYPE_CHECKING:
    from datetime import timedelta


def _frame(what: str) -> Any:
    frame = current.get()
    if frame is None:
        raise OutsideWorkflowError(f"{what}() works inside a workflow or task; none is running here")
    return frame


def _seconds(value: float | timedelta) -> float:
    seconds: float = value.total_seconds() if hasattr(value, "total_seconds") else value  # type: ignore[union-attr,assignment]
    if seconds < 0:
        raise ValueError(f"a sleep takes a number of seconds, not {seconds}")
    return seconds


def sleep(seconds: float | timedelta) -> None:
    """Sleep durably: the hour of waking is recorded, so a resumed run does not sleep again, also in another process.

    Takes no slot of max_concurrency. In async code use `await asleep(...)`.
    """
    frame = _frame("sleep")
    _, at = frame.wake_time(_seconds(seconds))
    slots = frame.root.slots if frame.slot else None
    if slots is not None:
        slots.leave()
    try:
        while (left := at - time.time()) > 0:
            time.sleep(min(left, 0.5))
            if frame.root.stop is not None:
                frame.root.check()
    finally:
        if slots is not None:
            slots.wait()


async def asleep(seconds: float | timedelta) -> None:
    """Sleep durably without blocking the event loop."""
    import asyncio

    frame = _frame("asleep")
    _, at = frame.wake_time(_seconds(seconds))
    slots = frame.root.slots if frame.slot else None
    if slots is not None:
        slots.leave()
    try:
        while (left := at - time.time()) > 0:
            await asyncio.sleep(min(left, 0.5))
            if frame.root.stop is not None:
                frame.root.check()
    finally:
        if slots is not None:
            loop = asyncio.get_running_loop()
            gate = loop.create_future()
            slots.enter(lambda: loop.call_soon_threadsafe(gate.set_result, None))
            await gate


def wait_for(event: str, *, timeout: float | timedelta | None = None, default: Any = None) -> Any:
    """Wait for an event from outside and return its value; `workflow.send(config, event, value)` delivers it.

    The run stops here as at an interrupt, however long it takes. An event that was sent before is taken at once;
    each is
    taken once, in the order they were sent. timeout: after that many seconds the value is `default`.
    """
    from clew.types import MISSING

    frame = _frame("wait_for")
    expires = None if timeout is None else _seconds(timeout)
    key = f"event:{event}"
    return frame.interrupt(
        {"event": event},
        key=key,
        response_schema=None,
        expires=expires,
        default=MISSING if expires is None else default,
    )


def patched(name: str) -> bool:
    """Say whether this run takes code that was changed under waiting runs: new ones do, those that had passed do not.

    `if patched("tax-2027"): new() else: old()`. The answer is recorded, so a run never changes sides.
    """
    return _frame("patched").patched(name)
