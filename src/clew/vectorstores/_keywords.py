"""An index of words with BM25 scores.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from typing import TYPE_CHECKING

from clew.vectorstores._segment import segment

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KeywordIndex"]

_K1, _B = 1.2, 0.75


class KeywordIndex:
    """Texts by key, found by their words. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}
        self._holders: dict[str, dict[str, int]] = {}
        self._lengths: dict[str, int] = {}
        self._total = 0

    def add(self, key: str, text: str) -> None:
        """Add a text; a key that is there already gets the new one."""
        counts = Counter(segment(text, singles=True))
        with self._lock:
            self._remove(key)
            self._counts[key] = counts
            self._lengths[key] = length = counts.total()
            self._total += length
            for word, times in counts.items():
                self._holders.setdefault(word, {})[key] = times

    def remove(self, key: str) -> None:
        """Remove a text."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: str) -> None:
        counts = self._counts.pop(key, None)
        if counts is None:
            return
        self._total -= self._lengths.pop(key)
        for word in counts:
            holders = self._holders[word]
            del holders[key]
            if not holders:
                del self._holders[word]

    def search(self, query: str, k: int, accept: Callable[[str], bool] | None = None) -> list[tuple[str, float]]:
        """Return the k keys that share most with a query's words, best first; those that share nothing are left out."""
        with self._lock:
            if not self._counts or k <= 0:
                return []
            average = self._total / len(self._counts) or 1.0
            scores: dict[str, float] = {}
            for word in set(segment(query)):
                holders = self._holders.get(word, {})
                rarity = math.log(1 + (len(self._counts) - len(holders) + 0.5) / (len(holders) + 0.5))
                for key, times in holders.items():
                    weight = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * self._lengths[key] / average))
                    scores[key] = scores.get(key, 0.0) + rarity * weight
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])
        if accept is not None:
            ranked = [pair for pair in ranked if accept(pair[0])]
        return ranked[:k]
