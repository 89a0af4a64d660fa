import asyncio
import json

import pytest
from pydantic import BaseModel, Field

from clew.errors import ModelRefusalError, OutputParserException
from clew.messages import AIMessage, AIMessageChunk, HumanMessage
from clew.output_parsers import (
    BaseOutputParser,
    BaseTransformOutputParser,
    CommaSeparatedListOutputParser,
    JsonKeyOutputFunctionsParser,
    JsonOutputFunctionsParser,
    JsonOutputKeyToolsParser,
    JsonOutputParser,
    JsonOutputToolsParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    PydanticOutputFunctionsParser,
    PydanticOutputParser,
    PydanticToolsParser,
    StrOutputParser,
    XMLOutputParser,
)
from clew.output_parsers.json import diff_operations
from clew.output_parsers.openai_tools import parse_tool_calls, raise_if_refused
from clew.outputs import ChatGeneration, Generation


class P(BaseModel):
    """A point."""

    a: int = Field(ge=0)
    b: str = ""


def streamed(parser, *pieces):
    out = list(parser.transform(iter(pieces)))

    async def source():
        for piece in pieces:
            yield piece

    async def collect():
        return [item async for item in parser.atransform(source())]

    assert asyncio.run(collect()) == out
    return out


def test_text(call):
    parser = StrOutputParser()
    blocks = AIMessage([{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "x"}])
    assert call(parser, "invoke", blocks) == "x" and call(parser, "invoke", "y") == "y"
    assert call(parser, "invoke", blocks, {"tags": ["t"]}) == "x"
    assert streamed(parser, AIMessageChunk("a"), AIMessageChunk([{"type": "text", "text": "b"}]), "c") == [
        "a",
        "b",
        "c",
    ]
    assert parser.parse_result([Generation(text="z")]) == "z"
    with pytest.raises(TypeError):
        parser.invoke(5)


def test_own_parsers(call):
    class Length(BaseOutputParser[int]):
        def parse(self, text):
            return len(text)

    assert call(Length(), "invoke", AIMessage("abc")) == 3 and call(Length(), "parse", "ab") == 2

    class Upper(BaseTransformOutputParser[str]):
        def parse(self, text):
            return text.upper()

    assert streamed(Upper(), "a", AIMessageChunk("b")) == ["A", "B"]

    class Loud(StrOutputParser):
        def parse(self, text):
            return text + "!"

    assert Loud().invoke(AIMessage("a")) == "a!" and streamed(Loud(), "a") == ["a!"]


def test_json(call):
    parser = JsonOutputParser()
    assert call(parser, "invoke", AIMessage('```json\n{"a": [1]}\n```')) == {"a": [1]}
    with pytest.raises(OutputParserException) as caught:
        call(parser, "invoke", "not json")
    assert caught.value.llm_output == "not json"
    with pytest.raises(OutputParserException):
        parser.invoke('{"a": 1')
    assert "JSON" in parser.get_format_instructions()
    assert "north" not in JsonOutputParser(pydantic_object=P).get_format_instructions()
    assert '"minimum": 0' in JsonOutputParser(pydantic_object=P).get_format_instructions()


def test_case_038_streamed_json_shows_no_half_numbers():
    pieces = ['{"a": 1', "2, ", '"b": "x', 'y"', ', "c": tr', "ue", "}"]
    assert streamed(JsonOutputParser(), *pieces) == [
        {},
        {"a": 12},
        {"a": 12, "b": "x"},
        {"a": 12, "b": "xy"},
        {"a": 12, "b": "xy", "c": True},
    ]
    assert streamed(JsonOutputParser(), AIMessageChunk("[1"), AIMessageChunk(", 2]")) == [[], [1, 2]]


def test_json_patches():
    pieces = ['{"a": "x', 'y", "l": [1', ", {", '"k": null}]}']
    patches = streamed(JsonOutputParser(diff=True), *pieces)
    assert patches[0] == [{"op": "replace", "path": "", "value": {"a": "x"}}]
    assert patches[-1][-1] == {"op": "add", "path": "/l/1/k", "value": None}
    assert diff_operations({"a/b": 1, "x": 1}, {"a/b": 2}) == [
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/a~1b", "value": 2},
    ]
    assert diff_operations([1, 2], [1]) == [{"op": "replace", "path": "", "value": [1]}] and diff_operations(1, 1) == []


