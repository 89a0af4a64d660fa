"""The embedding side of a store: which texts of a value are embedded, by what, on both faces."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from clew._lazy import resolve
from clew.store._paths import get_text_at_path, tokenize_path
from clew.store._rank import pack_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Index:
    """config: {"dims": int, "embed": Embeddings | callable | "provider:model", "fields": list of paths (["$"])}."""

    __slots__ = ("_embed", "dims", "paths")

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.dims: int | None = config.get("dims")
        self.paths = [tokenize_path(path) for path in config.get("fields") or ["$"]]
        embed = config.get("embed")
        if embed is None:
            raise ValueError("a store's index needs embed=: an Embeddings, a function of texts, or 'provider:model'")
        self._embed: Any = resolve("clew.embeddings:init_embeddings")(embed) if isinstance(embed, str) else embed

    def texts(self, value: Mapping[str, Any], index: list[str] | None) -> list[str]:
        """Return the texts of a value that get a vector each."""
        paths = self.paths if index is None else [tokenize_path(path) for path in index]
        return [text for path in paths for text in get_text_at_path(value, path)]

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one packed vector per text, in one call of the embedder."""
        if not texts:
            return []
        documents = getattr(self._embed, "embed_documents", None)
        result = documents(list(texts)) if documents else self._embed(list(texts))
        if inspect.isawaitable(result):
            close = getattr(result, "close", None)
            if close is not None:
                close()
            raise TypeError("this store's embed= is async: use aput, asearch and abatch, or give a blocking one")
        return self._pack(result, texts)

    async def aembed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one packed vector per text; a blocking embedder runs in a worker thread."""
        if not texts:
            return []
        call = getattr(self._embed, "aembed_documents", None)
        if call is None:
            call = getattr(self._embed, "embed_documents", self._embed)
            if not inspect.iscoroutinefunction(call):
                from clew._pool import run_in_executor

                result = await run_in_executor(None, call, list(texts))
                return self._pack(await result if inspect.isawaitable(result) else result, texts)
        result = call(list(texts))
        return self._pack(await result if inspect.isawaitable(result) else result, texts)

    def _pack(self, vectors: Any, texts: Sequence[str]) -> list[bytes]:
        if len(vectors) != len(texts):
            raise ValueError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
        for vector in vectors:
            if self.dims is not None and len(vector) != self.dims:
                raise ValueError(f"the embedder gave {len(vector)} dimensions; the store's index says {self.dims}")
        return [pack_vector(vector) for vector in vectors]


class _Function:
    """A plain function of texts, seen as an Embeddings."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._function(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._function([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        result = self._function(texts)
        return await result if inspect.isawaitable(result) else result

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


def ensure_embeddings(embed: Any) -> Any:
    """Return something with embed_documents and embed_query for an Embeddings, a function or "provider:model"."""
    if isinstance(embed, str):
        return resolve("clew.embeddings:init_embeddings")(embed)
    return embed if hasattr(embed, "embed_documents") else _Function(embed)
