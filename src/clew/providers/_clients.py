"""SDK clients, made at the first call and shared: one blocking client for a configuration, one async client per loop.

A blocking client is closed at exit, or when it was dropped for newer ones and no call uses it any more.
An async client belongs to the event loop it was made in. It is closed when that loop shuts its async generators down
(as asyncio.run does), so that no connection outlives its loop.
"""

from __future__ import annotations

import importlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable

LIMIT = 64
"""Blocking clients that are kept, and async clients kept per loop; the oldest goes first."""

_lock = threading.Lock()
_blocking: dict[Hashable, Any] = {}
_by_loop: weakref.WeakKeyDictionary[AbstractEventLoop, dict[Hashable, tuple[Any, Any]]] = weakref.WeakKeyDictionary()


def ssl_context(package: str) -> Any:
    """Return the TLS settings that httpx (or httpx2) makes by default, made once: that costs 40 ms of CPU.

    package: "httpx" or "httpx2".
    """
    found = _ssl_contexts.get(package)
    if found is None:
        found = _ssl_contexts[package] = importlib.import_module(package).create_ssl_context()
    return found


_ssl_contexts: dict[str, Any] = {}


def blocking(key: Hashable, make: Callable[[], Any], http_of: Callable[[Any], Any]) -> Any:
    """Return the client for this configuration, made by `make` when there is none.

    http_of: gives the HTTP client inside, which is closed in the end.
    """
    client = _blocking.get(key)
    if client is None:
        with _lock:
            client = _blocking.get(key)
            if client is None:
                while len(_blocking) >= LIMIT:
                    _blocking.pop(next(iter(_blocking)))
                client = _blocking[key] = make()
                weakref.finalize(client, http_of(client).close)
    return client


async def for_this_loop(key: Hashable, make: Callable[[], Any], close: Callable[[Any], Awaitable[Any]]) -> Any:
    """Return this loop's client for the configuration, made by `make` when there is none."""
    import asyncio

    clients = _by_loop.setdefault(asyncio.get_running_loop(), {})
    if key not in clients:
        while len(clients) >= LIMIT:
            _, old = clients.pop(next(iter(clients)))
            await old.aclose()
        client = make()
        keeper = _close_at_the_end(client, close)
        clients[key] = (client, keeper)
        await anext(keeper)
    return clients[key][0]


async def _close_at_the_end(client: Any, close: Callable[[Any], Awaitable[Any]]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await close(client)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _blocking.clear()  # a connection can't be used by two processes
    _by_loop.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