def test_pydantic(call):
    parser = PydanticOutputParser(pydantic_object=P)
    assert call(parser, "invoke", AIMessage('{"a": 3}')) == P(a=3)
    assert parser.OutputType is P and '"minimum": 0' in parser.get_format_instructions()
    for bad in ('{"a": -1}', '{"a": "x"}', "[]", "nope"):
        with pytest.raises(OutputParserException):
            call(parser, "invoke", bad)


def test_case_038_streamed_objects_are_whole():
    assert streamed(PydanticOutputParser(pydantic_object=P), '{"a": 1', "2}") == [P(a=12)]


def test_lists():
    assert CommaSeparatedListOutputParser().invoke('a, "b, c" ,d') == ["a", "b, c", "d"]
    assert CommaSeparatedListOutputParser().invoke("一，二，三") == ["一", "二", "三"]
    assert NumberedListOutputParser().invoke("1. a\n\n2. b\nx") == ["a", "b"]
    assert MarkdownListOutputParser().invoke("- a\n* b\ntext") == ["a", "b"]
    assert streamed(CommaSeparatedListOutputParser(), "a, b", "c, ", AIMessageChunk("d")) == [["a"], ["bc"], ["d"]]
    assert streamed(NumberedListOutputParser(), "1. a", "b\n2. c\n3", ". d") == [["ab"], ["c"], ["d"]]
    assert streamed(MarkdownListOutputParser(), "- a\n- ", "b\n- c") == [["a"], ["b"], ["c"]]
    for parser in (CommaSeparatedListOutputParser(), NumberedListOutputParser(), MarkdownListOutputParser()):
        assert "foo" in parser.get_format_instructions()


def test_xml():
    parser = XMLOutputParser(tags=["a"])
    assert parser.invoke("Sure:\n```xml\n<a><b>1</b><c/><d>x &amp; y</d></a>\n```") == {
        "a": [{"b": "1"}, {"c": None}, {"d": "x & y"}]
    }
    assert parser.invoke('<?xml version="1.0" encoding="utf-16"?><a>中</a>') == {"a": "中"}
    assert streamed(parser, "Here <a><b>1", "</b><c>", "x</c></", "a> and more <x>") == [
        {"a": [{"b": "1"}]},
        {"a": [{"c": "x"}]},
    ]
    assert "['a']" in parser.get_format_instructions()
    for bad in ("no xml", "<a><b></a>", "<a>", ""):
        with pytest.raises(OutputParserException):
            parser.invoke(bad)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        "<a>&undefined;</a>",
    ],
)
def test_xml_without_doctypes(text):
    with pytest.raises(OutputParserException):
        XMLOutputParser().invoke(text)
    with pytest.raises(OutputParserException):
        list(XMLOutputParser().transform(iter([text])))


CALLS = AIMessage(
    "", tool_calls=[{"name": "P", "args": {"a": 1}, "id": "1"}, {"name": "Q", "args": {"x": 2}, "id": "2"}]
)


def test_tool_calls():
    assert JsonOutputToolsParser().invoke(CALLS) == [{"type": "P", "args": {"a": 1}}, {"type": "Q", "args": {"x": 2}}]
    assert JsonOutputToolsParser(return_id=True, first_tool_only=True).invoke(CALLS) == {
        "type": "P",
        "args": {"a": 1},
        "id": "1",
    }
    assert JsonOutputToolsParser(first_tool_only=True).invoke(AIMessage("x")) is None
    assert JsonOutputToolsParser().invoke(HumanMessage("x")) == []
    assert JsonOutputKeyToolsParser(key_name="Q").invoke(CALLS) == [{"x": 2}]
    assert JsonOutputKeyToolsParser("Q", first_tool_only=True).invoke(CALLS) == {"x": 2}
    assert JsonOutputKeyToolsParser("Q", return_id=True).invoke(CALLS)[0]["id"] == "2"
    with pytest.raises(OutputParserException):
        JsonOutputToolsParser().invoke("text")


def test_tool_calls_that_can_not_be_read_are_errors():
    bad = AIMessage("", invalid_tool_calls=[{"name": "P", "args": "{bad", "id": "1", "error": None}])
    for parser in (JsonOutputToolsParser(), JsonOutputKeyToolsParser("P"), PydanticToolsParser(tools=[P])):
        with pytest.raises(OutputParserException) as caught:
            parser.invoke(bad)
        assert caught.value.llm_output == "{bad"


