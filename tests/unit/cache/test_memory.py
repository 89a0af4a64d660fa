"""The task cache in memory: bounded, least recently used first."""

from __future__ import annotations

import pytest

from clew.cache.memory import InMemoryCache


def test_the_least_recently_used_goes_first() -> None:
    cache: InMemoryCache[int] = InMemoryCache(maxsize=2)
    one, two, three = ((("n",), name) for name in "123")
    cache.set({one: (1, None), two: (2, None)})
    assert cache.get([one]) == {one: 1}
    cache.set({three: (3, None)})
    assert cache.get([one, two, three]) == {one: 1, three: 3}
    with pytest.raises(ValueError, match="maxsize"):
        InMemoryCache(maxsize=0)
