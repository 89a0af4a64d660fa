"""Language models: chat models and text models behind one face, and fakes to test with.

Reading order: `base`, `chat_models`, then the private modules that each hold one idea (`_turn`, `_answer`, `_stream`).
"""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew._pool import cancel_requested
    from clew.language_models._errors import EmptyStreamError
    from clew.language_models._params import LangSmithParams, ModelProfile, ModelProfileRegistry
    from clew.language_models._stream import agenerate_from_stream, generate_from_stream
    from clew.language_models._structured import Partial
    from clew.language_models.base import (
        BaseLanguageModel,
        LanguageModelInput,
        LanguageModelLike,
        LanguageModelOutput,
        get_tokenizer,
    )
    from clew.language_models.chat_models import BaseChatModel, SimpleChatModel
    from clew.language_models.fake import FakeListLLM, FakeListLLMError, FakeStreamingListLLM
    from clew.language_models.fake_chat_models import (
        FakeChatModel,
        FakeListChatModel,
        FakeListChatModelError,
        FakeMessagesListChatModel,
        GenericFakeChatModel,
        ParrotFakeChatModel,
    )
    from clew.language_models.llms import LLM, BaseLLM, aget_prompts, aupdate_cache, get_prompts, update_cache
    from clew.language_models.scripted import ModelCall, ScriptedChatModel

__all__ = [
    "LLM",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "EmptyStreamError",
    "FakeChatModel",
    "FakeListChatModel",
    "FakeListChatModelError",
    "FakeListLLM",
    "FakeListLLMError",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "GenericFakeChatModel",
    "LangSmithParams",
    "LanguageModelInput",
    "LanguageModelLike",
    "LanguageModelOutput",
    "ModelCall",
    "ModelProfile",
    "ModelProfileRegistry",
    "ParrotFakeChatModel",
    "Partial",
    "ScriptedChatModel",
    "SimpleChatModel",
    "agenerate_from_stream",
    "aget_prompts",
    "aupdate_cache",
    "cancel_requested",
    "generate_from_stream",
    "get_prompts",
    "get_tokenizer",
    "update_cache",
]

_HOMES = {
    "._errors": ["EmptyStreamError"],
    "._params": ["LangSmithParams", "ModelProfile", "ModelProfileRegistry"],
    "._structured": ["Partial"],
    "._stream": ["agenerate_from_stream", "generate_from_stream"],
    ".base": ["BaseLanguageModel", "LanguageModelInput", "LanguageModelLike", "LanguageModelOutput", "get_tokenizer"],
    ".chat_models": ["BaseChatModel", "SimpleChatModel"],
    ".fake": ["FakeListLLM", "FakeListLLMError", "FakeStreamingListLLM"],
    ".fake_chat_models": [
        "FakeChatModel",
        "FakeListChatModel",
        "FakeListChatModelError",
        "FakeMessagesListChatModel",
        "GenericFakeChatModel",
        "ParrotFakeChatModel",
    ],
    ".llms": ["LLM", "BaseLLM", "aget_prompts", "aupdate_cache", "get_prompts", "update_cache"],
    ".scripted": ["ModelCall", "ScriptedChatModel"],
    "clew._pool": ["cancel_requested"],
}

__getattr__, __dir__ = attributes(__name__, {name: home for home, names in _HOMES.items() for name in names})
