"""Embedding models by name."""

from __future__ import annotations

from typing import Any

import pytest

from clew.embeddings import LocalEmbeddings, init_embeddings


@pytest.mark.parametrize(
    ("name", "given", "kind", "model"),
    [
        ("openai:text-embedding-3-small", {}, "OpenAIEmbeddings", "text-embedding-3-small"),
        ("text-embedding-3-large", {}, "OpenAIEmbeddings", "text-embedding-3-large"),
        ("ollama:nomic-embed-text", {}, "OllamaEmbeddings", "nomic-embed-text"),
        ("nomic", {"provider": "ollama"}, "OllamaEmbeddings", "nomic"),
        ("gemini-embedding-001", {}, "GoogleGenerativeAIEmbeddings", "gemini-embedding-001"),
        ("mistral:mistral-embed", {}, "OpenAIEmbeddings", "mistral-embed"),
    ],
)
def test_names_tell_provider_and_model(name: str, given: Any, kind: str, model: str) -> None:
    made: Any = init_embeddings(name, **given)
    assert type(made).__name__ == kind and made.model == model


def test_local_models_have_names_too() -> None:
    assert isinstance(init_embeddings("local:minilm"), LocalEmbeddings)
    assert isinstance(init_embeddings("static"), LocalEmbeddings)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("mystery", "not plain"), ("nobody:x", "unknown model provider"), ("anthropic:x", "no embedding")],
)
def test_other_names_are_refused(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        init_embeddings(name)
