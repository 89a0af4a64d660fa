"""What users can name, and how they call it, changes only on purpose."""

from __future__ import annotations

import difflib
import importlib
import pathlib
import re

import surface

SOURCE = pathlib.Path(surface.clew.__file__).parent


def test_public_names_and_signatures_are_the_listed_ones() -> None:
    listed, found = surface.FILE.read_text().splitlines(), surface.lines()
    changes = [
        line
        for line in difflib.unified_diff(listed, found, lineterm="", n=0)
        if line[:2] not in ("--", "++", "@@")
    ]
    assert not changes, (
        "the public surface changed; if that is meant: make surface, and a fragment in changes/\n"
        + "\n".join(changes[:60])
    )


def test_every_listed_name_exists() -> None:
    missing = [
        f"{module.__name__}.{name}"
        for module in surface.modules()
        for name in getattr(module, "__all__", ())
        if not hasattr(module, name)
    ]
    assert missing == []


def test_the_uses_of_the_door_upward_are_the_listed_ones() -> None:
    """`clew._lazy.resolve` is the only way to a higher floor, so its uses are counted and must resolve."""
    uses = surface.doors()
    for use in uses:
        module, _, name = use.split(" ")[1].partition(":")
        assert hasattr(importlib.import_module(module), name), use
    listed = (pathlib.Path(__file__).parent / "doors.txt").read_text().splitlines()
    assert uses == listed, (
        "uses of resolve() changed; if meant, put them in tests/budget/doors.txt:\n" + "\n".join(uses)
    )


def test_no_module_names_upward_in_a_string_it_imports() -> None:
    """importlib.import_module("clew.…") elsewhere would be a second door."""
    doors = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.name != "_lazy.py" and re.search(r"import_module\(\s*f?\"clew", path.read_text())
    ]
    assert doors == []
