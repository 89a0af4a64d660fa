"""Async clients, one per event loop, closed when their loop ends.

A client's connections belong to the loop that opened them. Each client is kept by an async generator that was started
on that loop: `asyncio.run` closes such generators before it closes the loop, and the client with them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable

_kept: WeakKeyDictionary[Any, dict[Hashable, tuple[Any, Any]]] = WeakKeyDictionary()


async def loop_client(key: Hashable, make: Callable[[], Any], close: Callable[[Any], Any]) -> Any:
    """Return this loop's client for a key, made when it is first asked for.

    make: returns a client, or an awaitable of one. close: closes it, or returns an awaitable that does.
    """
    import asyncio

    clients = _kept.setdefault(asyncio.get_running_loop(), {})
    found = clients.get(key)
    if found is None:
        keeper = _keep(make, close)
        client = await anext(keeper)
        found = clients.setdefault(key, (client, keeper))
    return found[0]


async def _keep(make: Callable[[], Any], close: Callable[[Any], Any]) -> AsyncGenerator[Any, None]:
    client = make()
    if inspect.isawaitable(client):
        client = await client
    try:
        yield client
    finally:
        closed = close(client)
        if inspect.isawaitable(closed):
            await closed
