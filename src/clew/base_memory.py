"""The base of memories, under the module that it is known from."""

from clew.memory.base import BaseMemory

__all__ = ["BaseMemory"]
