"""The one runtime of workflows and graphs."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.pregel._pregel import Pregel

__all__ = ["Pregel"]

__getattr__, __dir__ = attributes(__name__, {"Pregel": "._pregel"})
