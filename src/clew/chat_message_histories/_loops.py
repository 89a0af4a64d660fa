"""Async clients, one per event loop, closed when their loop ends.

A client's connections belong to the loop that opened them. Each client is kept by an async generator that was started
on that loop: `asyncio.run` closes such generators before it closes the loop, and the client with them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable

_kept: dict[Any, dict[Hashable, tuple[Any, Any]]] = {}  # by loop; a client holds its loop, so weak keys would not help


async def loop_client(key: Hashable, make: Callable[[], Any], close: Callable[[Any], Any]) -> Any:
    """Return this loop's client for a key, made when it is first asked for.

    make: returns a client, or an awaitable of one. close: closes it, or returns an awaitable that does.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    clients = _kept.get(loop)
    if clients is None:
        for gone in [other for other in _kept if other.is_closed()]:  # closed without its generators' end
            _kept.pop(gone, None)
        clients = _kept.setdefault(loop, {})
    found = clients.get(key)
    if found is None:
        keeper = _keep(make, close, loop)
        client = await anext(keeper)
        found = clients.setdefault(key, (client, keeper))
    return found[0]


async def _keep(make: Callable[[], Any], close: Callable[[Any], Any], loop: Any) -> AsyncGenerator[Any, None]:
    client = make()
    if inspect.isawaitable(client):
        client = await client
    try:
        yield client
    finally:
        _kept.pop(loop, None)
        closed = close(client)
        if inspect.isawaitable(closed):
            await closed
