"""Any memory around any pipeline: `prompt | model`, streaming, tools, blocking or awaited.

Before the run the memory fills its keys; after it, the turn is saved once, as messages, so tool calls and blocks are
kept; a stream is saved when it ends, and one that is cut short is saved as far as it came, marked incomplete.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, cast

from clew.messages import BaseMessage
from clew.runnables import Runnable
from clew.runnables._entry import acall_observed, call_observed, child_config
from clew.runnables._history_messages import as_message, incomplete, output_messages
from clew.runnables._stream import astream_observed, closing, joined, stream_observed
from clew.runnables.base import coerce_to_runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.config import RunnableConfig
    from clew.memory.base import BaseMemory

__all__ = ["with_memory"]

_log = logging.getLogger("clew.memory")


def with_memory(
    runnable: Any,
    memory: BaseMemory,
    *,
    input_key: str | None = None,
    output_key: str | None = None,
    on_abort: Literal["keep", "drop"] = "keep",
) -> Runnable[Any, Any]:
    """Return a runnable that is given what a memory remembers, and saves each turn in it.

    runnable: takes a dict with the memory's keys in it, such as `prompt | model`. A bare value is put under input_key,
    or "input". output_key: of a dict output, the answer. on_abort: what a stream that ended early leaves.
    Give the memory `return_messages=True` where the prompt has a MessagesPlaceholder.
    Raises: what the memory raises: a turn that can't be saved is an error.
    """
    return _WithMemory(coerce_to_runnable(runnable), memory, input_key, output_key, on_abort == "keep")


class _WithMemory(Runnable[Any, Any]):
    __slots__ = ("_input_key", "_keeps_partial", "_output_key", "memory", "name", "runnable")

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        memory: BaseMemory,
        input_key: str | None,
        output_key: str | None,
        keeps_partial: bool,
    ) -> None:
        self.name = "with_memory"
        self.runnable = runnable
        self.memory = memory
        self._input_key = input_key
        self._output_key = output_key
        self._keeps_partial = keeps_partial

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        def body(value: Any, inner: RunnableConfig, run: Any) -> Any:
            given = self._as_dict(value)
            loaded = self.memory.load_memory_variables(self._seen(given))
            output = self.runnable.invoke({**given, **loaded}, child_config(inner, run), **kwargs)
            self.memory.save_context(self._seen(given), self._answer(output))
            return output

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        async def body(value: Any, inner: RunnableConfig, run: Any) -> Any:
            given = self._as_dict(value)
            loaded = await self.memory.aload_memory_variables(self._seen(given))
            output = await self.runnable.ainvoke({**given, **loaded}, child_config(inner, run), **kwargs)
            await self.memory.asave_context(self._seen(given), self._answer(output))
            return output

        return await acall_observed(self, body, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        def body(value: Any, inner: RunnableConfig, run: Any) -> Iterator[Any]:
            given = self._as_dict(value)
            loaded = self.memory.load_memory_variables(self._seen(given))
            chunks: list[Any] = []
            try:
                with closing(self.runnable.stream({**given, **loaded}, child_config(inner, run), **kwargs)) as stream:
                    for chunk in stream:
                        chunks.append(chunk)
                        yield chunk
            except BaseException:
                if (partial := self._partial(chunks)) is not None:
                    self.memory.save_context(self._seen(given), partial)
                raise
            if chunks:
                self.memory.save_context(self._seen(given), self._answer(joined(chunks)))

        return stream_observed(self, body, input, config)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        async def body(value: Any, inner: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            given = self._as_dict(value)
            loaded = await self.memory.aload_memory_variables(self._seen(given))
            chunks: list[Any] = []
            stream = self.runnable.astream({**given, **loaded}, child_config(inner, run), **kwargs)
            try:
                async with closing(stream):
                    async for chunk in stream:
                        chunks.append(chunk)
                        yield chunk
            except BaseException:
                if (partial := self._partial(chunks)) is not None:
                    await self.memory.asave_context(self._seen(given), partial)
                raise
            if chunks:
                await self.memory.asave_context(self._seen(given), self._answer(joined(chunks)))

        async with closing(astream_observed(self, body, input, config)) as stream:
            async for chunk in stream:
                yield chunk

    # -- decisions ------------------------------------------------------------------------------------

    def _as_dict(self, value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return cast("dict[str, Any]", dict(value))  # pyright: ignore[reportUnknownArgumentType] - a user's dict
        return {self._input_key or getattr(self.memory, "input_key", None) or "input": value}

    def _seen(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs as the memory is shown them: with an input key of ours, that one alone."""
        key = self._input_key
        return given if key is None or getattr(self.memory, "input_key", None) else {key: given[key]}

    def _answer(self, output: Any) -> dict[str, Any]:
        """Return an output as the memory takes it: text as text, whatever else as messages."""
        key = getattr(self.memory, "output_key", None) or "output"
        if isinstance(output, (str, BaseMessage)):
            return {key: output if isinstance(output, str) else as_message(output)}
        return {key: output_messages(output, self._output_key)}

    def _partial(self, chunks: list[Any]) -> dict[str, Any] | None:
        if not chunks or not self._keeps_partial:
            return None
        try:
            messages = incomplete(output_messages(joined(chunks), self._output_key))
        except (ValueError, KeyError):
            _log.warning("the part of a stream that had come is no message: the turn is not kept", exc_info=True)
            return None
        return {getattr(self.memory, "output_key", None) or "output": messages}
