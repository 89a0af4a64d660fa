"""The base of text models: prompts in, texts out.

The cache is looked up per prompt, and the misses go to the model in one call.
"""

from __future__ import annotations

import builtins
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, cast

from clew import globals as _globals
from clew.language_models._hooks import Hooks, hooks_of
from clew.language_models._input import prompt_of
from clew.language_models.base import BaseLanguageModel, LanguageModelInput
from clew.outputs import Generation, GenerationChunk, LLMResult
from clew.prompt_values import PromptValue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from uuid import UUID

    from clew.caches import BaseCache
    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun, Callbacks
    from clew.config import RunnableConfig
    from clew.language_models._params import LangSmithParams


class BaseLLM(BaseLanguageModel[str]):
    """Base of text models: write `_generate(prompts, stop, run_manager, **kwargs) -> LLMResult`."""

    clew_hooks: ClassVar[Hooks]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Find out once which hooks the class brings."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.clew_hooks = hooks_of(cls, BaseLLM)

    # -- the hooks of a provider ------------------------------------------------------------------------

    @abstractmethod
    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts."""

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts; by default `_generate` in a worker thread."""
        from clew.language_models._texts import in_thread

        return await in_thread(self, prompts, stop, run_manager, kwargs)

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        """Yield the answer to one prompt in chunks."""
        raise NotImplementedError(f"{type(self).__name__} does not stream")

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        """Yield the answer to one prompt in chunks; by default those of `_stream`, read in a worker thread."""
        from clew.language_models._stream import aclosing, threaded
        from clew.language_models._texts import TextTurn

        async with aclosing(threaded(cast("Any", TextTurn(self, prompt, stop, kwargs, run_manager)))) as chunks:
            async for chunk in chunks:
                yield chunk

    # -- invoke, batch, stream --------------------------------------------------------------------------

    @property
    def OutputType(self) -> Any:
        """A text model gives text."""
        return str

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Return the text of the answer. Messages are given to the model as "Role: content" lines."""
        from clew.language_models._texts import invoke

        return invoke(self, input, config, stop, kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Return the text of the answer; see `invoke`."""
        from clew.language_models._texts import ainvoke

        return await ainvoke(self, input, config, stop, kwargs)

    def batch(
        self,
        inputs: list[LanguageModelInput],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Return the texts of many answers: the model gets all prompts at once, or max_concurrency at a time.

        return_exceptions: when a group of prompts fails, each of them gets the error in its position.
        """
        from clew.language_models._texts import batch

        return batch(self, inputs, config, return_exceptions, kwargs)

    async def abatch(
        self,
        inputs: list[LanguageModelInput],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Return the texts of many answers; see `batch`."""
        from clew.language_models._texts import abatch

        return await abatch(self, inputs, config, return_exceptions, kwargs)

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[str]:
        """Yield the text as it comes. Closing the iterator closes the provider's stream."""
        from clew.language_models._texts import stream

        return stream(self, input, config, stop, kwargs)

    def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[str]:
        """Yield the text as it comes; see `stream`."""
        from clew.language_models._texts import astream

        return astream(self, input, config, stop, kwargs)

    # -- several prompts --------------------------------------------------------------------------------

    def generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] = None,
        *,
        tags: list[str] | list[list[str]] | None = None,
        metadata: builtins.dict[str, Any] | list[builtins.dict[str, Any]] | None = None,
        run_name: str | list[str] | None = None,
        run_id: UUID | list[UUID | None] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts, one run each; callbacks, tags … of all, or a list with one per prompt.

        Raises: ValueError when a list has another length than the prompts, or prompts is no list.
        """
        from clew.language_models._texts import generate, says

        return generate(self, prompts, stop, says(prompts, callbacks, tags, metadata, run_name, run_id), kwargs)

    async def agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] = None,
        *,
        tags: list[str] | list[list[str]] | None = None,
        metadata: builtins.dict[str, Any] | list[builtins.dict[str, Any]] | None = None,
        run_name: str | list[str] | None = None,
        run_id: UUID | list[UUID | None] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts; see `generate`."""
        from clew.language_models._texts import agenerate, says

        return await agenerate(self, prompts, stop, says(prompts, callbacks, tags, metadata, run_name, run_id), kwargs)

    def generate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts; see `generate`."""
        return self.generate([prompt.to_string() for prompt in prompts], stop=stop, callbacks=callbacks, **kwargs)

    async def agenerate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several prompts; see `generate`."""
        return await self.agenerate(
            [prompt.to_string() for prompt in prompts], stop=stop, callbacks=callbacks, **kwargs
        )

    # -- what it says about itself ----------------------------------------------------------------------

    @property
    @abstractmethod
    def _llm_type(self) -> str:
        """A short name of the kind of model."""

    def __str__(self) -> str:
        return f"{type(self).__name__}\nParams: {self._identifying_params}"

    def dict(self, **_kwargs: Any) -> builtins.dict[str, Any]:
        """Return the parameters of the model and its kind."""
        return self.asdict()

    def asdict(self) -> builtins.dict[str, Any]:
        """Return the parameters of the model and its kind."""
        return {**self._identifying_params, "_type": self._llm_type}

    def save(self, file_path: Path | str) -> None:
        """Write the parameters to a `.json` file. Raises: ValueError for another suffix."""
        import json
        import pathlib

        path = pathlib.Path(file_path)
        if path.suffix != ".json":
            raise ValueError(f"{str(path)!r}: parameters are saved as .json")
        path.write_text(json.dumps(self.asdict(), indent=2, ensure_ascii=False, default=str), "utf-8")

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        """Return the facts that tracers show."""
        from clew.language_models._params import tracing_params

        return tracing_params(self, "llm", stop, kwargs)

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> builtins.dict[str, Any]:
        """Return all parameters of a call."""
        return {**self.asdict(), "stop": stop, **kwargs}

    def _convert_input(self, model_input: LanguageModelInput) -> PromptValue:
        """Return any form of input as a prompt value. Raises: ValueError for other types."""
        return prompt_of(model_input)


