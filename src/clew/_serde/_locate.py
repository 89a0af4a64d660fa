"""Where in a value the culprit is: "$.user.tags[2]". Runs only when something was refused."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

from clew._serde import _types as T

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew._serde._registry import Registry

_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
_LONGEST = 200


def locate(value: Any, culprit: Any, registry: Registry) -> str:
    """Return the path of the object `culprit` inside value, or "$" when it is not found."""
    seen: set[int] = set()
    todo: deque[tuple[Any, Any]] = deque([(value, None)])
    while todo:
        one, trail = todo.popleft()
        if one is culprit:
            return _spell(trail)
        if id(one) in seen:
            continue
        seen.add(id(one))
        todo.extend((child, (step, trail)) for step, child in _children(one, registry))
    return "$"


def _spell(trail: Any) -> str:
    steps: list[str] = []
    while trail is not None:
        steps.append(trail[0])
        trail = trail[1]
    text = "$" + "".join(reversed(steps))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(steps)} levels down)"


def _children(value: Any, registry: Registry) -> Iterator[tuple[str, Any]]:
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of Any
    entry = registry.of_class(kind)
    if entry is not None:
        value = entry.shape.take(value)
    if isinstance(value, dict):
        for key, one in list(value.items()):  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - any dict
            yield "{key}", key
            yield f".{key}" if isinstance(key, str) and _PLAIN_NAME.match(key) else f"[{key!r}]", one
    elif isinstance(value, (list, tuple, deque, set, frozenset)):
        for index, one in enumerate(value):  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - any container
            yield (f"[{index}]" if not isinstance(value, (set, frozenset)) else "{element}"), one
    elif type(value) in T.by_type and isinstance(value, (range, slice)):
        yield from ()
