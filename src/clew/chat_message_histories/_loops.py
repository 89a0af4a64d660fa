"""Async clients, one per event loop, closed when their loop ends.

A client's connections belong to the loop that opened them. Each client is kept by an async generator that was started
on that loop: `asyncio.run` closes such generators before it closes the loop, and the client with them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable

_kept: dict[Any, dict[Hashable, _Kept]] = {}  # by loop; a client holds its loop, so weak keys would not help


class _Kept:
    """One client: ready is done when it was made, or could not be (client is None then)."""

    __slots__ = ("client", "keeper", "ready")

    def __init__(self, ready: Any) -> None:
        self.ready = ready
        self.client: Any = None
        self.keeper: Any = None


async def loop_client(key: Hashable, make: Callable[[], Any], close: Callable[[Any], Any]) -> Any:
    """Return this loop's client for a key, made once, when it is first asked for, however many ask.

    make: returns a client, or an awaitable of one. close: closes it, or returns an awaitable that does.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    clients = _kept.get(loop)
    if clients is None:
        for gone in [other for other in _kept if other.is_closed()]:  # closed without its generators' end
            _kept.pop(gone, None)
        clients = _kept.setdefault(loop, {})
    while (kept := clients.get(key)) is not None:
        if not kept.ready.done():
            await asyncio.shield(kept.ready)
        if kept.client is not None:
            return kept.client
    kept = clients[key] = _Kept(loop.create_future())
    keeper = _keep(make, close, loop, key)
    try:
        kept.client = await anext(keeper)
        kept.keeper = keeper
    except BaseException:
        clients.pop(key, None)  # the next one tries again
        raise
    finally:
        kept.ready.set_result(None)
    return kept.client


async def _keep(
    make: Callable[[], Any], close: Callable[[Any], Any], loop: Any, key: Hashable
) -> AsyncGenerator[Any, None]:
    client = make()
    if inspect.isawaitable(client):
        client = await client
    try:
        yield client
    finally:
        clients = _kept.get(loop, {})
        clients.pop(key, None)
        if not clients:
            _kept.pop(loop, None)
        closed = close(client)
        if inspect.isawaitable(closed):
            await closed
