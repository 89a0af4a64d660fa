"""The arithmetic of a token bucket: no clock, no lock, no waiting.

The whole state is one number: the time at which the bucket will be full again. Taking `n` units moves it by n / rate;
units may be taken at any time that leaves it at most size / rate ahead. Nothing is counted by ticks, so no rate is too
fast and no rounding adds up.

Source: the generic cell rate algorithm (ITU-T I.371, virtual scheduling).
"""

from __future__ import annotations


class Bucket:
    """`rate` units per second, at most `size` of them saved up; full at the start.

    A start time that was found by `due` is handed to `take` as it is, also when the caller woke up a little later:
    lateness then does not lower the rate.
    """

    __slots__ = ("full_at", "rate", "size")

    def __init__(self, rate: float, size: float, what: str) -> None:
        if not rate > 0 or not size > 0:
            raise ValueError(f"{what}: both the rate and the bucket must be positive, got {rate!r} and {size!r}")
        self.rate = rate
        self.size = size
        self.full_at = float("-inf")

    def due(self, units: float) -> float:
        """Return the earliest time at which `units` may be taken."""
        return self.full_at + (units - self.size) / self.rate

    def take(self, units: float, at: float) -> None:
        """Take units at a time that `due` allows."""
        self.full_at = max(self.full_at, at) + units / self.rate

    def charge(self, units: float, now: float) -> None:
        """Take units that are spent already: the bucket may go into debt; a negative number gives back."""
        self.full_at = max(self.full_at, now) + units / self.rate


class Buckets:
    """Requests and, when asked for, tokens.

    Raises: ValueError for a rate or size that is not positive, and from `check` for more tokens than fit.
    """

    __slots__ = ("paused_until", "requests", "tokens")

    def __init__(
        self,
        requests_per_second: float,
        max_bucket_size: float,
        tokens_per_second: float | None,
        max_tokens_bucket_size: float | None,
    ) -> None:
        if max_bucket_size < 1:
            raise ValueError(f"max_bucket_size must hold at least one request, got {max_bucket_size!r}")
        self.requests = Bucket(requests_per_second, max_bucket_size, "requests_per_second")
        self.tokens: Bucket | None = None
        if tokens_per_second is not None:
            size = tokens_per_second if max_tokens_bucket_size is None else max_tokens_bucket_size
            self.tokens = Bucket(tokens_per_second, size, "tokens_per_second")
        self.paused_until = float("-inf")

    def check(self, tokens: float) -> None:
        """Refuse a request that no waiting could let through."""
        if tokens < 0:
            raise ValueError(f"tokens must not be negative, got {tokens!r}")
        if self.tokens is not None and tokens > self.tokens.size:
            raise ValueError(
                f"{tokens} tokens never fit: the bucket holds {self.tokens.size:g}; raise max_tokens_bucket_size "
                "or send a shorter prompt"
            )

    def due(self, tokens: float) -> float:
        """Return the earliest time at which one request with that many tokens may start."""
        due = max(self.requests.due(1), self.paused_until)
        return due if self.tokens is None else max(due, self.tokens.due(tokens))

    def take(self, tokens: float, at: float) -> None:
        """Count one request that starts at `at`."""
        self.requests.take(1, at)
        if self.tokens is not None and tokens:
            self.tokens.take(tokens, at)
