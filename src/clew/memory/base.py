"""What a chain remembers between its runs.

A memory adds keys to a chain's inputs before the run (`load_memory_variables`) and takes the turn in afterwards
(`save_context`). First generation: for new code see `RunnableWithMessageHistory` and `clew.memory.with_memory`, which
puts any of these memories around a pipeline.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pydantic import ConfigDict

from clew.load import Serializable
from clew.runnables.config import run_in_executor

__all__ = ["BaseMemory"]


class BaseMemory(Serializable, ABC):
    """Base of all memories. Deprecated as a base for new designs, kept and supported.

    Subclasses give `memory_variables`, `load_memory_variables`, `save_context` and `clear`; fields may hold any type.
    The async faces run the blocking ones in a worker thread unless overridden.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    @property
    @abstractmethod
    def memory_variables(self) -> list[str]:
        """The keys that this memory adds to a chain's inputs."""

    @abstractmethod
    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is remembered in view of these inputs, under the memory's keys."""

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is remembered in view of these inputs, under the memory's keys."""
        return await run_in_executor(None, self.load_memory_variables, inputs)

    @abstractmethod
    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Take in one turn: what a chain was given and what it gave back."""

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Take in one turn: what a chain was given and what it gave back."""
        await run_in_executor(None, self.save_context, inputs, outputs)

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    async def aclear(self) -> None:
        """Forget everything."""
        await run_in_executor(None, self.clear)
