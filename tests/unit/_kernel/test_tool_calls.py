import pytest

from clew._kernel.tool_calls import ToolCallSum, parse_arguments, split_calls


def piece(name=None, args=None, id=None, index=0, **more):
    return {"name": name, "args": args, "id": id, "index": index, **more}


def merged(*fragments):
    total = ToolCallSum()
    total.extend(fragments)
    return [(call["name"], call["args"], call["id"], call["index"]) for call in total.result()]


def test_fragments_merge_by_index():
    assert merged(piece("f", '{"a"', "1"), piece(args=": 1}"), piece("g", "{}", "2", 1)) == [
        ("f", '{"a": 1}', "1", 0),
        ("g", "{}", "2", 1),
    ]


def test_case_005_a_continuation_goes_to_the_latest_call_of_its_index():
    assert merged(piece("f", '{"a":', "1"), piece("g", '{"b":', "2"), piece(args="2}")) == [
        ("f", '{"a":', "1", 0),
        ("g", '{"b":2}', "2", 0),
    ]


@pytest.mark.parametrize("filler", ["", None, "null", "None", "undefined"])
def test_case_007_placeholder_ids_are_no_ids(filler):
    assert merged(piece("f", "{", "x"), piece(args="}", id=filler)) == [("f", "{}", "x", 0)]


def test_case_007_a_fresh_id_on_every_fragment_splits_nothing():
    assert merged(piece("f", "{", "x1"), piece(args='"a":1', id="x2"), piece(args="}", id="x3")) == [
        ("f", '{"a":1}', "x1", 0)
    ]


def test_late_names_and_ids_are_taken_up():
    assert merged(piece("f", ""), piece(id="x"), piece(args="{}")) == [("f", "{}", "x", 0)]
    assert merged(piece(id="x"), piece("f"), piece(args="{}")) == [("f", "{}", "x", 0)]


def test_a_repeated_name_and_id_is_the_same_call():
    assert merged(piece("f", "{", "x"), piece("f", "}", "x")) == [("f", "{}", "x", 0)]
    assert merged(piece("f", "{"), piece("f", "}")) == [("f", "{}", None, 0)]


def test_whole_calls_without_ids_under_one_index_stay_apart():
    assert merged(piece("f", '{"a":1}'), piece("f", '{"a":2}'), piece("g", "{}")) == [
        ("f", '{"a":1}', None, 0),
        ("f", '{"a":2}', None, 0),
        ("g", "{}", None, 0),
    ]


def test_calls_without_index():
    assert merged(piece("f", "{}", "1", None), piece("f", "{}", "2", None)) == [
        ("f", "{}", "1", None),
        ("f", "{}", "2", None),
    ]
    assert merged(piece("f", "{", "1", None), piece(args="}", index=None)) == [("f", "{}", "1", None)]
    assert merged(piece("f", "{", "1", None), piece("g", "{", "2", None), piece(args="}", id="1", index=None)) == [
        ("f", "{}", "1", None),
        ("g", "{", "2", None),
    ]


def test_a_known_id_decides_where_calls_of_one_index_are_mixed():
    assert merged(piece("f", "{", "1"), piece("g", "{", "2"), piece(args="}", id="1"), piece(args="1", id="2")) == [
        ("f", "{}", "1", 0),
        ("g", "{1", "2", 0),
    ]


def test_case_043_provider_data_of_a_fragment_is_kept():
    total = ToolCallSum()
    total.extend(
        [piece("f", "{", "1", extras={"thought_signature": "c2ln/+8="}), piece(args="}", type="tool_call_chunk")]
    )
    (call,) = total.result()
    assert call["extras"] == {"thought_signature": "c2ln/+8="}
    assert split_calls([call], is_final=False)[0][0]["extras"] == {"thought_signature": "c2ln/+8="}


@pytest.mark.parametrize(
    "text", ['{"amount": 10', '{"to": "Ali', '{"list": [1, 2', "{", "", None, "[]", "1", '"x"', "null"]
)
def test_case_008_only_a_closed_object_is_arguments(text):
    assert parse_arguments(text) is None
    assert split_calls([piece("pay", text, "1")], is_final=False) == ([], [])


def test_case_010_illegal_escapes_keep_the_raw_text():
    raw = '{"path": "C:\\Users\\new"}'
    calls, invalid = split_calls([piece("open", raw, "1")], is_final=True)
    assert calls == [] and invalid[0]["args"] == raw


def test_raw_newlines_and_big_numbers_are_read():
    assert parse_arguments('{"text": "a\nb"}') == {"text": "a\nb"}
    assert parse_arguments('{"n": 1180591620717411303424}') == {"n": 2**70}


def test_nothing_in_the_end_means_no_arguments():
    assert split_calls([piece("f", "", "1")], is_final=True)[0] == [
        {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
    ]
    assert split_calls([piece(None, "{}", "1")], is_final=True)[1][0]["error"] == "the call has no name"
