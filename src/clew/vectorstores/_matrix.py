"""Vectors in one float32 matrix, searched by one product.

Rows are scaled to length 1 when they come in, so a search is `rows @ query`. The matrix grows by doubling; a deleted
row is masked and swept out once the dead outnumber the living, so order of insertion is kept and decides ties.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew._lazy import need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["VectorMatrix", "diverse"]


class VectorMatrix:
    """Vectors by key. Safe to use from many threads: a search sees the matrix of the moment when it began."""

    def __init__(self, what: str) -> None:
        self._np = need("numpy", "embeddings", what)
        self._lock = threading.Lock()
        self._keys: list[Any] = []
        self._place: dict[Any, int] = {}
        self._rows: Any = None
        self._alive: Any = None
        self._dead = 0

    def __len__(self) -> int:
        return len(self._place)

    def add(self, keys: Sequence[Any], vectors: Any) -> None:
        """Add rows; a key that is there already gets the new vector, at the end.

        Raises: ValueError when the vectors' length is not that of the others.
        """
        fresh = self._unit(self._np.asarray(vectors, dtype=self._np.float32))
        if fresh.ndim != 2 or len(fresh) != len(keys):
            raise ValueError(f"{len(keys)} texts but vectors of shape {fresh.shape}: the embedding model is at fault")
        with self._lock:
            self._drop(keys)
            start = len(self._keys)
            self._reserve(start + len(keys), fresh.shape[1])
            self._rows[start : start + len(keys)] = fresh
            self._alive[start : start + len(keys)] = True
            self._keys.extend(keys)
            for place, key in enumerate(keys, start):
                if key in self._place:  # twice in one call: the last one counts
                    self._alive[self._place[key]] = False
                    self._dead += 1
                self._place[key] = place

    def delete(self, keys: Iterable[Any]) -> None:
        """Delete rows; keys that are not there are passed over."""
        with self._lock:
            self._drop(keys)
            if self._dead > len(self._place):
                self._sweep()

    def clear(self) -> None:
        """Delete all rows, overwriting them."""
        with self._lock:
            if self._rows is not None:
                self._rows.fill(0)
            self._keys, self._place, self._rows, self._alive, self._dead = [], {}, None, None, 0

    def vectors(self, keys: Sequence[Any]) -> Any:
        """Return the rows of keys that are there, each of length 1."""
        with self._lock:
            return self._rows[[self._place[key] for key in keys]].copy()

    def nearest(self, vector: Any, k: int, accept: Callable[[Any], bool] | None = None) -> list[tuple[Any, float]]:
        """Return the k keys with the highest cosine, best first; with `accept`, of those that it accepts."""
        np = self._np
        with self._lock:
            keys, n = self._keys, len(self._keys)
            if not n or k <= 0:
                return []
            rows, alive = self._rows[:n], self._alive[:n].copy() if self._dead else None
        query = self._unit(np.asarray(vector, dtype=np.float32)[None])[0]
        if len(query) != rows.shape[1]:
            raise ValueError(f"a query of {len(query)} dimensions against vectors of {rows.shape[1]}")
        scores = rows @ query
        if alive is not None:
            scores[~alive] = -np.inf
        found: list[tuple[Any, float]] = []
        for place in self._best(scores, k if accept is None else n):
            score = float(scores[place])
            if score == float("-inf"):
                break
            if accept is None or accept(keys[place]):
                found.append((keys[place], score))
                if len(found) == k:
                    break
        return found

    def _best(self, scores: Any, k: int) -> Iterator[int]:
        """Yield places by falling score, equal ones in order of insertion."""
        np = self._np
        if k < len(scores):
            bar = np.partition(scores, len(scores) - k)[len(scores) - k]  # the k-th best: ties at it are all kept
            places = np.flatnonzero(scores >= bar)
            yield from places[np.argsort(-scores[places], kind="stable")].tolist()
        else:
            yield from np.argsort(-scores, kind="stable").tolist()

    def _unit(self, rows: Any) -> Any:
        np = self._np
        return rows / np.maximum(np.sqrt(np.einsum("...i,...i->...", rows, rows))[..., None], 1e-12)

    def _reserve(self, n: int, width: int) -> None:
        np = self._np
        if self._rows is None:
            self._rows = np.zeros((max(n, 64), width), np.float32)
            self._alive = np.zeros(len(self._rows), bool)
        elif self._rows.shape[1] != width:
            raise ValueError(f"vectors of {width} dimensions among vectors of {self._rows.shape[1]}")
        elif n > len(self._rows):
            size = max(n, 2 * len(self._rows))
            rows, alive = np.zeros((size, width), np.float32), np.zeros(size, bool)
            rows[: len(self._keys)] = self._rows[: len(self._keys)]
            alive[: len(self._keys)] = self._alive[: len(self._keys)]
            self._rows, self._alive = rows, alive

    def _drop(self, keys: Iterable[Any]) -> None:
        for key in keys:
            place = self._place.pop(key, None)
            if place is not None:
                self._alive[place] = False
                self._dead += 1

    def _sweep(self) -> None:
        places = self._np.flatnonzero(self._alive[: len(self._keys)])
        self._keys = [self._keys[place] for place in places.tolist()]
        self._rows, self._alive = self._rows[places], self._alive[places]
        self._place = {key: place for place, key in enumerate(self._keys)}
        self._dead = 0


def diverse(query: Any, candidates: Any, k: int, lambda_mult: float) -> list[int]:
    """Choose k rows that are near a query and unlike each other (maximal marginal relevance).

    query: a vector; candidates: rows of length 1, nearest first. Returns places in the order of choice.
    Source: Carbonell and Goldstein, 1998. Cost: O(k · n).
    """
    np = need("numpy", "embeddings", "a search for variety")
    if not len(candidates):
        return []
    query = np.asarray(query, dtype=np.float32)
    near = candidates @ (query / max(float(np.linalg.norm(query)), 1e-12))
    like = np.full(len(candidates), -np.inf, np.float32)  # nearness to the nearest one that is chosen
    chosen: list[int] = []
    while len(chosen) < min(k, len(candidates)):
        worth = lambda_mult * near - (1 - lambda_mult) * (like if chosen else 0.0)
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
        like = np.maximum(like, candidates @ candidates[chosen[-1]])
    return chosen
