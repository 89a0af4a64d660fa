"""The interface of a rate limiter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class BaseRateLimiter(ABC):
    """Decides when a request may be sent.

    A chat model calls `acquire` after the cache lookup and before its provider, once per request. Subclasses write
    `acquire` and `aacquire`. One that limits tokens too sets `limits_tokens` to True and takes `tokens=` in both: the
    model then passes its count of the prompt, and tells the difference to the true usage afterwards by `charge`.
    """

    limits_tokens: bool = False

    def __deepcopy__(self, memo: dict[int, Any]) -> BaseRateLimiter:
        """Copies of a model share its limit."""
        return self

    @abstractmethod
    def acquire(self, *, blocking: bool = True) -> bool:
        """Take a slot.

        blocking: wait for one; otherwise return at once.
        Returns: whether a slot was taken; always True when blocking.
        """

    @abstractmethod
    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Take a slot without blocking the event loop; see `acquire`."""

    def pause(self, seconds: float) -> None:
        """Let nothing through for that long: the provider asked for it (`Retry-After`). The base does nothing."""
        return

    def charge(self, tokens: int) -> None:
        """Count tokens that were used beyond those asked for in `acquire`. The base does nothing."""
        return
