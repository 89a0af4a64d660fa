"""Recall by words, by meaning and by age together.

Words lead (BM25 is the main signal: it finds names, numbers and rare terms that vectors blur), nearness of meaning adds
what was said in other words, and newer documents win between equals. The scores of each signal are brought to 0 to 1
and added with weights; fusing by rank alone, all signals equal, measured worse on conversations.
"""

from __future__ import annotations

import math
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from clew.documents import Document
from clew.retrievers import BaseRetriever
from clew.vectorstores.base import VectorStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.messages import BaseMessage

__all__ = ["HybridRetriever"]

_DAY = 86_400.0


class HybridRetriever(BaseRetriever):
    """Find documents of a store that can be searched by words as well (InMemory, SQLite, PGVector).

    vectorstore: the store. k: documents to return. fetch_k: candidates of each signal. weights: of "words", "meaning"
    and "age"; a weight of 0 leaves the signal out. half_life_days: age at which "age" has fallen by half. time_key:
    metadata that holds when a document was written: seconds since 1970, or a date as ISO text. filter: as in
    VectorStore.
    Raises: ValueError when the store can't be searched by words.
    """

    vectorstore: VectorStore
    k: int = 4
    fetch_k: int = 50
    weights: dict[str, float] = Field(default_factory=lambda: {"words": 0.6, "meaning": 0.3, "age": 0.1})
    half_life_days: float = 30.0
    time_key: str = "time"
    filter: Any = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        unknown = set(self.weights) - {"words", "meaning", "age"}
        if unknown:
            raise ValueError(f"weights are of words, meaning and age, not of {sorted(unknown)}")
        if not hasattr(self.vectorstore, "keyword_search_with_score"):
            raise ValueError(f"{type(self.vectorstore).__name__} can't be searched by words")
        return self

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.search_with_scores(query, **kwargs)]

    def search_with_scores(
        self, query: str, *, k: int | None = None, filter: Any = None
    ) -> list[tuple[Document, float]]:
        """Return the k best documents with their fused scores, 0 to the sum of the weights, best first."""
        wanted = filter if filter is not None else self.filter
        store: Any = self.vectorstore
        signals: dict[str, list[tuple[Document, float]]] = {}
        if self.weights.get("words"):
            signals["words"] = store.keyword_search_with_score(query, self.fetch_k, filter=wanted)
        if self.weights.get("meaning"):
            signals["meaning"] = store.similarity_search_with_score(query, self.fetch_k, filter=wanted)
        found: dict[str, Document] = {}
        scores: dict[str, float] = {}
        for name, pairs in signals.items():
            for key, document, score in _scaled(pairs, floor=0.0 if name == "words" else None):
                found[key] = document
                scores[key] = scores.get(key, 0.0) + self.weights[name] * score
        for key, document in found.items():
            scores[key] += self.weights.get("age", 0.0) * self._freshness(document)
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])[: self.k if k is None else k]
        return [(found[key], score) for key, score in ranked]

    def add_turn(
        self,
        messages: Sequence[BaseMessage],
        *,
        before: Sequence[BaseMessage] = (),
        when: float | None = None,
        **metadata: Any,
    ) -> list[str]:
        """Store a turn with its date and the end of the turn before it; return the ids.

        before: the messages before this turn. when: seconds since 1970, now unless given. metadata: of the document.
        """
        seconds = time.time() if when is None else when
        kept = {self.time_key: seconds, **metadata}
        return self.vectorstore.add_documents(
            [Document(page_content=turn_text(messages, seconds, before), metadata=kept)]
        )

    def _freshness(self, document: Document) -> float:
        seconds = _seconds(document.metadata.get(self.time_key))
        if seconds is None:
            return 0.0
        return math.pow(0.5, max(time.time() - seconds, 0.0) / (self.half_life_days * _DAY))


def turn_text(messages: Sequence[BaseMessage], when: float, before: Sequence[BaseMessage] = ()) -> str:
    """Return what is indexed of a turn: its date, the end of the turn before, and its own lines.

    A question such as "and what about Tuesday?" is only found with what it refers to, and "last March" with a date.
    """
    from clew.messages import get_buffer_string

    date = datetime.fromtimestamp(when).astimezone()
    lines = [f"[{date:%Y-%m-%d %A %B}]"]
    if before:
        lines.append(get_buffer_string(list(before[-2:])))
    return "\n".join([*lines, get_buffer_string(list(messages))])


def _scaled(pairs: list[tuple[Document, float]], floor: float | None) -> list[tuple[str, Document, float]]:
    """Bring scores to 0 to 1: the best is 1, the floor (the worst, unless given) is 0."""
    if not pairs:
        return []
    top = max(score for _, score in pairs)
    low = min(score for _, score in pairs) if floor is None else floor
    span = top - low
    return [
        (document.id or document.page_content, document, (score - low) / span if span > 0 else 1.0)
        for document, score in pairs
    ]


def _seconds(value: Any) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return None
