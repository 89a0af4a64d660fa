"""Scores for searches: cosine over vectors, BM25 over words.

Vectors are packed float32, of length one, so that a score is a dot product. numpy is used when it is installed and the
search is large enough to gain by it.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_LARGE = 64  # vectors from which numpy pays for its import
_K1, _B = 1.2, 0.75


def pack_vector(vector: Sequence[float]) -> bytes:
    """Return a vector scaled to length one, as packed float32 (4 bytes per dimension)."""
    length = math.sqrt(math.fsum(x * x for x in vector)) or 1.0
    return array("f", [x / length for x in vector]).tobytes()


def cosines(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Return the cosine of the query with each vector."""
    if len(vectors) >= _LARGE:
        np: Any = _numpy()
        if np is not None:
            matrix = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(len(vectors), -1)
            return (matrix @ np.frombuffer(query, dtype=np.float32)).tolist()
    wanted = array("f", query)
    return [math.fsum(a * b for a, b in zip(wanted, array("f", one), strict=True)) for one in vectors]


def _numpy() -> Any:
    try:
        import numpy
    except ModuleNotFoundError:
        return None
    return numpy


def words(text: str) -> list[str]:
    """Return the words of a text, lower case; scripts without spaces give one word per character."""
    return _WORD.findall(text.casefold())


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text answers the query, 0 when they share no word. O(total words)."""
    wanted = set(words(query))
    counted = [Counter(words(text)) for text in texts]
    lengths = [sum(one.values()) for one in counted]
    average = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
    scores = [0.0] * len(texts)
    for word in wanted:
        holders = sum(1 for one in counted if word in one)
        if not holders:
            continue
        weight = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        for index, one in enumerate(counted):
            times = one.get(word, 0)
            if times:
                norm = _K1 * (1 - _B + _B * lengths[index] / average)
                scores[index] += weight * times * (_K1 + 1) / (times + norm)
    return scores
