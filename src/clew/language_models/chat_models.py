"""The base of chat models: messages in, one message out, whole or streamed.

A provider writes `_generate` and, as far as it can, `_stream`, `_agenerate`, `_astream`. Between the caller and these
hooks stand, in this order: input conversion, callbacks, cache, rate limiter, the choice between stream and whole. Where
none of them has anything to do, the call goes straight to the hook: nobody listening, nothing paid.
"""

from __future__ import annotations

import builtins
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

from pydantic import Field

from clew import globals as _globals
from clew.callbacks._manager import anyone_listening
from clew.language_models._hooks import Hooks, hooks_of
from clew.language_models._input import messages_of, prompt_of
from clew.language_models._turn import Turn, complete, new_run_text
from clew.language_models.base import BaseLanguageModel, LanguageModelInput
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from clew.prompt_values import PromptValue
from clew.rate_limiters._base import BaseRateLimiter
from clew.runnables._entry import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from uuid import UUID

    from pydantic import BaseModel

    from clew.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun, Callbacks
    from clew.config import RunnableConfig
    from clew.language_models._params import LangSmithParams
    from clew.runnables import Runnable

    T = TypeVar("T")


class BaseChatModel(BaseLanguageModel[AIMessage]):
    """Base of chat models.

    rate_limiter: asked before each request that the cache does not answer.
    disable_streaming: True: `stream` gives the whole answer at once; "tool_calling": so with tools; False: never.
    output_version: "v1" gives message content as standard blocks; "v0" or None as the provider has it.
    profile: what the model can do.
    Source: models document, BaseChatModel; the sequence of `invoke` is its diagram 4.
    """

    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True)
    disable_streaming: bool | Literal["tool_calling"] = False
    output_version: str | None = None
    profile: builtins.dict[str, Any] | None = Field(default=None, exclude=True)

    structured_method: ClassVar[str] = "function_calling"
    """How `with_structured_output` asks when the caller does not say; "prompted" without native tools."""
    native_tools: ClassVar[bool] = True
    """Whether the provider takes tools; where not, the model is told of them and its choice is read from JSON."""
    clew_hooks: ClassVar[Hooks]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Find out once which hooks the class brings."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.clew_hooks = hooks_of(cls, BaseChatModel)

    # -- the hooks of a provider ------------------------------------------------------------------------

    @abstractmethod
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the answer to one list of messages."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the answer to one list of messages; by default `_generate` in a worker thread."""
        from clew.language_models._answer import in_thread

        return await in_thread(Turn(self, messages, stop, kwargs, run_manager))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """Yield the answer in chunks, each a new object. Whoever reads the chunks reports them as tokens."""
        raise NotImplementedError(f"{type(self).__name__} does not stream")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the answer in chunks; by default those of `_stream`, read in a worker thread."""
        from clew.language_models._stream import aclosing, threaded

        async with aclosing(threaded(Turn(self, messages, stop, kwargs, run_manager))) as chunks:
            async for chunk in chunks:
                yield chunk

    def _combine_llm_outputs(self, llm_outputs: list[builtins.dict[str, Any] | None]) -> builtins.dict[str, Any]:
        """Return one `llm_output` for those of several results."""
        return {}

    # -- invoke and stream ------------------------------------------------------------------------------

    @property
    def OutputType(self) -> Any:
        """A chat model gives one message."""
        return AIMessage

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Return the model's answer.

        input: text, a prompt value, or messages in any form that `convert_to_messages` takes.
        stop: texts at which the answer ends. kwargs: go to the provider.
        """
        hooks = self.clew_hooks
        if hooks.is_direct and self._is_bare(config, kwargs):
            messages = messages_of(input)
            if hooks.generate_managed:
                result = self._generate(messages, stop=stop, run_manager=None, **kwargs)
            else:
                result = self._generate(messages, stop=stop, **kwargs)
            return _first(self, result, config)
        from clew.language_models._observed import invoke

        return invoke(self, input, config, stop, kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Return the model's answer; see `invoke`."""
        hooks = self.clew_hooks
        if hooks.is_adirect and hooks.agenerates and self._is_bare(config, kwargs):
            messages = messages_of(input)
            if hooks.agenerate_managed:
                result = await self._agenerate(messages, stop=stop, run_manager=None, **kwargs)
            else:
                result = await self._agenerate(messages, stop=stop, **kwargs)
            return _first(self, result, config)
        from clew.language_models._observed import ainvoke

        return await ainvoke(self, input, config, stop, kwargs)

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Yield the answer as it comes; the chunks add up with `+`.

        A model that does not stream gives its whole answer as one chunk. The last chunk says `chunk_position="last"`.
        Closing the iterator closes the provider's stream.
        """
        from clew.language_models._observed import stream

        return stream(self, input, config, stop, kwargs)

    def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Yield the answer as it comes; see `stream`. `aclose()` returns after the provider's stream is closed."""
        from clew.language_models._observed import astream

        return astream(self, input, config, stop, kwargs)

    # -- several prompts --------------------------------------------------------------------------------

    def generate(
        self,
        messages: list[list[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        *,
        tags: list[str] | None = None,
        metadata: builtins.dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several lists of messages, one run each.

        Raises: the first failure; every run that was begun has ended then.
        """
        from clew.language_models._observed import Call, generate

        return generate(self, messages, Call(stop, callbacks, tags, metadata, run_name, run_id, kwargs))

    async def agenerate(
        self,
        messages: list[list[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        *,
        tags: list[str] | None = None,
        metadata: builtins.dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Return the answers to several lists of messages, all at the same time; see `generate`."""
        from clew.language_models._observed import Call, agenerate

        return await agenerate(self, messages, Call(stop, callbacks, tags, metadata, run_name, run_id, kwargs))

    def generate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Callbacks = None, **kwargs: Any
    ) -> LLMResult:
        """Return the answers to several prompts; see `generate`."""
        return self.generate([prompt.to_messages() for prompt in prompts], stop=stop, callbacks=callbacks, **kwargs)

    async def agenerate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Callbacks = None, **kwargs: Any
    ) -> LLMResult:
        """Return the answers to several prompts; see `generate`."""
        return await self.agenerate(
            [prompt.to_messages() for prompt in prompts], stop=stop, callbacks=callbacks, **kwargs
        )

    # -- tools and structured output --------------------------------------------------------------------

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with tools it may call.

        tools: dicts (used as they are), pydantic or TypedDict classes, functions, tools.
        tool_choice: "auto", "any", "none", a tool's name, or {"name": …}.
        Raises: ValueError for anything that is no tool.
        """
        from clew.language_models._tools import convert_tools

        if not self.native_tools:
            from clew.language_models._prompted import PromptedTools

            return PromptedTools(self, convert_tools(tools), tool_choice, kwargs)
        bound = self._bind_tools_kwargs(convert_tools(tools, strict=kwargs.get("strict")), tool_choice=tool_choice)
        return self.bind(**bound, **kwargs)

    def _bind_tools_kwargs(
        self, tools: list[builtins.dict[str, Any]], tool_choice: Any = None
    ) -> builtins.dict[str, Any]:
        """Return the keywords that give the provider these tools."""
        return {"tools": tools} if tool_choice is None else {"tools": tools, "tool_choice": tool_choice}

    @overload
    def with_structured_output(
        self, schema: type[T], *, method: str | None = None, include_raw: Literal[False] = False,
        strict: bool | None = None, reask: int = 0, **kwargs: Any,
    ) -> Runnable[LanguageModelInput, T]: ...  # fmt: skip
    @overload
    def with_structured_output(
        self, schema: builtins.dict[str, Any], *, method: str | None = None, include_raw: Literal[False] = False,
        strict: bool | None = None, reask: int = 0, **kwargs: Any,
    ) -> Runnable[LanguageModelInput, builtins.dict[str, Any]]: ...  # fmt: skip
    @overload
    def with_structured_output(
        self, schema: builtins.dict[str, Any] | type[BaseModel] | type[Any], *, method: str | None = None,
        include_raw: bool, strict: bool | None = None, reask: int = 0, **kwargs: Any,
    ) -> Runnable[LanguageModelInput, builtins.dict[str, Any]]: ...  # fmt: skip
    def with_structured_output(
        self,
        schema: Any,
        *,
        method: str | None = None,
        include_raw: bool = False,
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a runnable that answers with an object of a schema, or raises; never with None.

        schema: a pydantic, TypedDict or dataclass type, or a JSON Schema (with a title, or in a tool's form).
        method: "function_calling", "json_schema", "json_mode" or "prompted" (for models that can't call tools: the
            schema is in the prompt and, where the provider can, enforced); None: what suits the model.
        include_raw: {"raw": the message, "parsed": the object or None, "parsing_error": the error or None}.
        reask: how often a bad answer is sent back with the error.
        Raises: ValueError for an unknown method; when run, OutputParserException, ModelRefusalError.
        While streaming, partial objects are dicts of what is certain; the last item is the object.
        """
        from clew.language_models._structured import structured

        return structured(self, schema, method, include_raw, strict, reask, kwargs)

    # -- what it says about itself ----------------------------------------------------------------------

    @property
    @abstractmethod
    def _llm_type(self) -> str:
        """A short name of the kind of model."""

    def dict(self, **_kwargs: Any) -> builtins.dict[str, Any]:
        """Return the parameters of the model and its kind."""
        return self.asdict()

    def asdict(self) -> builtins.dict[str, Any]:
        """Return the parameters of the model and its kind."""
        return {**self._identifying_params, "_type": self._llm_type}

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> builtins.dict[str, Any]:
        """Return all parameters of a call."""
        return {**self.asdict(), "stop": stop, **kwargs}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        """Return the facts that tracers show."""
        from clew.language_models._params import tracing_params

        return tracing_params(self, "chat", stop, kwargs)

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the model with all parameters of a call as text: the second half of the cache key."""
        from clew.language_models._params import llm_string

        return llm_string(self, stop, kwargs)

    def _convert_input(self, model_input: LanguageModelInput) -> PromptValue:
        """Return any form of input as a prompt value. Raises: ValueError for other types."""
        return prompt_of(model_input)

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Decide whether a call of `invoke` uses the provider's stream.

        Source: models document, streaming decision: implemented, disabled, disabled with tools, the `stream` keyword,
        the `streaming` field when it was set, a handler that wants tokens.
        """
        hooks = self.clew_hooks
        if not hooks.streams and not (async_api and hooks.astreams):
            return False
        if self.disable_streaming is True:
            return False
        if self.disable_streaming == "tool_calling" and kwargs.get("tools"):
            return False
        if kwargs.get("stream") is not None:
            return bool(kwargs["stream"])
        if "streaming" in self.model_fields_set:
            streaming = getattr(self, "streaming", None)
            if isinstance(streaming, bool):
                return streaming
        return any(
            getattr(handler, "_taps_streams", False) for handler in (run_manager.handlers if run_manager else ())
        )

    def _is_bare(self, config: RunnableConfig | None, kwargs: builtins.dict[str, Any]) -> bool:
        """Whether nothing stands between a call and the provider: no listener, cache, limiter or choice of stream."""
        if not plain() or "stream" in kwargs:
            return False
        if config is not None and (config.get("timeout") is not None or anyone_listening(config.get("callbacks"))):
            return False
        fields = self.__dict__
        cache = fields["cache"]
        if cache is not False and (cache is not None or _globals.llm_cache is not None):
            return False
        if fields["rate_limiter"] is not None or fields["callbacks"] or fields["verbose"]:
            return False
        return not fields.get("streaming") or "streaming" not in self.model_fields_set


def _first(model: BaseChatModel, result: ChatResult, config: RunnableConfig | None) -> AIMessage:
    """Return the message of the first candidate, completed."""
    generations = result.generations
    if not generations:
        raise ValueError(f"{type(model).__name__}._generate returned no generations")
    run_id = (config.get("run_id") if config is not None else None) or new_run_text()
    return complete(model, generations[0], f"lc_run--{run_id}-0", result.llm_output if len(generations) == 1 else None)


BaseChatModel.clew_hooks = hooks_of(BaseChatModel, BaseChatModel)


class SimpleChatModel(BaseChatModel):
    """The short way to a chat model: write `_call(messages, stop, run_manager, **kwargs) -> str`."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = self._call(messages, stop=stop, run_manager=run_manager, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    @abstractmethod
    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        """Return the text of the answer."""
