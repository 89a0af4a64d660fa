"""Count tokens with the model's own tokenizer when it is at hand, else by an estimate that says so.

Nothing is fetched.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self

from clew.usage._estimate import estimate_tokens

if TYPE_CHECKING:
    import os

# Prefix of a model's name -> its vocabulary; the longest prefix counts.
_VOCABULARIES = {
    "gpt-": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt-4-": "cl100k_base",
    "gpt-4.": "o200k_base",
    "gpt-4o": "o200k_base",
    "gpt-3.5": "cl100k_base",
    "gpt-35": "cl100k_base",
    "chatgpt-": "o200k_base",
    "o1": "o200k_base",
    "o3": "o200k_base",
    "o4": "o200k_base",
    "text-embedding-": "cl100k_base",
}
_registered: dict[str, Tokenizer] = {}


class Tokenizer(Protocol):
    """Turns a text into token ids."""

    def encode(self, text: str, /) -> Any:
        """Return the ids, or an object that has them as `ids`."""
        ...


class TokenCount(int):
    """A number of tokens; `is_estimate` tells whether the model's own tokenizer counted."""

    is_estimate: bool

    def __new__(cls, tokens: int, *, is_estimate: bool = False) -> Self:
        """Return tokens as an int with its mark."""
        self = super().__new__(cls, tokens)
        self.is_estimate = is_estimate
        return self


def count_tokens(text: str, model: str | None = None) -> TokenCount:
    """Return how many tokens a model reads in a text.

    model: its name, as "gpt-4o-mini". With no tokenizer for it (see `tokenizer_for`) the count is an estimate.
    """
    tokenizer = tokenizer_for(model)
    if tokenizer is None:
        return TokenCount(estimate_tokens(text), is_estimate=True)
    return TokenCount(len(encode(tokenizer, text)))


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text, for any kind of tokenizer."""
    ordinary = getattr(tokenizer, "encode_ordinary", None)  # text like "<|endoftext|>" is text here
    ids = ordinary(text) if ordinary is not None else tokenizer.encode(text)
    return list(getattr(ids, "ids", ids))


def tokenizer_for(model: str | None) -> Tokenizer | None:
    """Return the tokenizer of a model, or None when it is not known or not installed.

    OpenAI's vocabularies come with the extra `tokens`; others are registered with `register_tokenizer`.
    """
    if not model:
        return None
    name = model.rpartition("/")[2].lower()
    for prefix in sorted(_registered, key=len, reverse=True):
        if name.startswith(prefix) or model.lower().startswith(prefix):
            return _registered[prefix]
    prefix = max((known for known in _VOCABULARIES if name.startswith(known)), key=len, default=None)
    return _vocabulary(_VOCABULARIES[prefix]) if prefix else None


def register_tokenizer(prefix: str, tokenizer: Tokenizer | str | os.PathLike[str]) -> None:
    """Use a tokenizer for all models whose name begins with a prefix.

    tokenizer: an object with `encode(text)`, or the path of a `tokenizer.json` (read by the package `tokenizers`).
    Raises: MissingDependencyError when a path is given and that package is missing.
    """
    import os

    if isinstance(tokenizer, (str, os.PathLike)):
        from clew._lazy import need

        library = need("tokenizers", "tokens", "register_tokenizer")
        tokenizer = _WithoutSpecials(library.Tokenizer.from_file(os.fspath(tokenizer)))
    _registered[prefix.lower()] = tokenizer


class _WithoutSpecials:
    """A `tokenizers.Tokenizer` that adds nothing to the text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str, /) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)


@lru_cache(maxsize=4)
def _vocabulary(name: str) -> Tokenizer | None:
    import importlib

    for module in ("quicktok", "tiktoken"):
        try:
            library = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        if module == "tiktoken" and not _has_ranks_on_disk():
            continue  # it would download them
        return library.get_encoding(name)
    return None


def _has_ranks_on_disk() -> bool:
    import os

    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    return bool(folder and os.path.isdir(folder) and os.listdir(folder))
