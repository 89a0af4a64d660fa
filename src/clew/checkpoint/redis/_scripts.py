"""The journal's scripts on Redis: each is atomic, so a step is one round trip and a fence can't be passed.

Keys, below a prefix, for a place P (length of the thread's id, ":", thread's id, namespace):

    p:P    hash    t token, o owner, e expires, s state, n name, i info, l latest, c changed
    c:P    hash    checkpoint id -> msgpack [parent or nil, body]        ci:P  sorted set of the ids, in text order
    r:P:id hash    n -> body of a record                                 ri:P  set of the ids that have records
    v:P:chain hash n -> body of a value                                  vi:P  set of the chains
    n:P    hash    key -> note
    t:thread  set of the P of a thread        all, s0 … s3  sorted sets of P by time of change: all, and by state

Numbers travel as text: a script's numbers are floats, and chains and tokens would not survive that.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Script(NamedTuple):
    """Source and digest of a script."""

    source: str
    sha: str


def _script(*parts: str) -> Script:
    source = "\n".join(parts)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


_HEAD = """
local pre = ARGV[1]
local function now()
    local t = redis.call('TIME')
    return tonumber(t[1]) + tonumber(t[2]) / 1e6
end
local function text(x) return string.format('%.6f', x) end
local function create(P, thread)
    redis.call('HSET', pre..'p:'..P, 't', '0', 'o', '', 'e', '0', 's', '0', 'n', '', 'i', '', 'c', text(now()))
    redis.call('SADD', pre..'t:'..thread, P)
    redis.call('ZADD', pre..'all', now(), P)
    redis.call('ZADD', pre..'s0', now(), P)
end
local function mark(P, state)
    local old = redis.call('HGET', pre..'p:'..P, 's')
    redis.call('ZREM', pre..'s'..old, P)
    redis.call('HSET', pre..'p:'..P, 's', state, 'c', text(now()))
    redis.call('ZADD', pre..'s'..state, now(), P)
    redis.call('ZADD', pre..'all', now(), P)
end
"""

_READ = """
local function read(P, wanted)
    local p = redis.call('HMGET', pre..'p:'..P, 't', 'o', 'e', 's', 'n', 'i', 'l', 'c')
    if not p[1] then return false end
    local id = wanted ~= '' and wanted or p[7]
    local row, records = false, {}
    if id then
        row = redis.call('HGET', pre..'c:'..P, id)
        if row then records = redis.call('HGETALL', pre..'r:'..P..':'..id) end
    end
    return {p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], id, row, records}
end
"""

_WIPE = """
local function wipe(P, thread)
    for _, id in ipairs(redis.call('SMEMBERS', pre..'ri:'..P)) do redis.call('UNLINK', pre..'r:'..P..':'..id) end
    for _, chain in ipairs(redis.call('SMEMBERS', pre..'vi:'..P)) do redis.call('UNLINK', pre..'v:'..P..':'..chain) end
    for _, kind in ipairs({'p:', 'c:', 'ci:', 'ri:', 'vi:', 'n:'}) do redis.call('UNLINK', pre..kind..P) end
    for _, set in ipairs({'all', 's0', 's1', 's2', 's3'}) do redis.call('ZREM', pre..set, P) end
    redis.call('SREM', pre..'t:'..thread, P)
end
"""

# ARGV: prefix, P, wanted id or ''
LOAD = _script(_HEAD, _READ, "return read(ARGV[2], ARGV[3])")

# ARGV: prefix, P, thread, owner, seconds, steal ('1' or ''), owner known to be dead or ''
ACQUIRE = _script(
    _HEAD,
    _READ,
    """
local P, owner, at = ARGV[2], ARGV[4], now()
if redis.call('EXISTS', pre..'p:'..P) == 0 then create(P, ARGV[3]) end
local found = read(P, '')
local held = found[2]
local free = ARGV[6] == '1' or held == '' or held == owner or held == ARGV[7] or tonumber(found[3]) <= at
found[12] = free and '1' or ''
if free then
    mark(P, '1')
    found[1] = tostring(redis.call('HINCRBY', pre..'p:'..P, 't', 1))
    found[2], found[3] = owner, text(at + tonumber(ARGV[5]))
    redis.call('HSET', pre..'p:'..P, 'o', owner, 'e', found[3])
end
return found
""",
)

# ARGV: prefix, how many jobs, then each as `_statements.to_job` spells it; returns '1' or '' (fenced) for each
COMMIT = _script(
    _HEAD,
    """
local at = 2
local function take() at = at + 1; return ARGV[at] end
local function list(width)
    local rows = {}
    for row = 1, tonumber(take()) do
        rows[row] = {}
        for column = 1, width do rows[row][column] = take() end
    end
    return rows
