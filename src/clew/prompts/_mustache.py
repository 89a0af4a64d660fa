"""Mustache, without logic and without objects.

`{{name}}`, `{{{name}}}` and `{{&name}}` insert a value as it is (a prompt is no HTML, so nothing is escaped), dotted
names go through dict keys, `{{#x}}…{{/x}}` repeats or shows a part, `{{^x}}…{{/x}}` shows it when x is empty,
`{{! … }}` is a comment. What is not a dict key is empty. Partials and changed delimiters are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TAG = re.compile(r"\{\{(\{.*?\}|[^{].*?|)\}\}", re.DOTALL)
_ALONE = "#^/!"

Node = str | tuple[str, str, "list[Node]"]  # text | (kind, name, children)


def compile_mustache(source: str) -> tuple[list[str], Callable[[Mapping[str, Any]], str]]:
    """Return (top-level names, render). Raises: ValueError for a broken template."""
    nodes = _parse(source)
    names: dict[str, None] = {}
    for node in nodes:
        if not isinstance(node, str):
            name = node[1].split(".")[0]
            if name:
                names[name] = None
    variables = list(names)

    def render(values: Mapping[str, Any]) -> str:
        for name in variables:
            if name not in values:
                raise KeyError(name)
        out: list[str] = []
        _render(nodes, [values], out)
        return "".join(out)

    return variables, render


def _parse(source: str) -> list[Node]:
    root: list[Node] = []
    stack: list[tuple[str, list[Node]]] = [("", root)]
    position = 0
    for found in _TAG.finditer(source):
        start, end = found.span()
        tag = found.group(1)
        sigil = tag[:1]
        if sigil and sigil in _ALONE:
            start, end = _whole_line(source, start, end, position)
        _add_text(stack[-1][1], source[position:start])
        position = end
        if sigil == "!":
            continue
        if sigil in (">", "="):
            raise ValueError(f"mustache partials and changed delimiters are not supported: {found.group(0)!r}")
        if sigil in ("#", "^"):
            node: Node = (sigil, tag[1:].strip(), [])
            stack[-1][1].append(node)
            stack.append((node[1], node[2]))
        elif sigil == "/":
            name = tag[1:].strip()
            if len(stack) == 1 or stack[-1][0] != name:
                raise ValueError(f"mustache section {name!r} is closed but not open")
            stack.pop()
        else:
            name = tag[1:-1] if sigil == "{" else tag.removeprefix("&")
            stack[-1][1].append(("$", name.strip(), []))
    if len(stack) > 1:
        raise ValueError(f"mustache section {stack[-1][0]!r} is never closed")
    _add_text(root, source[position:])
    return root


def _add_text(nodes: list[Node], text: str) -> None:
    if text:
        nodes.append(text)


def _whole_line(source: str, start: int, end: int, floor: int) -> tuple[int, int]:
    """A section or comment tag that is alone on its line takes the line with it."""
    line_start = source.rfind("\n", 0, start) + 1
    if line_start < floor or source[line_start:start].strip(" \t"):
        return start, end
    line_end = source.find("\n", end)
    if line_end == -1:
        return (line_start, len(source)) if not source[end:].strip(" \t\r") else (start, end)
    return (line_start, line_end + 1) if not source[end:line_end].strip(" \t\r") else (start, end)


def _render(nodes: Sequence[Node], scopes: list[Any], out: list[str]) -> None:
    for node in nodes:
        if isinstance(node, str):
            out.append(node)
            continue
        kind, name, children = node
        value = _look_up(name, scopes)
        if kind == "$":
            if value is not None:
                out.append(str(value))
        elif kind == "^":
            if not value:
                _render(children, scopes, out)
        elif value:
            items: list[Any] = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
            for item in items:
                scopes.append(item)
                _render(children, scopes, out)
                scopes.pop()


def _look_up(name: str, scopes: list[Any]) -> Any:
    if name == ".":
        return scopes[-1]
    first, *rest = name.split(".")
    for scope in reversed(scopes):
        if isinstance(scope, Mapping) and first in scope:
            value: Any = cast("Mapping[str, Any]", scope)[first]
            for key in rest:
                if not isinstance(value, Mapping) or key not in value:
                    return None
                value = cast("Mapping[str, Any]", value)[key]
            return value
    return None
