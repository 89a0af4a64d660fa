"""Notes in Redis, which forgets what nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._lazy import need
from clew.errors import StorageError
from clew.memory.entity_stores._ttl import RECALL_TTL, TTL, pattern, session_prefix
from clew.memory.entity_stores.base import BaseEntityStore

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RedisEntityStore"]

_PAGE = 500  # keys of one round trip


class RedisEntityStore(BaseEntityStore):
    """Notes of one session in Redis, for several processes.

    session_id: any text. url: of the server. key_prefix: what all keys begin with. ttl: seconds that a note lives after
    a write (None: for ever). recall_ttl: seconds that it lives after a read. redis_client: a client of yours.
    A note is under `{key_prefix}:{session_id}:{key}`, colons in the session's id escaped.
    Raises: StorageError when the server can't do its work.
    """

    def __init__(
        self,
        session_id: str = "default",
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "memory_store",
        ttl: int | None = TTL,
        recall_ttl: int | None = RECALL_TTL,
        redis_client: Any = None,
    ) -> None:
        redis = need("redis", "redis", "RedisEntityStore")
        self._errors: tuple[type[Exception], ...] = (redis.RedisError,)
        self.redis_client = redis.Redis.from_url(url) if redis_client is None else redis_client
        self.session_id = session_id
        self.key_prefix = key_prefix
        self.ttl = ttl
        self.recall_ttl = recall_ttl

    @property
    def full_key_prefix(self) -> str:
        """What the keys of this session begin with."""
        return session_prefix(self.key_prefix, self.session_id)

    def get(self, key: str, default: str | None = None) -> str:  # never None: "" when nothing is known
        """Return the note about a thing, or the default."""
        place = self._place(key)
        found = self._run(
            lambda: self.redis_client.get(place)
            if self.recall_ttl is None
            else self.redis_client.getex(place, ex=self.recall_ttl)
        )
        if isinstance(found, bytes):
            found = found.decode("utf-8", "surrogatepass")
        return cast("str", found) or default or ""

    def set(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        if not value:
            self.delete(key)
            return
        self._run(lambda: self.redis_client.set(self._place(key), _bytes(value), ex=self.ttl))

    def delete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        self._run(lambda: self.redis_client.delete(self._place(key)))

    def exists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return self._run(lambda: self.redis_client.exists(self._place(key))) == 1

    def clear(self) -> None:
        """Delete all notes of this session."""
        self._run(self._clear)

    def _clear(self) -> None:
        page: list[Any] = []
        for key in self.redis_client.scan_iter(match=_bytes(pattern(self.full_key_prefix)), count=_PAGE):
            page.append(key)
            if len(page) == _PAGE:
                self.redis_client.unlink(*page)
                page.clear()
        if page:
            self.redis_client.unlink(*page)

    def _place(self, key: str) -> bytes:
        return _bytes(f"{self.full_key_prefix}:{key}")

    def _run(self, command: Callable[[], Any]) -> Any:
        try:
            return command()
        except self._errors as error:
            raise StorageError(f"Redis could not be used: {error}", backend="redis") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
