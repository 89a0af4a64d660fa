"""The two faces of a verb have one signature: `x` and `ax` take the same arguments, in every public class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import clew

# What users override, beside the public verbs.
HOOKS = {"_call", "_generate", "_get_relevant_documents", "_run", "_stream"}


def public_modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(clew.__path__, "clew."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield module.name


def public_classes() -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for name in public_modules():
        try:
            module = importlib.import_module(name)
        except ImportError as error:  # an extra that is not installed
            if "clew[" in str(error) or getattr(error, "name", "clew").split(".")[0] != "clew":
                continue
            raise
        for public in getattr(module, "__all__", dir(module)):
            try:
                value = getattr(module, public)
            except ImportError:
                continue
            if isinstance(value, type) and value.__module__.startswith("clew."):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def pairs(cls: type[Any]) -> Iterator[tuple[str, Any, Any]]:
    members = {name: inspect.getattr_static(cls, name) for name in dir(cls)}
    for name in members:
        if name.startswith("_") and name not in HOOKS:
            continue
        twin = f"_a{name[1:]}" if name in HOOKS else f"a{name}"
        if twin in members:
            first, second = getattr(cls, name), getattr(cls, twin)
            if inspect.isfunction(first) and inspect.isfunction(second) and first.__module__.startswith("clew."):
                yield name, first, second


def test_the_walk_finds_the_classes_and_their_faces() -> None:
    classes = public_classes()
    assert len(classes) > 100
    found = {name for cls in classes.values() for name, _, _ in pairs(cls)}
    assert {"invoke", "stream", "batch", "transform", "generate", "put", "get_tuple", "add_messages"} <= found


def test_faces_have_equal_signatures() -> None:
    """Also where a class overrides just one of the two."""
    different = {
        f"{name}.{verb}": (str(inspect.signature(first)), str(inspect.signature(second)))
        for name, cls in public_classes().items()
        for verb, first, second in pairs(cls)
        if parameters(first) != parameters(second)
    }
    assert different == {}
