"""Deltas: any two encodings turn into each other, and growing values cost what was added."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clew import _serde
from clew.checkpoint import _delta

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=30,
)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes(old: bytes, new: bytes) -> None:
    splices = _delta.unpack(_delta.pack(_delta.diff(old, new)))
    assert _delta.apply(bytearray(old), splices) == new


@given(st.lists(VALUES, min_size=1, max_size=8))
def test_a_chain_of_values(values: list[Any]) -> None:
    raws = [_serde.encode(value) for value in values]
    bodies = [raws[0]]
    for old, new in itertools.pairwise(raws):
        bodies.append(_delta.pack(_delta.diff(old, new)))
    assert _delta.join(bodies) == raws[-1]


def test_an_appended_item_costs_its_own_size() -> None:
    item = {"role": "user", "content": "x" * 100}
    for wrap in (lambda items: items, lambda items: {"a": 1, "messages": items, "n": len(items), "z": [1, 2]}):
        for count in (5, 15, 16, 300, 70_000 // 300):
            old = _serde.encode(wrap([item] * count))
            new = _serde.encode(wrap([item] * (count + 1)))
            assert len(_delta.pack(_delta.diff(old, new))) < len(_serde.encode(item)) + 80
