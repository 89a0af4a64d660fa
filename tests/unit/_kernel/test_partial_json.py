import json

import pytest

from clew._kernel.partial_json import parse_json, parse_partial_json


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": 12, "b": "x', {"a": 12, "b": "x"}),
        ('{"a": tru', {}),
        ('{"a": true', {"a": True}),
        ("[1, null", [1, None]),
        ("[1, 2", [1]),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": {"b": [1, {"c": "d', {"a": {"b": [1, {"c": "d"}]}}),
        ('"abc', "abc"),
        ('{"a": "b\\', {"a": "b"}),
        ('{"a": "b\\u12', {"a": "b"}),
        ('{"a": "b\\ud83d', {"a": "b"}),
        ('{"a": "b\\ud83d\\ude0', {"a": "b"}),
        ('{"a": "b\\\\', {"a": "b\\"}),
        ('{"a": "b" , ', {"a": "b"}),
        ('{"a": "two\nlines', {"a": "two\nlines"}),
        ("{}", {}),
        ("7", 7),
    ],
)
def test_what_is_certain_is_read(text, value):
    assert parse_partial_json(text) == value


@pytest.mark.parametrize("text", ["", "tr", "}", "[}", "nonsense", '{"a": }}', ","])
def test_nothing_certain_is_an_error(text):
    with pytest.raises(ValueError):
        parse_partial_json(text)


def test_strict_takes_whole_json_only():
    assert parse_partial_json('{"a": 1}', strict=True) == {"a": 1}
    with pytest.raises(ValueError):
        parse_partial_json('{"a": "b', strict=True)


def test_every_cut_of_a_text_is_a_part_of_it():
    value = {"a": 1234567, "b": '中文 "q" \\ \u2028 \U0001f600', "c": [1.5, {"d": None}], "e": {}, "f": [[], [True]]}
    for ascii in (True, False):
        text = json.dumps(value, ensure_ascii=ascii)
        for cut in range(1, len(text)):
            part = parse_partial_json(text[:cut])
            assert part.get("a", 1234567) == 1234567
            assert value["b"].startswith(part.get("b", ""))


def test_deep_nesting_is_an_error_and_no_crash():
    with pytest.raises(ValueError):
        parse_partial_json("[" * 100_000)


def test_numbers_of_any_size():
    assert parse_json("[18446744073709551616, 1e400]") == [2**64, float("inf")]
