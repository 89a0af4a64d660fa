"""Merging is associative: how a stream is grouped does not change what it says."""

import functools
import json
import operator

from hypothesis import given, settings
from hypothesis import strategies as st

from clew._kernel.merge import merge_contents, merge_facts, merge_fragments
from clew._kernel.partial_json import close_json, parse_partial_json
from clew._kernel.usage import fold_usage
from clew.messages import AIMessageChunk
from clew.messages.ai import add_ai_message_chunks

texts = st.text(alphabet='ab{}"中 ', max_size=4)
json_scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=6)
)
json_values = st.recursive(
    json_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)

# Each key has one type from part to part, as merging promises.
mappings = st.fixed_dictionaries(
    {},
    optional={
        "reasoning_content": texts,
        "id": texts,
        "count": st.integers(),
        "ratio": st.floats(allow_nan=False),
        "flag": st.booleans(),
        "nothing": st.none(),
        "inner": st.dictionaries(st.sampled_from(["x", "y"]), texts),
        "items": st.lists(st.integers(), max_size=2),
    },
)
blocks = st.one_of(
    texts.filter(bool),
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(
        lambda kind, index, text: {"type": kind, kind: text, "index": index},
        st.sampled_from(["text", "thinking"]),
        st.sampled_from([0, 1, "a"]),
        texts,
    ),
)
contents = texts | st.lists(blocks, max_size=3)


@st.composite
def fragment_streams(draw):
    """Streams of tool calls as providers send them: a call is opened by name and id, then continued."""
    stream = []
    for number in range(draw(st.integers(1, 3))):
        index = draw(st.sampled_from([0, 1]))
        head = {"name": f"f{number}", "args": draw(texts), "id": f"c{number}", "index": index}
        stream.append([head])
        for _ in range(draw(st.integers(0, 3))):
            id = draw(st.sampled_from([None, "", "null", f"c{number}"]))
            stream.append([{"name": None, "args": draw(texts), "id": id, "index": index}])
    return stream


usages = st.builds(
    lambda i, o: {"input_tokens": i, "output_tokens": o, "total_tokens": i + o}, st.integers(0, 99), st.integers(0, 99)
)


@st.composite
def chunk_streams(draw):
    return [
        AIMessageChunk(
            draw(contents),
            additional_kwargs=draw(mappings),
            response_metadata=draw(mappings),
            tool_call_chunks=fragments,
            id=draw(st.sampled_from([None, "lc_1", "lc_run-2", "own"])),
            usage_metadata=draw(st.none() | usages),
            usage_mode=draw(st.sampled_from(["delta", "running", "final"])),
        )
        for fragments in draw(fragment_streams())
    ]


def folds(add, parts, cut):
    """The sum from the left, from the right, and of two halves."""
    left = functools.reduce(add, parts)
    right = functools.reduce(lambda total, part: add(part, total), reversed(parts[:-1]), parts[-1])
    cut = min(max(cut, 1), len(parts) - 1) if len(parts) > 1 else 0
    halves = add(functools.reduce(add, parts[:cut]), functools.reduce(add, parts[cut:])) if cut else left
    return left, right, halves


@given(st.lists(mappings, min_size=1, max_size=5), st.integers(0, 5))
def test_mappings(parts, cut):
    for merge in (merge_fragments, merge_facts):
        left, right, halves = folds(merge, parts, cut)
        assert left == right == halves == merge(*parts) or len(parts) == 1


@given(st.lists(contents, min_size=1, max_size=5), st.integers(0, 5))
def test_contents(parts, cut):
    left, right, halves = folds(lambda a, b: merge_contents([a, b]), parts, cut)
    assert left == right == halves
    if len(parts) > 1:
        assert left == merge_contents(parts)


@given(
    st.lists(st.tuples(usages, st.sampled_from(["delta", "running", "final"])), min_size=1, max_size=5),
    st.integers(0, 5),
)
def test_usage(parts, cut):
    left, right, halves = folds(lambda a, b: fold_usage([a, b]), parts, cut)
    assert left == right == halves == fold_usage(parts)


@settings(deadline=None)
@given(chunk_streams(), st.integers(0, 9))
def test_chunks(parts, cut):
    left, right, halves = folds(operator.add, parts, cut)
    nary = add_ai_message_chunks(parts[0], *parts[1:])
    if len(parts) > 1:
        assert left == right == halves == nary


@settings(deadline=None)
@given(chunk_streams(), st.data())
def test_reading_in_between_changes_nothing(parts, data):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
        if data.draw(st.booleans()):
            _ = (total.content, total.tool_calls)
    assert total == add_ai_message_chunks(parts[0], *parts[1:]) or len(parts) == 1


@settings(deadline=None)
@given(chunk_streams())
def test_a_sum_can_be_branched(parts):
    half = functools.reduce(operator.add, parts)
    one, two = half + AIMessageChunk("one"), half + AIMessageChunk("two")
    whole = list(parts)
    assert one == add_ai_message_chunks(whole[0], *whole[1:], AIMessageChunk("one"))
    assert two == add_ai_message_chunks(whole[0], *whole[1:], AIMessageChunk("two"))


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4), st.booleans(), st.data())
def test_cut_json_is_closed_to_a_part_of_the_whole(value, ascii, data):
    text = json.dumps(value, ensure_ascii=ascii)
    assert parse_partial_json(text) == value
    cut = data.draw(st.integers(1, len(text)))
    part = parse_partial_json(text[:cut])
    assert is_part(part, value)


def is_part(part, whole):
    """Whether a cut value says nothing that the whole one doesn't."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(k in whole and is_part(v, whole[k]) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) <= len(whole) and all(map(is_part, part, whole))
    if isinstance(part, str):
        return isinstance(whole, str) and whole.startswith(part)
    return type(part) is type(whole) and part == whole


@given(st.text(max_size=30))
def test_closing_any_text_never_fails(text):
    closed = close_json(text)
    assert closed is None or isinstance(closed, str)
