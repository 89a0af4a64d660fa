"""Memories made of other memories, or of fixed values."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from clew.memory.base import BaseMemory

__all__ = ["CombinedMemory", "ReadOnlySharedMemory", "SimpleMemory"]


class CombinedMemory(BaseMemory):
    """Several memories as one. Deprecated for new designs, kept and supported.

    memories: each must fill keys of its own. What one of them fills is no input of the others.
    """

    memories: list[BaseMemory]

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        keys = self.memory_variables
        doubled = sorted({key for key in keys if keys.count(key) > 1})
        if doubled:
            raise ValueError(f"two memories fill the same keys: {doubled}; give one of them another memory_key")
        return self

    @property
    def memory_variables(self) -> list[str]:
        """The keys of all the memories."""
        return [key for memory in self.memories for key in memory.memory_variables]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what all of them remember."""
        return {k: v for memory in self.memories for k, v in memory.load_memory_variables(self._own(inputs)).items()}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what all of them remember."""
        loaded = [await memory.aload_memory_variables(self._own(inputs)) for memory in self.memories]
        return {key: value for part in loaded for key, value in part.items()}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Save the turn in each; one that fails doesn't keep it from the others, and its error is raised at the end."""
        errors: list[Exception] = []
        for memory in self.memories:
            try:
                memory.save_context(self._own(inputs), outputs)
            except Exception as error:
                errors.append(error)
        _raise(errors)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Save the turn in each; one that fails doesn't keep it from the others, and its error is raised at the end."""
        errors: list[Exception] = []
        for memory in self.memories:
            try:
                await memory.asave_context(self._own(inputs), outputs)
            except Exception as error:
                errors.append(error)
        _raise(errors)

    def clear(self) -> None:
        """Clear each."""
        for memory in self.memories:
            memory.clear()

    async def aclear(self) -> None:
        """Clear each."""
        for memory in self.memories:
            await memory.aclear()

    def _own(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs without what the memories filled."""
        keys = self.memory_variables
        return {key: value for key, value in inputs.items() if key not in keys}


def _raise(errors: list[Exception]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("several memories could not save the turn", errors)


class ReadOnlySharedMemory(BaseMemory):
    """Another memory, for chains that may read it and not change it. Deprecated for new designs, supported."""

    memory: BaseMemory

    @property
    def memory_variables(self) -> list[str]:
        """The keys of the memory."""
        return self.memory.memory_variables

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what the memory remembers."""
        return self.memory.load_memory_variables(inputs)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what the memory remembers."""
        return await self.memory.aload_memory_variables(inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Change nothing."""

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Change nothing."""

    def clear(self) -> None:
        """Change nothing."""

    async def aclear(self) -> None:
        """Change nothing."""


class SimpleMemory(BaseMemory):
    """Fixed values under fixed keys. Deprecated for new designs, supported."""

    memories: dict[str, Any] = Field(default_factory=dict)

    @property
    def memory_variables(self) -> list[str]:
        """The keys of the values."""
        return list(self.memories)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the values."""
        return dict(self.memories)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the values."""
        return dict(self.memories)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Change nothing."""

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Change nothing."""

    def clear(self) -> None:
        """Change nothing."""

    async def aclear(self) -> None:
        """Change nothing."""
