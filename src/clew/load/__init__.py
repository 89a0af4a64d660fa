"""Components and messages as data and back: secrets by name only, classes from an allow-list only."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.load._dump import dumpd, dumps
    from clew.load._load import load, loads
    from clew.load._serializable import Serializable

__all__ = ["Serializable", "dumpd", "dumps", "load", "loads"]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "Serializable": "._serializable",
        "dumpd": "._dump",
        "dumps": "._dump",
        "load": "._load",
        "loads": "._load",
    },
)
