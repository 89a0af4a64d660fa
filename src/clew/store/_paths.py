"""Paths into a value that say which text is embedded: "title", "meta.tags[0]", "parts[*].text", "{title,body}", "$"."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["get_text_at_path", "tokenize_path"]


def tokenize_path(path: str) -> list[str]:
    """Return the steps of a path: names, "[0]", "[-1]", "[*]", "{a,b}". "" and "$" are the whole value."""
    if path in ("", "$"):
        return []
    steps: list[str] = []
    name = ""
    position = 0
    while position < len(path):
        letter = path[position]
        if letter in "[{":
            end = path.find("]" if letter == "[" else "}", position)
            if end < 0:
                raise ValueError(f"the path {path!r} opens {letter!r} at {position} and does not close it")
            if name:
                steps.append(name)
            name = ""
            steps.append(path[position : end + 1])
            position = end
        elif letter == ".":
            if name:
                steps.append(name)
            name = ""
        else:
            name += letter
        position += 1
    return [*steps, name] if name else steps


def get_text_at_path(obj: Any, path: str | list[str]) -> list[str]:
    """Return the texts that a path leads to: strings as they are, numbers and the like as text, the rest as JSON."""
    found = [obj]
    for step in tokenize_path(path) if isinstance(path, str) else path:
        found = [inner for one in found for inner in _step(one, step)]
    return [text for one in found if (text := _as_text(one)) is not None]


def _step(value: Any, step: str) -> list[Any]:
    if step.startswith("{"):
        names = [name.strip() for name in step[1:-1].split(",")]
        return [inner for name in names for inner in get_values(value, name)]
    if step in ("[*]", "*"):
        if isinstance(value, dict):
            return list(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any dict
        return list(value) if isinstance(value, (list, tuple)) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if step.startswith("["):
        try:
            return [value[int(step[1:-1])]] if isinstance(value, (list, tuple)) else []
        except (IndexError, ValueError):
            return []
    return [value[step]] if isinstance(value, dict) and step in value else []


def get_values(value: Any, path: str) -> list[Any]:
    """Return what a path leads to, before it is turned into text."""
    found = [value]
    for step in tokenize_path(path):
        found = [inner for one in found for inner in _step(one, step)]
    return found


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float, bool)):
        return str(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
