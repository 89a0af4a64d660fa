"""The library's threads, as runnables use them."""

from clew._pool import cancel_requested, cancellation, pool

__all__ = ["cancel_requested", "cancellation", "pool"]
