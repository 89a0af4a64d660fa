"""Text models to test with: they answer from a list."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clew.language_models.llms import LLM
from clew.outputs import GenerationChunk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun


class FakeListLLMError(Exception):
    """Raised in the middle of a stream by models that are told to."""


class FakeListLLM(LLM):
    """Answers from a list, over and over. sleep: seconds before each answer. i: position of the next one."""

    responses: list[str]
    sleep: float | None = None
    i: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake-list"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"responses": self.responses}

    def _next(self) -> str:
        text = self.responses[self.i]
        self.i = (self.i + 1) % len(self.responses)
        return text

    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        if self.sleep is not None:
            time.sleep(self.sleep)
        return self._next()

    async def _acall(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        if self.sleep is not None:
            import asyncio

            await asyncio.sleep(self.sleep)
        return self._next()


class FakeStreamingListLLM(FakeListLLM):
    """The same, streamed by character.

    error_on_chunk_number: raise FakeListLLMError in place of that chunk (from 0).
    """

    error_on_chunk_number: int | None = None

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        for number, character in enumerate(self._next()):
            if self.sleep is not None:
                time.sleep(self.sleep)
            if number == self.error_on_chunk_number:
                raise FakeListLLMError
            yield GenerationChunk(text=character)

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        import asyncio

        for number, character in enumerate(self._next()):
            if self.sleep is not None:
                await asyncio.sleep(self.sleep)
            if number == self.error_on_chunk_number:
                raise FakeListLLMError
            yield GenerationChunk(text=character)
