"""A chat model that plays a script: for tests of applications, of interrupts, faults and streams.

Each call takes the next step: a text, a message, chunks, an exception to raise, or a function of the messages.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import ConfigDict, Field, PrivateAttr

from clew.language_models.chat_models import BaseChatModel
from clew.language_models.fake_chat_models import pieces
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.callbacks import CallbackManagerForLLMRun
    from clew.messages.base import BaseMessage


class ModelCall(NamedTuple):
    """One call that a scripted model got."""

    messages: list[BaseMessage]
    stop: list[str] | None
    kwargs: dict[str, Any]


class ScriptedChatModel(BaseChatModel):
    """Play a script, one step per call.

    script: steps. A str or AIMessage is the answer; a list is streamed, item by item (texts, AIMessageChunks, seconds
    to wait as float, exceptions to raise), and added up when the answer is asked for whole; an exception (also
    GraphInterrupt and other signals) is raised; a function of the messages gives the step, and may itself call
    `interrupt(...)`. after: what happens when the script is over: "repeat" the last step, begin "again", or "raise".
    delay: seconds before each answer. calls: what was asked, oldest first.
    """

    model_config = ConfigDict(extra="forbid")  # a field that is misspelt would play "ok" for ever

    script: Sequence[Any] = Field(default_factory=lambda: ["ok"])
    after: str = "repeat"
    delay: float = 0.0
    model: str = "scripted"

    _calls: list[ModelCall] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def calls(self) -> list[ModelCall]:
        """What was asked so far."""
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    def _step(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> Any:
        with self._lock:
            number = len(self._calls)
            self._calls.append(ModelCall(list(messages), stop, dict(kwargs)))
        if self.delay:
            time.sleep(self.delay)
        if number >= len(self.script):
            if self.after == "raise" or not self.script:
                raise RuntimeError(f"the script has {len(self.script)} steps, and this is call {number + 1}")
            number = number % len(self.script) if self.after == "again" else -1
        step: Any = self.script[number]
        if callable(step) and not isinstance(step, type):
            step = step(messages)
        if isinstance(step, BaseException):
            raise step
        return step

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = self._step(messages, stop, kwargs)
        if isinstance(step, ChatResult):
            return step
        if type(step) is list:
            from clew.language_models._stream import generate_from_stream

            return generate_from_stream(self._played(cast("list[Any]", step)))
        message = AIMessage(step) if isinstance(step, str) else step.model_copy(deep=True)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        step = self._step(messages, stop, kwargs)
        if isinstance(step, ChatResult):
            step = step.generations[0].message
        if type(step) is not list:
            step = pieces(AIMessage(step) if isinstance(step, str) else step.model_copy(deep=True))
        yield from self._played(cast("list[Any]", step))

    @staticmethod
    def _played(items: Sequence[Any]) -> Iterator[ChatGenerationChunk]:
        for item in items:
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, float):
                time.sleep(item)
            else:
                chunk = AIMessageChunk(item) if isinstance(item, (str, list)) else item.model_copy(deep=True)
                yield ChatGenerationChunk(message=chunk)
