"""An embedding model by name: "provider:model"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._lazy import resolve

if TYPE_CHECKING:
    from clew.embeddings.base import Embeddings

_CLASSES = {
    "openai": "clew.providers.openai:OpenAIEmbeddings",
    "google_genai": "clew.providers.google:GoogleGenerativeAIEmbeddings",
    "ollama": "clew.providers.ollama:OllamaEmbeddings",
    "local": "clew.embeddings.local:LocalEmbeddings",
}
_PREFIXES = (
    ("text-embedding-", "openai"),
    ("gemini-embedding", "google_genai"),
    ("static", "local"),
    ("minilm", "local"),
)


def init_embeddings(model: str, *, provider: str | None = None, **kwargs: Any) -> Embeddings:
    """Return an embedding model by name.

    model: "provider:model" ("openai:text-embedding-3-small", "local:static"), or a bare name whose provider is given or
        plain from its beginning. Services that speak OpenAI's API are providers too.
    kwargs: for the constructor. Raises: ValueError for an unknown provider, or a name that does not tell its provider.
    """
    find = resolve("clew.providers._table:find")
    name = model
    if provider is None and ":" in model:
        provider, _, name = model.partition(":")
    if provider is None:
        provider = next((owner for start, owner in _PREFIXES if name.startswith(start)), None)
    if provider is None:
        raise ValueError(f'the provider of {model!r} is not plain from its name: write "provider:{model}"')
    if provider == "local":
        return resolve(_CLASSES["local"])(name, **kwargs)
    target, arguments = find(provider)
    found = next((owner for owner, target_of in _chat().items() if target_of == target), provider)
    if found not in _CLASSES:
        raise ValueError(f"{provider!r} has no embedding models here; known: {', '.join(sorted(_CLASSES))}")
    return resolve(_CLASSES[found])(model=name, **arguments, **kwargs)


def _chat() -> dict[str, str]:
    return resolve("clew.providers._table:CLASSES")
