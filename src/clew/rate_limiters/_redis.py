"""A limit shared by machines through Redis or Valkey; the clock is the server's."""

from __future__ import annotations

from typing import Any

from clew._redis import connect, wrapped
from clew.rate_limiters._shared import Reservation, SharedRateLimiter

# KEYS[1]: hash with r (requests full at), t (tokens full at), p (paused until), in seconds of the server's clock.
_NOW = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local row = redis.call('HMGET', KEYS[1], 'r', 't', 'p')
local r, t, p = tonumber(row[1]) or 0, tonumber(row[2]) or 0, tonumber(row[3]) or 0
local function keep()
  local function text(n) return string.format('%.6f', n) end
  redis.call('HSET', KEYS[1], 'r', text(r), 't', text(t), 'p', text(p))
  redis.call('PEXPIRE', KEYS[1], math.ceil((math.max(r, t, p, now) - now) * 1000) + 60000)
end
"""
# ARGV: rate, size, token rate (0: none), token size, tokens, blocking
_RESERVE = (
    _NOW
    + """
local rate, size, token_rate, token_size = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens = tonumber(ARGV[5])
local start = math.max(now, p, r + (1 - size) / rate)
if token_rate > 0 then start = math.max(start, t + (tokens - token_size) / token_rate) end
if start > now and ARGV[6] == '0' then return false end
r = math.max(r, start) + 1 / rate
if token_rate > 0 then t = math.max(t, start) + tokens / token_rate end
keep()
return {string.format('%.6f', start), string.format('%.6f', start - now), string.format('%.6f', r)}
"""
)
# ARGV: full_at of the reservation, seconds to give back, token seconds to give back
_WITHDRAW = (
    _NOW
    + """
if math.abs(r - tonumber(ARGV[1])) < 0.000002 then
  r = r - tonumber(ARGV[2])
  t = t - tonumber(ARGV[3])
  keep()
end
"""
)
_PAUSE = _NOW + "p = math.max(p, now + tonumber(ARGV[1])) keep()"
_CHARGE = _NOW + "t = math.max(t, now) + tonumber(ARGV[1]) keep()"


class RedisRateLimiter(SharedRateLimiter):
    """Limit the requests (and tokens) per second of all machines that use the same server and name.

    redis: a URL, or a blocking client of the caller's. name: which limit, for one limit per key or model. The other
    arguments are those of `InMemoryRateLimiter`; everybody should give the same. A limit that is not used for a minute
    leaves the server.
    Raises: StorageError when the server fails; ValueError for a rate or size that is not positive.
    """

    def __init__(
        self,
        redis: Any = "redis://localhost:6379/0",
        *,
        requests_per_second: float = 1,
        max_bucket_size: float = 1,
        tokens_per_second: float | None = None,
        max_tokens_bucket_size: float | None = None,
        name: str = "default",
        prefix: str = "clew:limit:",
    ) -> None:
        super().__init__(
            requests_per_second=requests_per_second,
            max_bucket_size=max_bucket_size,
            tokens_per_second=tokens_per_second,
            max_tokens_bucket_size=max_tokens_bucket_size,
            name=name,
        )
        self._client, self._ours = connect(redis, "RedisRateLimiter")
        self._key = prefix + name

    def pause(self, seconds: float) -> None:
        """Let nothing of anybody through for that many seconds; those in line queue again afterwards."""
        self._run(_PAUSE, seconds)

    def charge(self, tokens: int) -> None:
        """Count tokens beyond those asked for in `acquire`; a negative number gives back."""
        if self._limits.tokens is not None:
            self._run(_CHARGE, tokens / self._limits.tokens.rate)

    def close(self) -> None:
        """Close the connection, if it is ours."""
        if self._ours:
            self._client.close()

    def _run(self, script: str, *arguments: Any) -> Any:
        with wrapped("limiting the rate of requests"):
            return self._client.eval(script, 1, self._key, *[str(each) for each in arguments])

    def _reserve(self, tokens: float, blocking: bool) -> Reservation | None:
        requests, per_token = self._limits.requests, self._limits.tokens
        token_rate, token_size = (per_token.rate, per_token.size) if per_token else (0, 0)
        found = self._run(_RESERVE, requests.rate, requests.size, token_rate, token_size, tokens, int(blocking))
        return None if found is None else Reservation(*(float(each) for each in found))

    def _withdraw(self, place: Reservation, tokens: float) -> None:
        per_token = self._limits.tokens
        self._run(_WITHDRAW, place.full_at, 1 / self._limits.requests.rate, tokens / per_token.rate if per_token else 0)

    def _paused_until(self) -> float:
        with wrapped("limiting the rate of requests"):
            return float(self._client.hget(self._key, "p") or 0)
