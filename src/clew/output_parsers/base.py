"""What all output parsers share: a model's answer in, a value out.

A parser takes text, a message, or the generations of a model. It reads `parse_result`; most override only `parse`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from clew.errors import OutputParserException
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, Generation
from clew.runnables._entry import acall_observed, call_observed, plain
from clew.runnables.base import Runnable, RunnableSerializable

if TYPE_CHECKING:
    from clew.config import RunnableConfig
    from clew.prompt_values import PromptValue

__all__ = [
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "OutputParserException",
    "OutputParserLike",
]

T = TypeVar("T")
OutputParserLike = Runnable[Any, T]


class BaseLLMOutputParser(ABC, Generic[T]):
    """Anything that reads the generations of a model."""

    @abstractmethod
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return the value of the candidates for one prompt; the first one is the best.

        partial: the answer may not be finished: return what is certain, or None.
        """

    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return the value of the candidates for one prompt."""
        return self.parse_result(result, partial=partial)


def as_generation(answer: Any) -> Any:
    """Return an answer (message or text) as a generation."""
    if isinstance(answer, BaseMessage):
        return ChatGeneration(message=answer)
    if isinstance(answer, str):
        return Generation(text=answer)
    if isinstance(answer, (Generation, ChatGeneration)):
        return answer
    raise TypeError(f"an output parser takes text or a message, not {type(answer).__name__}: {answer!r}")


class _Parser(RunnableSerializable[Any, Any]):
    """The faces of a parser as a runnable."""

    @property
    def InputType(self) -> Any:
        """Text or a message."""
        return str | BaseMessage

    def _read(self, answer: Any) -> Any:
        """The value of one whole answer."""
        reader: Any = self  # the subclasses define how to read
        return reader.parse_result([as_generation(answer)])

    async def _aread(self, answer: Any) -> Any:
        reader: Any = self
        return await reader.aparse_result([as_generation(answer)])

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the value of an answer. Raises: OutputParserException if it can't be read."""
        if config is None and plain():
            return self._read(input)
        return call_observed(self, lambda value, _child, _run: self._read(value), input, config, run_type="parser")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the value of an answer."""
        if config is None and plain():
            return await self._aread(input)

        async def body(value: Any, _child: Any, _run: Any) -> Any:
            return await self._aread(value)

        return await acall_observed(self, body, input, config, run_type="parser")


class BaseGenerationOutputParser(_Parser, BaseLLMOutputParser[T], ABC):
    """Base of parsers that read generations (messages with tool calls, say) rather than text."""


class BaseOutputParser(_Parser, BaseLLMOutputParser[T], ABC):
    """Base of parsers that read text: define `parse`."""

    @abstractmethod
    def parse(self, text: str) -> T:
        """Return the value of a text. Raises: OutputParserException."""

    async def aparse(self, text: str) -> T:
        """Return the value of a text."""
        return self.parse(text)

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return the value of the best candidate."""
        return self.parse(result[0].text)

    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return the value of the best candidate."""
        own, base = cast("tuple[Any, Any]", (type(self), BaseOutputParser))
        if own.parse_result is not base.parse_result:
            return self.parse_result(result, partial=partial)
        return await self.aparse(result[0].text)

    def parse_with_prompt(self, completion: str, prompt: PromptValue) -> Any:
        """Return the value of a text; parsers that ask again need the prompt."""
        return self.parse(completion)

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        raise NotImplementedError(f"{type(self).__name__} has no format instructions")

    @property
    def _type(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} does not define _type")

    def asdict(self, **kwargs: Any) -> dict[str, Any]:
        """Return the parser as a dict."""
        return {**self.model_dump(**kwargs), "_type": self._type}
