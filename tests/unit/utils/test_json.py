import pytest

from clew.errors import OutputParserException
from clew.utils.json import parse_and_check_json_markdown, parse_json_markdown


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        'Sure!\n```json\n{"a": 1}\n```\nBye.',
        'Here: {"a": 1}',
        'Here: {"a": 1} as you asked.',
        '```json\n{"a": 1}',
    ],
)
def test_json_in_text(text):
    assert parse_json_markdown(text) == {"a": 1}


def test_fences_inside_strings():
    assert parse_json_markdown('```json\n{"code": "```py\\nx\\n```"}\n```') == {"code": "```py\nx\n```"}


@pytest.mark.parametrize("text", ["", "no json", "```json\n```"])
def test_no_json(text):
    with pytest.raises(ValueError):
        parse_json_markdown(text)


def test_expected_keys():
    assert parse_and_check_json_markdown('{"a": 1}', ["a"]) == {"a": 1}
    for text in ('{"b": 1}', "[1]", "x"):
        with pytest.raises(OutputParserException):
            parse_and_check_json_markdown(text, ["a"])
