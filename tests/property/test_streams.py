"""Streams of any shape, broken anywhere: what is handed on, summed up and carried by the error agree."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ModelConnectionError
from clew.language_models import Partial, ScriptedChatModel
from clew.language_models._check import violations
from clew.messages import AIMessageChunk

TEXT = st.text(min_size=1, max_size=8)


def read(model: Any) -> tuple[list[Any], ModelConnectionError | None]:
    """The chunks of a stream and the error that ended it."""
    chunks: list[Any] = []
    try:
        for chunk in model.stream("x"):
            chunks.append(chunk)  # noqa: PERF402 - what came before the error counts
    except ModelConnectionError as error:
        return chunks, error
    return chunks, None


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12), st.data())
def test_a_stream_cut_anywhere_carries_exactly_what_came(pieces: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(pieces)))
    chunks, error = read(ScriptedChatModel(script=[[*pieces[:cut], ModelConnectionError("cut"), *pieces[cut:]]]))
    assert error is not None and [chunk.content for chunk in chunks] == pieces[:cut]
    assert (error.partial.content if error.partial is not None else "") == "".join(pieces[:cut])


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12))
def test_streamed_equals_whole(pieces: list[str]) -> None:
    model = ScriptedChatModel(script=[list(pieces)])
    chunks, error = read(model)
    assert error is None
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert total.content == "".join(pieces) == model.invoke("x").content == model.invoke("x", stream=True).content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def fits_so_far(part: Any, whole: Any) -> bool:
    """Whether a partial value is a beginning of the whole one."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and fits_so_far(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(fits_so_far(a, b) for a, b in zip(part, whole, strict=False))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return part == whole and type(part) is type(whole)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4), st.data())
def test_partial_objects_are_beginnings_of_the_whole(value: dict[str, Any], data: st.DataObject) -> None:
    import json

    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edges = [0, *cuts, len(text)]
    pieces: list[Any] = [AIMessageChunk(text[a:b]) for a, b in itertools.pairwise(edges)]
    chain = ScriptedChatModel(script=[pieces]).with_structured_output(
        {"title": "t", "type": "object"}, method="json_mode"
    )
    *parts, last = chain.stream("x")
    assert last == value and type(last) is dict
    for part in parts:
        assert type(part) is Partial and fits_so_far(dict(part), value)


@given(JSON)
def test_every_value_fits_the_schema_of_its_own_shape(value: Any) -> None:
    def shape(value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            parts = {key: shape(item) for key, item in value.items()}
            return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
        if isinstance(value, list):
            return {"type": "array", "prefixItems": [shape(item) for item in value], "maxItems": len(value)}
        return {"const": value}

    assert violations(value, shape(value)) == []
    assert violations({"extra": value}, {**shape({}), "properties": {}}) != []


def test_an_empty_stream_is_no_stream() -> None:
    with pytest.raises(ValueError, match="without a single chunk"):
        list(ScriptedChatModel(script=[[]]).stream("x"))
