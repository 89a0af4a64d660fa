import pytest

from clew._kernel.merge import BlockSum, merge_contents, merge_facts, merge_fragments, merge_lists


def test_text_grows_and_names_stay():
    merged = merge_fragments({"text": "a", "id": "1", "type": "t"}, {"text": "b", "id": "1", "type": "t"})
    assert merged == {"text": "ab", "id": "1", "type": "t"}


def test_facts_keep_the_last_value():
    assert merge_facts({"model_name": "m", "n": 1}, {"model_name": "m", "n": 2}) == {"model_name": "m", "n": 2}
    assert merge_facts({"a": "x"}, {"a": ""}) == {"a": "x"}


@pytest.mark.parametrize("a, b", [(1, 2), (1.5, 2.5), (True, False), (None, 3), (1, 2.5), ("a", 1), ({"x": 1}, [1])])
def test_case_004_values_of_any_type_merge_without_an_error(a, b):
    for merge in (merge_facts, merge_fragments):
        merged = merge({"n": a}, {"n": b})
        assert merged["n"] == b and type(merged["n"]) is type(b)


def test_none_never_replaces_a_value():
    assert merge_facts({"a": 1}, {"a": None}) == {"a": 1}
    assert merge_facts({"a": None}, {"a": None}) == {"a": None}


def test_inner_mappings_merge_and_lists_grow():
    assert merge_fragments({"f": {"name": "x", "arguments": "{"}}, {"f": {"arguments": "}"}}) == {
        "f": {"name": "x", "arguments": "{}"}
    }
    assert merge_facts({"logprobs": {"content": [1]}}, {"logprobs": {"content": [2]}}) == {
        "logprobs": {"content": [1, 2]}
    }


def test_the_parts_are_not_changed():
    left, right = {"a": {"b": "1"}, "c": [1]}, {"a": {"b": "2"}, "c": [2]}
    merge_fragments(left, right)
    assert (left, right) == ({"a": {"b": "1"}, "c": [1]}, {"a": {"b": "2"}, "c": [2]})


def test_lists_continue_items_of_one_index():
    merged = merge_lists([{"index": 0, "a": "x"}], [{"index": 1, "a": "y"}], [{"index": 0, "a": "z"}])
    assert merged == [{"index": 0, "a": "xz"}, {"index": 1, "a": "y"}]
    assert merge_lists(["a"], ["b"], [3], None) == ["a", "b", 3]


def test_case_041_blocks_continue_only_blocks_of_their_type():
    total = BlockSum()
    total.extend([{"type": "thinking", "thinking": "t", "index": 0}])
    total.extend([{"type": "text", "text": "hi", "index": 0}])
    total.extend([{"type": "thinking", "thinking": "u", "index": 0}])
    assert total.result() == [
        {"type": "thinking", "thinking": "tu", "index": 0},
        {"type": "text", "text": "hi", "index": 0},
    ]


def test_a_block_without_type_continues_the_latest_of_its_index():
    total = BlockSum()
    total.extend([{"type": "text", "text": "a", "index": 0}, {"text": "b", "index": 0}])
    assert total.result() == [{"type": "text", "text": "ab", "index": 0}]


def test_the_type_may_come_late():
    total = BlockSum()
    total.extend([{"text": "a", "index": 0}, {"type": "text", "text": "b", "index": 0}])
    assert total.result() == [{"text": "ab", "index": 0, "type": "text"}]


def test_block_extras_merge_key_by_key_and_annotations_grow():
    total = BlockSum()
    total.extend([{"type": "reasoning", "reasoning": "a", "index": 0, "extras": {"signature": "S", "n": 1}}])
    total.extend([{"type": "reasoning", "reasoning": "b", "index": 0, "extras": {"signature": "T", "n": 2}}])
    total.extend([{"type": "text", "text": "x", "index": 1, "annotations": [{"type": "citation"}]}])
    total.extend([{"type": "text", "text": "y", "index": 1, "annotations": [{"type": "citation"}]}])
    reasoning, text = total.result()
    assert reasoning == {"type": "reasoning", "reasoning": "ab", "index": 0, "extras": {"signature": "ST", "n": 2}}
    assert text["annotations"] == [{"type": "citation"}] * 2


def test_contents():
    assert merge_contents(["a", "b"]) == "ab"
    assert merge_contents(["", [{"type": "text", "text": "a"}]]) == [{"type": "text", "text": "a"}]
    assert merge_contents(["x", [{"type": "text", "text": "y"}], "z"]) == ["x", {"type": "text", "text": "y"}, "z"]
    assert merge_contents([["a"], "b"]) == ["ab"]
    assert merge_contents([]) == ""
