"""clew's own data classes (messages, documents, interrupts …), known without being registered by anyone.

They are found in a fixed list of modules, loaded when one of their values or tags is first met. Their tags start with
"clew." and no user's class can take one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clew._serde._shapes import known_shape

if TYPE_CHECKING:
    from clew._serde._registry import Entry, Registry

_MODULES = (
    "clew.messages", "clew.documents", "clew.outputs", "clew.prompt_values", "clew.types", "clew.store.base",
)  # fmt: skip
_state: dict[str, bool] = {}


def load_known(cls: type[Any], registry: Registry) -> bool:
    """Make a class known if it is one of clew's own data classes; return whether it is."""
    if not cls.__module__.startswith("clew.") or known_shape(cls) is None:
        return False
    _add(cls, registry)
    return True


def load_known_tag(tag: Any, registry: Registry) -> Entry | None:
    """Return the entry of a tag of clew's own, loading the modules that define them."""
    if not isinstance(tag, str) or not tag.startswith("clew.") or tag in _state:
        return None
    _state[tag] = True
    name = tag.removeprefix("clew.")
    for home in _MODULES:
        try:
            module = importlib.import_module(home)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("clew."):
                raise
            continue
        cls = getattr(module, name, None) if name in getattr(module, "__all__", ()) or hasattr(module, name) else None
        if isinstance(cls, type) and cls.__module__.startswith("clew.") and known_shape(cls) is not None:
            del _state[tag]
            return _add(cls, registry)
    return None


def _add(cls: type[Any], registry: Registry) -> Entry:
    while registry.parent is not None:
        registry = registry.parent
    return registry.add(cls, tag=f"clew.{cls.__qualname__}")