end
local done = {}
for number = 1, tonumber(ARGV[2]) do
    local P, t, thread = take(), take(), take()
    local drops, checkpoint, head = list(1), list(2), list(1)
    local records, values, notes, state, release = list(3), list(3), list(3), list(3), take()
    local place = pre..'p:'..P
    local token = redis.call('HGET', place, 't')
    if t ~= '0' and token ~= t then
        done[number] = ''
    else
        done[number] = '1'
        if not token then create(P, thread) end
        for _, d in ipairs(drops) do
            redis.call('HDEL', pre..'c:'..P, d[1])
            redis.call('ZREM', pre..'ci:'..P, d[1])
            redis.call('SREM', pre..'ri:'..P, d[1])
            redis.call('UNLINK', pre..'r:'..P..':'..d[1])
        end
        for _, c in ipairs(checkpoint) do
            redis.call('HSET', pre..'c:'..P, c[1], c[2])
            redis.call('ZADD', pre..'ci:'..P, 0, c[1])
            redis.call('HSET', place, 'l', c[1])
        end
        for _, h in ipairs(head) do
            if h[1] == '' then redis.call('HDEL', place, 'l') else redis.call('HSET', place, 'l', h[1]) end
        end
        for _, r in ipairs(records) do
            local key, n = pre..'r:'..P..':'..r[1], r[2]
            if n == '-1' then
                local last = -1
                for _, k in ipairs(redis.call('HKEYS', key)) do if tonumber(k) > last then last = tonumber(k) end end
                n = string.format('%.0f', last + 1)
            end
            redis.call('HSETNX', key, n, r[3])
            redis.call('SADD', pre..'ri:'..P, r[1])
        end
        for _, v in ipairs(values) do
            local key = pre..'v:'..P..':'..v[1]
            if v[2] == '-1' then
                redis.call('UNLINK', key)
                redis.call('SREM', pre..'vi:'..P, v[1])
            else
                redis.call('HSET', key, v[2], v[3])
                redis.call('SADD', pre..'vi:'..P, v[1])
            end
        end
        for _, n in ipairs(notes) do
            local key = pre..'n:'..P
            if n[2] == '1' then redis.call('HSET', key, n[1], n[3]) else redis.call('HDEL', key, n[1]) end
        end
        for _, s in ipairs(state) do
            mark(P, s[1])
            redis.call('HSET', place, 'n', s[2], 'i', s[3])
        end
        if release == '1' then redis.call('HSET', place, 'o', '') end
    end
end
return done
""",
)

# ARGV: prefix, P, token, seconds
RENEW = _script(
    _HEAD,
    """
local place = pre..'p:'..ARGV[2]
if redis.call('HGET', place, 't') ~= ARGV[3] then return 0 end
redis.call('HSET', place, 'e', text(now() + tonumber(ARGV[4])))
return 1
""",
)

# ARGV: prefix, P, before or '', limit or ''
CHECKPOINTS = _script(
    _HEAD,
    """
local P, found = ARGV[2], {}
local top = ARGV[3] ~= '' and '('..ARGV[3] or '+'
local ids
if ARGV[4] ~= '' then
    ids = redis.call('ZREVRANGEBYLEX', pre..'ci:'..P, top, '-', 'LIMIT', 0, tonumber(ARGV[4]))
else
    ids = redis.call('ZREVRANGEBYLEX', pre..'ci:'..P, top, '-')
end
for _, id in ipairs(ids) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', pre..'c:'..P, id)
end
return found
""",
)

# ARGV: prefix, set, name or '', limit or ''
PLACES = _script(
    _HEAD,
    """
local found, left = {}, ARGV[4] ~= '' and tonumber(ARGV[4]) or -1
for _, P in ipairs(redis.call('ZREVRANGE', pre..ARGV[2], 0, -1)) do
    if left == 0 then break end
    local p = redis.call('HMGET', pre..'p:'..P, 't', 'o', 'e', 's', 'n', 'i', 'l', 'c')
    if p[1] and (ARGV[3] == '' or p[5] == ARGV[3]) then
        found[#found + 1] = {P, p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]}
        left = left - 1
    end
end
return found
""",
)

# ARGV: prefix, thread
DELETE = _script(
    _HEAD,
    _WIPE,
    """
for _, P in ipairs(redis.call('SMEMBERS', pre..'t:'..ARGV[2])) do wipe(P, ARGV[2]) end
return 1
""",
)

# ARGV: prefix, source thread, target thread, what P of the source begins with, the same of the target
COPY = _script(
    _HEAD,
    _WIPE,
    """
for _, P in ipairs(redis.call('SMEMBERS', pre..'t:'..ARGV[3])) do wipe(P, ARGV[3]) end
for _, P in ipairs(redis.call('SMEMBERS', pre..'t:'..ARGV[2])) do
    local Q = ARGV[5]..string.sub(P, #ARGV[4] + 1)
    create(Q, ARGV[3])
    for _, id in ipairs(redis.call('SMEMBERS', pre..'ri:'..P)) do
        redis.call('COPY', pre..'r:'..P..':'..id, pre..'r:'..Q..':'..id, 'REPLACE')
    end
    for _, chain in ipairs(redis.call('SMEMBERS', pre..'vi:'..P)) do
        redis.call('COPY', pre..'v:'..P..':'..chain, pre..'v:'..Q..':'..chain, 'REPLACE')
    end
    for _, kind in ipairs({'c:', 'ci:', 'ri:', 'vi:', 'n:'}) do
        redis.call('COPY', pre..kind..P, pre..kind..Q, 'REPLACE')
    end
    local p = redis.call('HMGET', pre..'p:'..P, 's', 'n', 'i', 'l')
    mark(Q, p[1])
    redis.call('HSET', pre..'p:'..Q, 'n', p[2], 'i', p[3])
    if p[4] then redis.call('HSET', pre..'p:'..Q, 'l', p[4]) end
end
return 1
""",
)
