"""Chains: dict in, dict out, with a memory around them. First generation, kept and supported.

One run is: load the memory into the inputs, check them, `_call`, check the outputs, save the turn. An error in `_call`
means that nothing is saved. A subclass gives `input_keys`, `output_keys` and `_call`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field

from clew.memory.base import BaseMemory
from clew.runnables import RunnableSerializable
from clew.runnables._entry import acall_observed, ain_context, call_observed, child_config, in_context
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from clew.config import RunnableConfig

__all__ = ["Chain"]


class Chain(RunnableSerializable[dict[str, Any], dict[str, Any]], ABC):
    """A component from a dict to a dict. Deprecated for new designs, kept and supported.

    memory: what is remembered between runs. callbacks, tags, metadata: for every run. verbose: kept for callers.
    """

    memory: BaseMemory | None = None
    callbacks: Any = Field(default=None, exclude=True)
    verbose: bool = False
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    _takes_run: ClassVar[tuple[bool, bool]] = (True, True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._takes_run = (_takes_run_manager(cls._call), _takes_run_manager(cls._acall))

    @property
    @abstractmethod
    def input_keys(self) -> list[str]:
        """The keys that `_call` needs."""

    @property
    @abstractmethod
    def output_keys(self) -> list[str]:
        """The keys that `_call` gives."""

    @abstractmethod
    def _call(self, inputs: dict[str, Any], run_manager: Any = None) -> dict[str, Any]:
        """Return the outputs for complete inputs. `run_manager` is None where nobody listens."""

    async def _acall(self, inputs: dict[str, Any], run_manager: Any = None) -> dict[str, Any]:
        """Return the outputs for complete inputs; by default `_call` runs in a worker thread."""
        more = {"run_manager": run_manager.get_sync() if run_manager else None} if self._takes_run[0] else {}
        return await run_in_executor(None, lambda: self._call(inputs, **more))

    # -- a run ----------------------------------------------------------------------------------------

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, *, return_only_outputs: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the chain on a dict, or on the value of its only key beside the memory's.

        return_only_outputs: leave the inputs and the memory's keys out of the result.
        Raises: ValueError naming the keys that are missing on either side.
        """

        def body(value: Any, inner: RunnableConfig, run: Any) -> dict[str, Any]:
            inputs = self.prep_inputs(value)
            self._validate_inputs(inputs)
            more = {"run_manager": run} if self._takes_run[0] else {}
            outputs = in_context(child_config(inner, run), self._call, inputs, **more)
            return self.prep_outputs(inputs, outputs, return_only_outputs)

        return call_observed(self, body, input, self._with_own(config), callbacks=self.callbacks)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, return_only_outputs: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the chain on a dict, or on the value of its only key beside the memory's."""

        async def body(value: Any, inner: RunnableConfig, run: Any) -> dict[str, Any]:
            inputs = await self.aprep_inputs(value)
            self._validate_inputs(inputs)
            more = {"run_manager": run} if self._takes_run[1] else {}
            outputs = await ain_context(child_config(inner, run), self._acall, inputs, **more)
            return await self.aprep_outputs(inputs, outputs, return_only_outputs)

        return await acall_observed(self, body, input, self._with_own(config), callbacks=self.callbacks)

    def _with_own(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Put the chain's own tags and metadata under those of the call."""
        if not self.tags and not self.metadata:
            return config
        given = cast("dict[str, Any]", config or {})
        tags = [*(self.tags or ()), *(given.get("tags") or ())]
        metadata: dict[str, Any] = {**(self.metadata or {}), **(given.get("metadata") or {})}
        return cast("RunnableConfig", {**given, "tags": tags, "metadata": metadata})

    # -- before and after -----------------------------------------------------------------------------

    def prep_inputs(self, inputs: Any) -> dict[str, Any]:
        """Return complete inputs: a bare value under its key, the memory's keys over the caller's; a new dict."""
        given = self._as_dict(inputs)
        return dict(given, **self.memory.load_memory_variables(given)) if self.memory is not None else given

    async def aprep_inputs(self, inputs: Any) -> dict[str, Any]:
        """Return complete inputs: a bare value under its key, the memory's keys over the caller's; a new dict."""
        given = self._as_dict(inputs)
        return dict(given, **await self.memory.aload_memory_variables(given)) if self.memory is not None else given

    def prep_outputs(
        self, inputs: dict[str, Any], outputs: dict[str, Any], return_only_outputs: bool = False
    ) -> dict[str, Any]:
        """Check the outputs, save the turn, and return the outputs, with the inputs unless told otherwise."""
        self._validate_outputs(outputs)
        if self.memory is not None:
            self.memory.save_context(inputs, outputs)
        return outputs if return_only_outputs else {**inputs, **outputs}

    async def aprep_outputs(
        self, inputs: dict[str, Any], outputs: dict[str, Any], return_only_outputs: bool = False
    ) -> dict[str, Any]:
        """Check the outputs, save the turn, and return the outputs, with the inputs unless told otherwise."""
        self._validate_outputs(outputs)
        if self.memory is not None:
            await self.memory.asave_context(inputs, outputs)
        return outputs if return_only_outputs else {**inputs, **outputs}

    def _as_dict(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, dict):
            return dict(cast("dict[str, Any]", inputs))
        filled = self.memory.memory_variables if self.memory is not None else []
        keys = [key for key in self.input_keys if key not in filled]
        if len(keys) != 1:
            raise ValueError(f"a bare value needs one input key, but this chain has {keys}: give a dict")
        return {keys[0]: inputs}

    def _validate_inputs(self, inputs: dict[str, Any]) -> None:
        missing = [key for key in self.input_keys if key not in inputs]
        if missing:
            raise ValueError(f"input keys missing: {missing}")

    def _validate_outputs(self, outputs: dict[str, Any]) -> None:
        missing = [key for key in self.output_keys if key not in outputs]
        if missing:
            raise ValueError(f"output keys missing: {missing}")


def _takes_run_manager(method: Any) -> bool:
    parameters = inspect.signature(method).parameters
    return "run_manager" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
