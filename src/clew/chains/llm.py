"""A prompt and a model as a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from clew.chains.base import Chain
from clew.memory._types import AnyPrompt, AnyRunnable
from clew.output_parsers import BaseLLMOutputParser, StrOutputParser
from clew.prompts import PromptTemplate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LLMChain"]


class LLMChain(Chain):
    """Format a prompt, ask a model, parse its answer. Deprecated: `prompt | llm | parser` does the same.

    output_key: the key of the answer. output_parser: what makes it of the model's message. llm_kwargs: keywords of
    every call. "stop" among the inputs is passed to the model.
    """

    prompt: AnyPrompt
    llm: AnyRunnable
    output_key: str = "text"
    output_parser: BaseLLMOutputParser[Any] = Field(default_factory=StrOutputParser)
    llm_kwargs: dict[str, Any] = Field(default_factory=dict)

    @property
    def input_keys(self) -> list[str]:
        """The variables of the prompt."""
        return self.prompt.input_variables

    @property
    def output_keys(self) -> list[str]:
        """The one key of the answer."""
        return [self.output_key]

    def _call(self, inputs: dict[str, Any], run_manager: Any = None) -> dict[str, Any]:
        return {self.output_key: self._pipeline(inputs).invoke(self._variables(inputs))}

    async def _acall(self, inputs: dict[str, Any], run_manager: Any = None) -> dict[str, Any]:
        return {self.output_key: await self._pipeline(inputs).ainvoke(self._variables(inputs))}

    def predict(self, callbacks: Any = None, **kwargs: Any) -> Any:
        """Return the answer for these variables."""
        return self.invoke(kwargs, _config(callbacks))[self.output_key]

    async def apredict(self, callbacks: Any = None, **kwargs: Any) -> Any:
        """Return the answer for these variables."""
        return (await self.ainvoke(kwargs, _config(callbacks)))[self.output_key]

    def apply(self, input_list: Sequence[dict[str, Any]], callbacks: Any = None) -> list[dict[str, Any]]:
        """Return the outputs, without the inputs, for each of many inputs."""
        return self.batch(list(input_list), _config(callbacks), return_only_outputs=True)

    async def aapply(self, input_list: Sequence[dict[str, Any]], callbacks: Any = None) -> list[dict[str, Any]]:
        """Return the outputs, without the inputs, for each of many inputs."""
        return await self.abatch(list(input_list), _config(callbacks), return_only_outputs=True)

    @classmethod
    def from_string(cls, llm: Any, template: str) -> Self:
        """Return a chain whose prompt is a template text."""
        return cls(llm=llm, prompt=PromptTemplate.from_template(template))

    def _pipeline(self, inputs: dict[str, Any]) -> Any:
        more = {**self.llm_kwargs, **({"stop": inputs["stop"]} if "stop" in inputs else {})}
        model: Any = self.llm.bind(**more) if more else self.llm
        return self.prompt | model | self.output_parser

    def _variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {key: inputs[key] for key in self.prompt.input_variables}


def _config(callbacks: Any) -> Any:
    return {"callbacks": callbacks} if callbacks else None
