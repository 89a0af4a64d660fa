"""Any value made of known types survives a round trip, exactly."""

from __future__ import annotations

import collections
import datetime
import math
import string
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from clew._serde import decode, encode
from clew.errors import DeserializationError

atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.binary(max_size=20), st.uuids(), st.dates(),
    st.text(st.characters(exclude_categories=())), st.complex_numbers(allow_nan=False), st.decimals(allow_nan=False),
    st.datetimes(timezones=st.none() | st.just(datetime.UTC)), st.timedeltas(), st.fractions(),
    st.times(),
)  # fmt: skip
keys = st.one_of(
    st.text(string.printable, max_size=5), st.integers(), st.none(), st.booleans(), st.tuples(st.integers(), st.text())
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(collections.deque),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4).map(collections.OrderedDict),
        st.dictionaries(keys, inner, max_size=4).map(lambda one: collections.defaultdict(list, one)),
        st.frozensets(st.integers() | st.text(), max_size=4),
        st.sets(st.tuples(st.integers()), max_size=4),
    ),
    max_leaves=20,
)


def shape(value: Any) -> Any:
    """The types of a value and of everything in it, with what == does not see."""
    if isinstance(value, dict):
        return type(value), [(shape(key), shape(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [shape(one) for one in value]
    if isinstance(value, float):
        return float, math.copysign(1, value)
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(repr(one) for one in value)
    return type(value), getattr(value, "fold", None), str(getattr(value, "tzinfo", None))


@given(values)
@settings(max_examples=300, deadline=None)
def test_a_round_trip_changes_nothing(value: Any) -> None:
    stored = encode(value)
    got = decode(stored)
    assert got == value
    assert shape(got) == shape(value)
    assert encode(got) == stored  # sets too: equal values have equal bytes, in every process


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_value_or_a_named_error(data: bytes) -> None:
    try:
        value = decode(data)
    except DeserializationError:
        return
    encode(value)


@given(values, st.data())
@settings(max_examples=150, deadline=None)
def test_a_flipped_byte_never_raises_anything_else(value: Any, data: st.DataObject) -> None:
    stored = bytearray(encode(value))
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    try:
        decode(bytes(stored))
    except DeserializationError:
        return
