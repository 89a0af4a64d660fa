"""Conformance suites for those who write a saver, a store, a history or a provider of their own.

Derive a pytest class from a suite, tell it how to open yours, and run it: built-in backends pass the same ones.
"""

from typing import TYPE_CHECKING

from clew import _lazy

if TYPE_CHECKING:
    from clew.testing.history import EntityStoreConformance as EntityStoreConformance
    from clew.testing.history import HistoryConformance as HistoryConformance
    from clew.testing.provider import ProviderConformance as ProviderConformance
    from clew.testing.saver import JournalConformance as JournalConformance
    from clew.testing.saver import SaverConformance as SaverConformance
    from clew.testing.store import StoreConformance as StoreConformance

__all__ = [
    "EntityStoreConformance",
    "HistoryConformance",
    "JournalConformance",
    "ProviderConformance",
    "SaverConformance",
    "StoreConformance",
]

__getattr__, __dir__ = _lazy.attributes(
    __name__,
    {
        "EntityStoreConformance": ".history",
        "HistoryConformance": ".history",
        "JournalConformance": ".saver",
        "ProviderConformance": ".provider",
        "SaverConformance": ".saver",
        "StoreConformance": ".store",
    },
)