BaseLLM.clew_hooks = hooks_of(BaseLLM, BaseLLM)


class LLM(BaseLLM):
    """The short way to a text model: write `_call(prompt, stop, run_manager, **kwargs) -> str`."""

    @abstractmethod
    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        """Return the text of the answer to one prompt."""

    async def _acall(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        """Return the text of the answer to one prompt; by default `_call` in a worker thread."""
        from clew._pool import run_in_executor
        from clew.language_models._turn import blocking

        return await run_in_executor(
            None, lambda: self._call(prompt, stop=stop, run_manager=blocking(run_manager), **kwargs)
        )

    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        texts = [self._call(prompt, stop=stop, run_manager=run_manager, **kwargs) for prompt in prompts]
        return LLMResult(generations=[[Generation(text=text)] for text in texts])

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        texts = [await self._acall(prompt, stop=stop, run_manager=run_manager, **kwargs) for prompt in prompts]
        return LLMResult(generations=[[Generation(text=text)] for text in texts])


# -- the cache, for lists of prompts ----------------------------------------------------------------------

Found = tuple[dict[int, list[Generation]], str, list[int], list[str]]


def get_prompts(params: dict[str, Any], prompts: list[str], cache: BaseCache | bool | None = None) -> Found:
    """Look prompts up in a cache.

    params: of the model and the call. cache: as the model's field; None: the global one, if any.
    Returns: (generations by position, llm_string, positions of the misses, prompts of the misses).
    """
    llm_string = _text_of(params)
    used = _resolve(cache)
    rows = [used.lookup(each, llm_string) for each in prompts] if used else [None] * len(prompts)
    return _split(prompts, llm_string, rows)


async def aget_prompts(params: dict[str, Any], prompts: list[str], cache: BaseCache | bool | None = None) -> Found:
    """Look prompts up in a cache; see `get_prompts`."""
    llm_string = _text_of(params)
    used = _resolve(cache)
    rows = [await used.alookup(each, llm_string) for each in prompts] if used else [None] * len(prompts)
    return _split(prompts, llm_string, rows)


def update_cache(
    cache: BaseCache | bool | None,
    existing_prompts: dict[int, list[Generation]],
    llm_string: str,
    missing_prompt_idxs: list[int],
    new_results: LLMResult,
    prompts: list[str],
) -> dict[str, Any] | None:
    """Keep new answers, and put them among the existing ones in place. Returns: the llm_output of the new results."""
    used = _resolve(cache)
    for position, generations in zip(missing_prompt_idxs, new_results.generations, strict=True):
        existing_prompts[position] = generations
        if used is not None:
            used.update(prompts[position], llm_string, [each.model_copy(deep=True) for each in generations])
    return new_results.llm_output


async def aupdate_cache(
    cache: BaseCache | bool | None,
    existing_prompts: dict[int, list[Generation]],
    llm_string: str,
    missing_prompt_idxs: list[int],
    new_results: LLMResult,
    prompts: list[str],
) -> dict[str, Any] | None:
    """Keep new answers; see `update_cache`."""
    used = _resolve(cache)
    for position, generations in zip(missing_prompt_idxs, new_results.generations, strict=True):
        existing_prompts[position] = generations
        if used is not None:
            await used.aupdate(prompts[position], llm_string, [each.model_copy(deep=True) for each in generations])
    return new_results.llm_output


def _resolve(cache: BaseCache | bool | None) -> BaseCache | None:
    from clew.language_models._caching import resolve_cache

    return _globals.llm_cache if cache is None else resolve_cache(cache)


def _text_of(params: dict[str, Any]) -> str:
    from clew.language_models._params import params_text

    return params_text(params)


def _split(prompts: list[str], llm_string: str, rows: list[Any]) -> Found:
    existing: dict[int, list[Generation]] = {}
    for position, row in enumerate(rows):
        found = cast("list[Any]", row) if isinstance(row, list) else []
        if found and all(isinstance(each, Generation) for each in found):
            existing[position] = [each.model_copy(deep=True) for each in found]
    missing = [position for position in range(len(prompts)) if position not in existing]
    return existing, llm_string, missing, [prompts[position] for position in missing]
