"""One Redis list per session, the newest message first.

A write is one LPUSH (with an expiry: one pipeline), so it costs one round trip and nothing falls between its messages.
A write is sent once: a reply that was lost must not double a turn. A connection that the server closed meanwhile is
noticed when it is taken from the pool, and replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._lazy import need
from clew._redis import fail
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._rows import RowHistory
from clew.chat_message_histories._shared import shared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["RedisChatMessageHistory"]

_WHAT = "RedisChatMessageHistory"
_IDLE = 30  # seconds after which a pooled connection is asked whether it lives

# KEYS[1] the list; ARGV: how many old rows, these rows (newest first), the new rows (newest first)
_SWAP = """
local n = tonumber(ARGV[1])
local found = n > 0 and redis.call('LRANGE', KEYS[1], -n, -1) or {}
if #found ~= n then return 0 end
for i = 1, n do if found[i] ~= ARGV[i + 1] then return 0 end end
local life = redis.call('PTTL', KEYS[1])
if n > 0 then redis.call('LTRIM', KEYS[1], 0, -(n + 1)) end
for i = n + 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
if life > 0 then redis.call('PEXPIRE', KEYS[1], life) end
return 1
"""


def _options(retry: Any, backoff: Any) -> dict[str, Any]:
    return {"retry": retry.Retry(backoff.NoBackoff(), 0), "health_check_interval": _IDLE, "socket_keepalive": True}


def _client(url: str) -> Any:
    """Return the one client of a URL: it holds the pool of connections."""
    redis = need("redis", "redis", _WHAT)
    options = _options(need("redis.retry", "redis", _WHAT), need("redis.backoff", "redis", _WHAT))
    return shared(("redis", url), lambda: redis.Redis.from_url(url, **options), lambda client: client.close())


def _aclient(url: str) -> Any:
    module = need("redis.asyncio", "redis", _WHAT)
    options = _options(need("redis.asyncio.retry", "redis", _WHAT), need("redis.backoff", "redis", _WHAT))
    return module.Redis.from_url(url, **options)


class RedisChatMessageHistory(RowHistory):
    """The messages of one session in a Redis (or Valkey) list.

    session_id: any text. url: of the server. key_prefix: what the key begins with. ttl: seconds after the last write
    until the session is gone; None: never. redis_client: a blocking client of yours instead of the URL.
    Raises: StorageError when the server can't do its work.
    """

    def __init__(
        self,
        session_id: str,
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "message_store:",
        ttl: int | None = None,
        redis_client: Any = None,
    ) -> None:
        self.session_id = session_id
        self.key_prefix = key_prefix
        self.ttl = ttl
        self.redis_client = _client(url) if redis_client is None else redis_client
        self._url = url if redis_client is None else None

    @property
    def key(self) -> str:
        """The key of the list."""
        return self.key_prefix + self.session_id

    @property
    def _place(self) -> bytes:
        return self.key.encode("utf-8", "surrogatepass")

    # -- blocking -------------------------------------------------------------------------------------

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        rows = self._run("reading a history", lambda: self.redis_client.lrange(self._place, *_range(last, after)))
        return rows[::-1]

    def _append(self, rows: list[str]) -> None:
        self._run("appending to a history", lambda: self._push(self.redis_client, rows))

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        def work() -> bool:
            found: list[Any] = self.redis_client.lrange(self._place, -count, -1) if count else []
            if not same(found[::-1]):
                return False
            return self.redis_client.eval(_SWAP, 1, self._place, count, *found, *reversed(rows)) == 1

        return self._run("compacting a history", work)

    def _clear(self) -> None:
        self._run("clearing a history", lambda: self.redis_client.delete(self._place))

    def _run(self, doing: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            if not type(error).__module__.startswith("redis."):
                raise
            fail(error, doing)

    # -- awaited --------------------------------------------------------------------------------------

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if self._url is None:
            return await super()._aread(last=last, after=after)
        rows = await self._arun("reading a history", lambda client: client.lrange(self._place, *_range(last, after)))
        return rows[::-1]

    async def _aappend(self, rows: list[str]) -> None:
        if self._url is None:
            await super()._aappend(rows)
        else:
            await self._arun("appending to a history", lambda client: self._push(client, rows))

    async def _aclear(self) -> None:
        if self._url is None:
            await super()._aclear()
        else:
            await self._arun("clearing a history", lambda client: client.delete(self._place))

    async def _arun(self, doing: str, work: Callable[[Any], Any]) -> Any:
        url = self._url
        assert url is not None
        client = await loop_client(("redis", url), lambda: _aclient(url), lambda client: client.aclose())
        try:
            return await work(client)
        except Exception as error:
            if not type(error).__module__.startswith("redis."):
                raise
            fail(error, doing)

    def _push(self, client: Any, rows: list[str]) -> Any:
        """Send one round trip; for an awaited client the result is to be awaited."""
        if self.ttl is None:
            return client.lpush(self._place, *rows)
        pipeline = client.pipeline(transaction=True)
        pipeline.lpush(self._place, *rows)
        pipeline.expire(self._place, self.ttl)
        return pipeline.execute()


def _range(last: int | None, after: int) -> tuple[int, int]:
    """Return where in a list of the newest first these rows are."""
    return (0, last - 1) if last is not None else (0, -1 - after)
