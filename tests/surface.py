"""The public surface of clew as lines of text: every public name with its signature.

    python tests/surface.py --write     # regenerate tests/budget/surface.txt
    python tests/surface.py             # print it

A module, or a name in it, is public when nothing in its dotted path begins with an underscore. A module's
names are its `__all__`, else what it defines itself. `--write` also regenerates doors.txt.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import clew

FILE = pathlib.Path(__file__).parent / "budget" / "surface.txt"


def modules() -> Iterator[ModuleType]:
    """Every public module of clew, by name."""
    found = [info.name for info in pkgutil.walk_packages(clew.__path__, "clew.", onerror=lambda _: None)]
    for name in ["clew", *sorted(found)]:
        if not any(part.startswith("_") for part in name.split(".")):
            yield importlib.import_module(name)


def names(module: ModuleType) -> list[str]:
    """The public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if name.isidentifier() and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def classes() -> Iterator[tuple[str, type]]:
    """Every public class once, under its shortest public name."""
    seen: set[int] = set()
    pairs = [(f"{m.__name__}.{n}", getattr(m, n)) for m in modules() for n in names(m)]
    for path, value in sorted(pairs, key=lambda pair: (pair[0].count("."), pair[0])):
        if isinstance(value, type) and id(value) not in seen and value.__module__.startswith("clew"):
            seen.add(id(value))
            yield path, value


def signature(value: Any) -> str:
    """The parameters without annotations, defaults that name an address or a path made plain."""
    if isinstance(value, type) and hasattr(value, "model_rebuild"):
        value.model_rebuild()  # deferred until first used: without it the list depends on what ran before
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    text = str(inspect.Signature(bare))
    return re.sub(r"<(?:function|class|bound method|object|[\w.]+ object)[^>]*>", "…", text)


def _members(path: str, value: type) -> Iterator[str]:
    for name, member in sorted(vars(value).items()):
        if name.startswith("_"):
            continue
        inner = getattr(member, "__func__", member)
        if inspect.isfunction(inner):
            yield f"{path}.{name}{signature(inner)}"
        elif isinstance(member, property):
            yield f"{path}.{name} property"


def lines() -> list[str]:
    """The whole surface, sorted."""
    home: dict[int, str] = {}
    out: list[str] = []
    pairs = [(f"{m.__name__}.{n}", getattr(m, n)) for m in modules() for n in names(m)]
    for path, value in sorted(pairs, key=lambda pair: (pair[0].count("."), pair[0])):
        is_named = isinstance(value, type) or inspect.isfunction(value)
        if is_named and id(value) in home:
            out.append(f"{path} is {home[id(value)]}")
            continue
        if is_named:
            home[id(value)] = path
        if isinstance(value, type):
            out += [f"{path} class {signature(value)}".rstrip(), *_members(path, value)]
        elif callable(value):
            out.append(f"{path}{signature(value)}")
        else:
            out.append(f"{path} {type(value).__name__}")
    return sorted(out)


def doors() -> list[str]:
    """Every use of `clew._lazy.resolve` with a literal target: file and target."""
    source = pathlib.Path(clew.__file__).parent
    return sorted(
        {
            f"{path.relative_to(source)} {target}"
            for path in source.rglob("*.py")
            for target in re.findall(r"resolve\(\s*\"(clew[\w.]*:\w+)\"", path.read_text())
        }
    )


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if "--write" in sys.argv:
        FILE.write_text(text)
        FILE.with_name("doors.txt").write_text("".join(f"{use}\n" for use in doors()))
        print(f"{FILE}: {text.count(chr(10))} lines")
    else:
        print(text, end="")
