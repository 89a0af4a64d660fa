"""Redis (or Valkey) clients, opened and failing the same way everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from clew._lazy import need
from clew.errors import StorageError

if TYPE_CHECKING:
    from types import TracebackType


def connect(source: Any, what: str) -> tuple[Any, bool]:
    """Return (client, whether it is ours to close) for a URL, or a client that the caller made.

    what: who needs it, for the message when the package is missing. Dead connections are replaced and the command
    sent once more; the pool is checked when a connection was idle.
    """
    if not isinstance(source, str):
        return source, False
    redis = need("redis", "redis", what)
    options = _options()
    return redis.Redis.from_url(source, **options), True


def aconnect(source: Any, what: str) -> tuple[Any, bool]:
    """Return (asyncio client, whether it is ours to close); see `connect`."""
    if not isinstance(source, str):
        return source, False
    module = need("redis.asyncio", "redis", what)
    return module.Redis.from_url(source, **_options(awaited=True)), True


def _options(*, awaited: bool = False) -> dict[str, Any]:
    prefix = "redis.asyncio" if awaited else "redis"
    retry = need(f"{prefix}.retry", "redis", "Redis")
    backoff = need("redis.backoff", "redis", "Redis")
    errors = need("redis.exceptions", "redis", "Redis")
    return {
        "retry": retry.Retry(backoff.ExponentialBackoff(cap=0.2, base=0.01), 2),
        "retry_on_error": [errors.ConnectionError],
        "health_check_interval": 30,
        "socket_keepalive": True,
    }


class wrapped:
    """Turn redis errors in a block into StorageError, saying what was being done."""

    __slots__ = ("doing",)

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and is_redis_error(error):
            fail(error, self.doing)


def is_redis_error(error: BaseException) -> bool:
    """Whether an error is the driver's or the server's, and not one that user code raised."""
    return type(error).__module__.startswith("redis.")


def fail(error: BaseException, doing: str) -> NoReturn:
    """Raise the StorageError of a redis error."""
    raise StorageError(f"Redis failed while {doing}: {error}", backend="redis") from error