def test_objects_of_tool_calls():
    parser = PydanticToolsParser(tools=[P])
    assert parser.invoke(AIMessage("", tool_calls=CALLS.tool_calls[:1])) == [P(a=1)]
    assert PydanticToolsParser(tools=[P], first_tool_only=True).invoke(AIMessage("x")) is None
    with pytest.raises(OutputParserException, match="'Q'"):
        parser.invoke(CALLS)
    with pytest.raises(OutputParserException, match="greater than or equal"):
        parser.invoke(AIMessage("", tool_calls=[{"name": "P", "args": {"a": -1}, "id": "1"}]))


def fragments(*texts):
    first = {"name": "P", "args": texts[0], "id": "1", "index": 0}
    rest = [{"name": None, "args": text, "id": None, "index": 0} for text in texts[1:]]
    return [AIMessageChunk("", tool_call_chunks=[piece]) for piece in [first, *rest]]


def test_case_038_streamed_calls_are_never_objects_of_half_values():
    pieces = fragments('{"a": 1', '2, "b": "x', 'y"}')
    assert streamed(PydanticToolsParser(tools=[P], first_tool_only=True), *pieces) == [P(a=12, b="xy")]
    assert streamed(JsonOutputKeyToolsParser("P", first_tool_only=True), *pieces) == [
        {},
        {"a": 12, "b": "x"},
        {"a": 12, "b": "xy"},
    ]


def test_case_038_cut_at_every_byte():
    text = json.dumps({"a": 1234567, "b": '中文 "q" \\ \u2028'}, ensure_ascii=False)
    for cut in range(1, len(text)):
        out = streamed(JsonOutputKeyToolsParser("P", first_tool_only=True), *fragments(text[:cut], text[cut:]))
        assert out[-1] == json.loads(text)
        assert all(part.get("a", 1234567) == 1234567 for part in out)


def test_raw_calls():
    raw = {"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    assert parse_tool_calls([raw]) == [{"name": "f", "args": {"a": 1}, "id": "1", "type": "tool_call"}]
    assert parse_tool_calls([{**raw, "function": {"name": "f", "arguments": ""}}], return_id=False) == [
        {"name": "f", "args": {}}
    ]
    assert parse_tool_calls([{**raw, "function": {"name": "f", "arguments": '{"a": 1, "b": 2'}}], partial=True)[0][
        "args"
    ] == {"a": 1}
    with pytest.raises(OutputParserException, match="f"):
        parse_tool_calls([{**raw, "function": {"name": "f", "arguments": "{bad"}}])


def test_refusals_raise():
    raise_if_refused(AIMessage("fine"))
    for message in (
        AIMessage("", additional_kwargs={"refusal": "I can't"}),
        AIMessage([{"type": "refusal", "refusal": "I can't"}]),
    ):
        with pytest.raises(ModelRefusalError, match="I can't"):
            raise_if_refused(message)


def test_functions():
    message = AIMessage("", additional_kwargs={"function_call": {"name": "P", "arguments": '{"a": 1}'}})
    assert JsonOutputFunctionsParser().invoke(message) == {"a": 1}
    assert JsonOutputFunctionsParser(args_only=False).invoke(message) == {"name": "P", "arguments": {"a": 1}}
    assert JsonKeyOutputFunctionsParser(key_name="a").invoke(message) == 1
    assert PydanticOutputFunctionsParser(pydantic_schema=P).invoke(message) == P(a=1)
    assert PydanticOutputFunctionsParser(pydantic_schema={"P": P}).invoke(message) == P(a=1)
    with pytest.raises(OutputParserException):
        JsonOutputFunctionsParser().invoke(AIMessage("x"))
    with pytest.raises(OutputParserException):
        JsonOutputFunctionsParser().parse_result([ChatGeneration(message=message)] * 2)


def test_runs_are_reported():
    from clew.callbacks import BaseCallbackHandler

    seen = []

    class Handler(BaseCallbackHandler):
        def on_chain_end(self, outputs, **kw):
            seen.append(outputs)

    StrOutputParser().invoke(AIMessage("x"), {"callbacks": [Handler()]})
    list(JsonOutputParser().transform(iter(["{", "}"]), {"callbacks": [Handler()]}))
    assert seen == ["x", {}]
