"""Clients that all handles of one place share, closed when the program ends.

Web servers make a handle per request; connections must not come and go with them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["shared"]

_KEPT = 64  # clients kept open
_clients: OrderedDict[Hashable, tuple[Any, Callable[[Any], Any]]] = OrderedDict()
_guard = threading.RLock()
_owner = os.getpid()


def shared(key: Hashable, make: Callable[[], Any], close: Callable[[Any], Any]) -> Any:
    """Return the one client of a key, made when it is first asked for; the longest unused of many is closed.

    close: lets connections that are in use end their work.
    """
    global _owner
    with _guard:
        if _owner != os.getpid():  # a forked child leaves its parent's connections alone, and open
            _inherited.append(list(_clients.values()))
            _clients.clear()
            _owner = os.getpid()
        found = _clients.get(key)
        if found is None:
            found = _clients[key] = (make(), close)
            while len(_clients) > _KEPT:
                _close(*_clients.popitem(last=False)[1])
        else:
            _clients.move_to_end(key)
        return found[0]


_inherited: list[Any] = []


def _close(client: Any, close: Callable[[Any], Any]) -> None:
    with contextlib.suppress(Exception):  # the server may be gone before the program
        close(client)


@atexit.register
def _close_all() -> None:
    if _owner == os.getpid():
        while _clients:
            _close(*_clients.popitem()[1])
