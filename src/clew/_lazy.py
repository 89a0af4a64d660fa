"""The only door upward, and the only way to an optional package.

`attributes` makes a package `__init__` lazy, `resolve` reaches a higher floor at call time, `need` imports an extra
and says how to install it when it is missing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clew.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def resolve(target: str) -> Any:
    """Return what `"package.module:name"` names, importing the module if need be."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def attributes(package: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package whose names are imported when first asked for.

    homes: public name -> module that defines it, relative to the package ("._trim").
    """

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home, package), name)
        setattr(importlib.import_module(package), name, value)
        return value

    def __dir__() -> list[str]:
        return sorted(homes)

    return __getattr__, __dir__


def need(module: str, extra: str, what: str) -> ModuleType:
    """Import an optional package.

    module: dotted name to import ("psycopg"). extra: the name in `pip install "clew[extra]"`. what: who needs it.
    Raises: MissingDependencyError (an ImportError) when it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise
        raise MissingDependencyError(
            f'{what} needs the package {module.split(".")[0]!r}: pip install "clew[{extra}]"'
        ) from error
