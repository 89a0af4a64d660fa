"""Chat models and embeddings over the wires of providers; SDKs are imported at the first call."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.providers.anthropic import ChatAnthropic
    from clew.providers.google import ChatGemini, ChatGoogleGenerativeAI, ChatVertexAI, GoogleGenerativeAIEmbeddings
    from clew.providers.local import ChatLocal
    from clew.providers.ollama import ChatOllama, OllamaEmbeddings
    from clew.providers.openai import AzureChatOpenAI, ChatOpenAI, OpenAI, OpenAIEmbeddings

__all__ = [
    "AzureChatOpenAI",
    "ChatAnthropic",
    "ChatGemini",
    "ChatGoogleGenerativeAI",
    "ChatLocal",
    "ChatOllama",
    "ChatOpenAI",
    "ChatVertexAI",
    "GoogleGenerativeAIEmbeddings",
    "OllamaEmbeddings",
    "OpenAI",
    "OpenAIEmbeddings",
]

_HOMES = {
    ".anthropic": ["ChatAnthropic"],
    ".google": ["ChatGemini", "ChatGoogleGenerativeAI", "ChatVertexAI", "GoogleGenerativeAIEmbeddings"],
    ".local": ["ChatLocal"],
    ".ollama": ["ChatOllama", "OllamaEmbeddings"],
    ".openai": ["AzureChatOpenAI", "ChatOpenAI", "OpenAI", "OpenAIEmbeddings"],
}

__getattr__, __dir__ = attributes(__name__, {name: home for home, names in _HOMES.items() for name in names})
