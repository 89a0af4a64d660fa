"""The base of all language models: fields they share, input forms, token counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, cast

from pydantic import Field

from clew.caches._base import BaseCache
from clew.callbacks._manager import BaseCallbackManager
from clew.callbacks.base import BaseCallbackHandler
from clew.globals import get_verbose
from clew.messages import BaseMessage, MessageLikeRepresentation
from clew.prompt_values import PromptValue
from clew.runnables.base import RunnableSerializable

if TYPE_CHECKING:
    from clew.callbacks import Callbacks
    from clew.outputs import LLMResult
    from clew.runnables import Runnable

LanguageModelInput: TypeAlias = Union[PromptValue, str, Sequence[MessageLikeRepresentation]]  # noqa: UP007 - people ask its get_args
LanguageModelOutput: TypeAlias = Union[BaseMessage, str]  # noqa: UP007 - the same
LanguageModelOutputVar = TypeVar("LanguageModelOutputVar", covariant=True)
LanguageModelLike: TypeAlias = "Runnable[LanguageModelInput, LanguageModelOutput]"


class BaseLanguageModel(RunnableSerializable[LanguageModelInput, LanguageModelOutputVar]):
    """Base of chat models and text models.

    cache: None uses the global cache when there is one, False never, True requires it, a cache is used as given.
    verbose: print what happens. callbacks, tags, metadata: of this model's own runs.
    custom_get_token_ids: counts tokens in place of the model's tokenizer.
    """

    cache: BaseCache | bool | None = Field(default=None, exclude=True)
    verbose: bool = Field(default_factory=get_verbose, exclude=True, repr=False)
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None = Field(default=None, exclude=True)
    tags: list[str] | None = Field(default=None, exclude=True)
    metadata: dict[str, Any] | None = Field(default=None, exclude=True)
    custom_get_token_ids: Callable[[str], list[int]] | None = Field(default=None, exclude=True)

    @abstractmethod
    def generate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Callbacks = None, **kwargs: Any
    ) -> LLMResult:
        """Return the results of several prompts."""

    @abstractmethod
    async def agenerate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Callbacks = None, **kwargs: Any
    ) -> LLMResult:
        """Return the results of several prompts."""

    @property
    def InputType(self) -> Any:
        """What a model takes: a string, a prompt value or a sequence of messages."""
        return LanguageModelInput

    @property
    def _llm_type(self) -> str:
        """A short name of the kind of model."""
        raise NotImplementedError(f"{type(self).__name__} does not say its _llm_type")

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        """The parameters that make this model answer as it does: any change of one is another cache key."""
        from clew.language_models._params import identifying

        return identifying(self)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        """Return a runnable that answers with an object of a schema; chat models can."""
        raise NotImplementedError(f"{type(self).__name__} answers with text: use a chat model, or an output parser")

    # -- tokens -----------------------------------------------------------------------------------------

    def get_token_ids(self, text: str) -> list[int]:
        """Return the token ids of a text, in order.

        Raises: MissingDependencyError when no tokenizer of this model is at hand and none is installed to stand in.
        """
        if self.custom_get_token_ids is not None:
            return self.custom_get_token_ids(text)
        from clew.usage._tokens import encode, tokenizer_for

        return encode(tokenizer_for(self._model_name()) or get_tokenizer(), text)

    def get_num_tokens(self, text: str) -> int:
        """Return how many tokens this model reads in a text.

        Returns: a `clew.usage.TokenCount`; its `is_estimate` is true when the model's tokenizer is not at hand.
        """
        if self.custom_get_token_ids is not None:
            return len(self.custom_get_token_ids(text))
        if cast("Any", type(self)).get_token_ids is not cast("Any", BaseLanguageModel).get_token_ids:
            return len(self.get_token_ids(text))
        from clew.usage._tokens import count_tokens

        return count_tokens(text, self._model_name())

    def get_num_tokens_from_messages(self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """Return how many tokens this model reads in messages and tool definitions.

        Text is counted by `get_num_tokens`, once per message; images, audio and files have fixed estimates: nothing is
        fetched. Returns: an int, marked as an estimate like `get_num_tokens`.
        """
        from clew.language_models._count import count_messages

        return count_messages(self, messages, tools)

    def _model_name(self) -> str | None:
        name = getattr(self, "model_name", None) or getattr(self, "model", None)
        return name if isinstance(name, str) else None


def get_tokenizer() -> Any:
    """Return the tokenizer that stands in for models whose own is not known: o200k_base, from the extra `tokens`.

    Raises: MissingDependencyError when it is not installed.
    """
    from clew._lazy import need

    return need("quicktok", "tokens", "get_token_ids").get_encoding("o200k_base")
