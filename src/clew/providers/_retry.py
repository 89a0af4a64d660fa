"""Try a request again, once for all: the SDKs' own retries are off.

An error says itself whether a retry may help and how long the provider wants us to wait; without that the wait
doubles from half a second to eight, with jitter.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar

from clew.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
LONGEST_WAIT = 60.0
"""Seconds. A provider that asks for a longer wait gets none: the error is raised, with retry_after set."""


def pause(error: ModelError, attempt: int, retries: int) -> float | None:
    """Return the seconds to wait before the next try, or None when there should be none.

    attempt: tries made so far, from 1. retries: how many more than the first are allowed.
    """
    if attempt > retries or not error.is_retryable:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT else None
    return min(8.0, 0.5 * 2 ** (attempt - 1)) * random.uniform(0.75, 1.0)


def retrying(send: Callable[[], T], retries: int) -> T:
    """Return send(), tried again as `pause` allows."""
    attempt = 1
    while True:
        try:
            return send()
        except ModelError as error:
            if (seconds := pause(error, attempt, retries)) is None:
                raise
        time.sleep(seconds)
        attempt += 1


async def aretrying(send: Callable[[], Awaitable[T]], retries: int) -> T:
    """Return await send(), tried again as `pause` allows."""
    import asyncio

    attempt = 1
    while True:
        try:
            return await send()
        except ModelError as error:
            if (seconds := pause(error, attempt, retries)) is None:
                raise
        await asyncio.sleep(seconds)
        attempt += 1
