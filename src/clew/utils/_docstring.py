"""Read what a docstring says about a function and its arguments.

Forms: Google ("Args:"), NumPy ("Parameters" underlined), Sphinx (":param x:") and Epytext ("@param x:"), with English
or Chinese headings and half- or full-width punctuation.
"""

from __future__ import annotations

import re
from inspect import cleandoc

_ARGS = (
    "args|arguments|parameters|params|other parameters|keyword args|keyword arguments"
    "|参数|参数说明|参数列表|入参|输入参数|输入"
)
_OTHER = (
    "returns?|yields?|raises?|exceptions?|examples?|notes?|warnings?|warns|see also|references|attributes|usage|todo"
    "|返回|返回值|返回结果|输出|出参|异常|抛出|示例|例子|例|用法|说明|注意|备注"
)
_ARGS_HEAD = re.compile(rf"^[ \t]*(?:{_ARGS})[ \t]*[::\uff1a][ \t]*$", re.IGNORECASE)
_OTHER_HEAD = re.compile(rf"^[ \t]*(?:{_OTHER})[ \t]*[:\uff1a].*$", re.IGNORECASE)
_UNDERLINED = re.compile(rf"^[ \t]*({_ARGS}|{_OTHER})[ \t]*$", re.IGNORECASE)
_LINE = re.compile(r"^[ \t]*[-=]{3,}[ \t]*$")
_SPHINX = re.compile(
    r"^[ \t]*[:@](?:param|parameter|arg|argument|key|keyword)[ \t]+(?:[^:\n]*?[ \t])?\*{0,2}(\w+)[ \t]*:[ \t]*(.*)$"
)
_FIELD = re.compile(r"^[ \t]*[:@](?:\w+)(?:[ \t]+[^:\n]*)?:")
_ENTRY = re.compile(
    r"^(?:[-*+][ \t]+)?`{0,2}\*{0,2}(\w+)`{0,2}[ \t]*(?:[(\uff08\[][^)\uff09\]]*[)\uff09\]])?[ \t]*[:\uff1a][ \t]*(.*)$"
)
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*(?:[:\uff1a].*)?$")


def parse_docstring(doc: str | None) -> tuple[str, dict[str, str]]:
    """Return (the description before any section, argument name -> what it is)."""
    if not doc:
        return "", {}
    lines = cleandoc(doc).splitlines()
    described: dict[str, str] = {}
    end = len(lines)
    at = 0
    while at < len(lines):
        line = lines[at]
        is_underlined = at + 1 < len(lines) and _UNDERLINED.match(line) and _LINE.match(lines[at + 1])
        if _SPHINX.match(line):
            end = min(end, at)
            at = _read_sphinx(lines, at, described)
        elif _ARGS_HEAD.match(line):
            end = min(end, at)
            at = _read_entries(lines, at + 1, _indent(line), _ENTRY, described)
        elif is_underlined:
            end = min(end, at)
            if re.match(rf"^[ \t]*(?:{_ARGS})[ \t]*$", line, re.IGNORECASE):
                at = _read_numpy(lines, at + 2, described)
            else:
                at += 2
        else:
            if _OTHER_HEAD.match(line) or _FIELD.match(line):
                end = min(end, at)
            at += 1
    return "\n".join(lines[:end]).strip(), described


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_sphinx(lines: list[str], at: int, out: dict[str, str]) -> int:
    found = _SPHINX.match(lines[at])
    assert found is not None  # the caller matched it
    parts = [found.group(2).strip()]
    base = _indent(lines[at])
    at += 1
    while at < len(lines) and lines[at].strip() and not _FIELD.match(lines[at]) and _indent(lines[at]) > base:
        parts.append(lines[at].strip())
        at += 1
    out[found.group(1)] = " ".join(part for part in parts if part)
    return at


def _read_entries(lines: list[str], at: int, base: int, entry: re.Pattern[str], out: dict[str, str]) -> int:
    """Read "name (type): text" entries that stand deeper than their heading."""
    name = ""
    parts: list[str] = []
    level: int | None = None

    def close() -> None:
        if name:
            out[name] = " ".join(part for part in parts if part)

    while at < len(lines):
        line = lines[at]
        if not line.strip():
            following = next((text for text in lines[at + 1 :] if text.strip()), "")
            if not following or _indent(following) <= base:
                break
            at += 1
            continue
        depth = _indent(line)
        if depth <= base:
            break
        level = depth if level is None else level
        found = entry.match(line.strip()) if depth <= level else None
        if found is not None:
            close()
            name, parts = found.group(1), [found.group(2).strip()]
        elif name:
            parts.append(line.strip())
        at += 1
    close()
    return at


def _read_numpy(lines: list[str], at: int, out: dict[str, str]) -> int:
    names: list[str] = []
    parts: list[str] = []
    base = _indent(lines[at - 1])

    def close() -> None:
        for name in names:
            out[name] = " ".join(part for part in parts if part)

    while at < len(lines):
        line = lines[at]
        if line.strip() and _indent(line) <= base:
            if at + 1 < len(lines) and _LINE.match(lines[at + 1]):
                break
            found = _NUMPY_ENTRY.match(line.strip())
            if found is None:
                break
            close()
            names, parts = [name.strip() for name in found.group(1).split(",")], []
        elif line.strip():
            parts.append(line.strip())
        at += 1
    close()
    return at
