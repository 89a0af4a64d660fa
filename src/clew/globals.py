"""Settings of the whole process: the cache of model answers, printing of what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.caches import BaseCache

__all__ = ["get_debug", "get_llm_cache", "get_verbose", "set_debug", "set_llm_cache", "set_verbose"]

debugging: bool = False
"""Read by callbacks on every call; set with `set_debug`."""
verbose: bool = False
"""Default of `verbose` of components; set with `set_verbose`."""
llm_cache: BaseCache | None = None
"""The cache of models whose own `cache` is None; set with `set_llm_cache`."""


def set_debug(value: bool) -> None:
    """Print every event of every run to standard output, or stop that."""
    global debugging
    debugging = value


def get_debug() -> bool:
    """Tell whether every event is printed."""
    return debugging


def set_verbose(value: bool) -> None:
    """Set the default of `verbose` of the components made from now on."""
    global verbose
    verbose = value


def get_verbose() -> bool:
    """Return the default of `verbose`."""
    return verbose


def set_llm_cache(value: BaseCache | None) -> None:
    """Set the cache that all models without their own share; None for no cache."""
    global llm_cache
    llm_cache = value


def get_llm_cache() -> BaseCache | None:
    """Return the cache that all models without their own share."""
    return llm_cache
