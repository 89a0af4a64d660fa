"""Structured output: an object or an error, whole and streamed."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
from models import Ears, Plain
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from clew.errors import ModelRefusalError, OutputParserException
from clew.language_models import Partial, ScriptedChatModel
from clew.language_models._check import violations
from clew.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage

Call = Callable[..., Any]


class P(BaseModel):
    """A point."""

    a: int = Field(ge=0)
    b: str = ""


class T(TypedDict):
    """A point."""

    a: int


@dataclasses.dataclass
class D:
    """A point."""

    a: int


SCHEMA = {
    "title": "P",
    "description": "A point.",
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0}},
    "required": ["a"],
}


def calling(*arguments: Any, name: str = "P", content: str = "") -> AIMessage:
    calls: Any = [{"name": name, "args": each, "id": f"c{i}"} for i, each in enumerate(arguments)]
    return AIMessage(content, tool_calls=calls)


@pytest.mark.parametrize(
    ("schema", "name", "expected"), [(P, "P", P(a=1)), (T, "T", {"a": 1}), (D, "D", D(a=1)), (SCHEMA, "P", {"a": 1})]
)
@pytest.mark.parametrize("method", ["function_calling", "json_mode", "json_schema", "prompted"])
def test_every_kind_of_schema_by_every_method(schema: Any, name: str, expected: Any, method: str, call: Call) -> None:
    reply = calling({"a": 1}, name=name) if method == "function_calling" else '```json\n{"a": 1}\n```'
    model = ScriptedChatModel(script=[reply])
    out = call(model.with_structured_output(schema, method=method), "invoke", "q")
    assert out == expected and type(out) is type(expected)
    asked = model.calls[0]
    if method == "function_calling":
        assert asked.kwargs["tool_choice"] == name and asked.kwargs["tools"][0]["function"]["name"] == name
    elif method == "json_mode":
        assert asked.kwargs == {"response_format": {"type": "json_object"}}
    else:
        form = asked.kwargs["response_format"]["json_schema"]
        assert form["name"] == name and "a" in form["schema"]["properties"]
    assert isinstance(asked.messages[0], SystemMessage) is (method == "prompted")


@pytest.mark.parametrize("schema", [P, T, D, SCHEMA])
@pytest.mark.parametrize("wrong", [{}, {"a": "many"}, {"a": None}])
def test_values_that_do_not_fit_are_errors(schema: Any, wrong: Any) -> None:
    name = "P" if schema is SCHEMA else schema.__name__
    model = ScriptedChatModel(script=[calling(wrong, name=name)])
    with pytest.raises(OutputParserException, match=f"no valid {name}"):
        model.with_structured_output(schema).invoke("q")


@pytest.mark.parametrize("method", ["bogus", "", "JSON_MODE"])
def test_unknown_methods_are_refused_before_any_call(method: str) -> None:
    model = ScriptedChatModel()
    with pytest.raises(ValueError, match="Unsupported method"):
        model.with_structured_output(P, method=method)
    assert model.calls == []


@pytest.mark.parametrize("schema", [5, None, "P", [P]])
def test_what_describes_no_object_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match="schema"):
        ScriptedChatModel().with_structured_output(schema)


@pytest.mark.parametrize("method", ["function_calling", "json_mode", "json_schema", "prompted"])
def test_case_035_text_is_an_error_and_never_none(method: str, call: Call) -> None:
    chain = ScriptedChatModel(script=["I would rather not."]).with_structured_output(P, method=method)
    with pytest.raises(OutputParserException) as caught:
        call(chain, "invoke", "q")
    assert caught.value.llm_output == "I would rather not."
    raw = ScriptedChatModel(script=["no"]).with_structured_output(P, method=method, include_raw=True)
    out = call(raw, "invoke", "q")
    assert out["parsed"] is None and isinstance(out["parsing_error"], OutputParserException) and out["raw"].text == "no"


@pytest.mark.parametrize(
    "refusal",
    [
        AIMessage("", additional_kwargs={"refusal": "I can't."}),
        AIMessage([{"type": "refusal", "refusal": "I can't."}]),
        AIMessage("I can't.", response_metadata={"stop_reason": "refusal"}),
    ],
)
def test_case_035_a_refusal_has_an_error_of_its_own(refusal: AIMessage) -> None:
    model = ScriptedChatModel(script=[refusal])
    with pytest.raises(ModelRefusalError, match="I can't"):
        model.with_structured_output(P, reask=3).invoke("q")
    assert len(model.calls) == 1, "the model said no: it is not asked again"
    out = model.with_structured_output(P, include_raw=True).invoke("q")
    assert isinstance(out["parsing_error"], ModelRefusalError)


def test_case_037_two_calls_are_an_error_that_shows_both(call: Call) -> None:
    chain = ScriptedChatModel(script=[calling({"a": 1}, {"a": 2})]).with_structured_output(P)
    with pytest.raises(OutputParserException, match="2 times"):
        call(chain, "invoke", "q")


def test_a_call_of_another_tool_or_with_broken_arguments_says_so() -> None:
    with pytest.raises(OutputParserException, match="it called other"):
        ScriptedChatModel(script=[calling({}, name="other")]).with_structured_output(P).invoke("q")
    broken = AIMessage(
        "", invalid_tool_calls=[{"name": "P", "args": '{"a":', "id": "1", "error": None, "type": "invalid_tool_call"}]
    )
    with pytest.raises(OutputParserException, match="no JSON object"):
        ScriptedChatModel(script=[broken]).with_structured_output(P).invoke("q")


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "done_reason"])
def test_an_answer_cut_by_the_token_limit_is_an_error(key: str) -> None:
    cut = AIMessage('{"a": 1}', response_metadata={key: "length"})
    with pytest.raises(OutputParserException, match="length"):
        ScriptedChatModel(script=[cut]).with_structured_output(P, method="json_schema").invoke("q")


def test_include_raw_makes_one_call(call: Call) -> None:
    model = ScriptedChatModel(script=[calling({"a": 1})])
    out = call(model.with_structured_output(P, include_raw=True), "invoke", "q")
    assert out["parsed"] == P(a=1) and out["parsing_error"] is None and len(model.calls) == 1


def test_a_faulty_answer_is_sent_back_with_the_fault(call: Call) -> None:
    model = ScriptedChatModel(script=[calling({"a": -1}, {"a": 2}), "text", calling({"a": 5})])
    assert call(model.with_structured_output(P, reask=2), "invoke", "q") == P(a=5)
    second, third = model.calls[1].messages, model.calls[2].messages
    assert [message.type for message in second] == ["human", "ai", "tool", "tool"]
    assert [message.tool_call_id for message in second if isinstance(message, ToolMessage)] == ["c0", "c1"]
    assert [message.type for message in third][4:] == ["ai", "human"]
    with pytest.raises(OutputParserException):
        ScriptedChatModel(script=["no"]).with_structured_output(P, reask=1).invoke("q")
    with pytest.raises(ValueError, match="negative"):
        model.with_structured_output(P, reask=-1)


def test_reask_keeps_the_callers_messages_as_they_are() -> None:
    mine = [HumanMessage("q")]
    ScriptedChatModel(script=["no", calling({"a": 1})]).with_structured_output(P, reask=1).invoke(mine)
    assert mine == [HumanMessage("q")]


def fragments(text: str, *cuts: int) -> list[AIMessageChunk]:
    """A streamed call of P, its arguments cut at some places."""
    out: list[AIMessageChunk] = []
    for number, (start, end) in enumerate(zip((0, *cuts), (*cuts, len(text)), strict=True)):
        piece: Any = {
            "name": None if number else "P",
            "args": text[start:end],
            "id": None if number else "c",
            "index": 0,
            "type": "tool_call_chunk",
        }
        out.append(AIMessageChunk("", tool_call_chunks=[piece]))
    return out


async def collected(chain: Any) -> list[Any]:
    return [item async for item in chain.astream("q")]


def test_case_038_partial_objects_are_typed_as_such_and_hold_nothing_uncertain() -> None:
    text = json.dumps({"a": 1234567, "b": '中文 "q" \\'}, ensure_ascii=False)
    for cut in range(1, len(text)):
        chain = ScriptedChatModel(script=[fragments(text, cut)]).with_structured_output(P)
        for out in (list(chain.stream("q")), asyncio.run(collected(chain))):
            assert out[-1] == P.model_validate_json(text)
            for part in out[:-1]:
                assert type(part) is Partial
                assert part.get("a", 1234567) == 1234567
                assert json.loads(text)["b"].startswith(part.get("b", ""))


def test_partials_grow_and_are_not_repeated() -> None:
    text = '{"a": 1, "b": "hello world"}'
    chain = ScriptedChatModel(script=[fragments(text, *range(1, len(text)))]).with_structured_output(P)
    *parts, last = chain.stream("q")
    assert last == P(a=1, b="hello world")
    assert all(one != other for one, other in itertools.pairwise(parts)) and len(parts) > 3


def test_a_dict_schema_streams_partials_and_ends_with_a_plain_dict() -> None:
    model = ScriptedChatModel(script=[['{"a": 1', "2}"]])
    *parts, last = model.with_structured_output(SCHEMA, method="json_schema").stream("q")
    assert type(last) is dict and last == {"a": 12} and all(type(part) is Partial for part in parts)


def test_a_faulty_stream_is_asked_again() -> None:
    model = ScriptedChatModel(script=[fragments('{"a": -1}'), fragments('{"a": 5}')])
    assert list(model.with_structured_output(P, reask=1).stream("q"))[-1] == P(a=5)
    with pytest.raises(OutputParserException):
        list(ScriptedChatModel(script=[fragments('{"a": -1}')]).with_structured_output(P).stream("q"))


def test_streamed_with_raw_there_is_one_item() -> None:
    model = ScriptedChatModel(script=[fragments('{"a": 1}', 3)])
    (out,) = model.with_structured_output(P, include_raw=True).stream("q")
    assert out["parsed"] == P(a=1) and type(out["raw"]) is AIMessage


def test_reading_a_long_streamed_object_costs_in_proportion_to_its_length() -> None:
    def parses(size: int) -> int:
        text = json.dumps({"a": 1, "b": "word " * size})
        chain: Any = ScriptedChatModel(script=[fragments(text, *range(5, len(text), 5))]).with_structured_output(P)
        read = 0
        original = type(chain).partial

        def counted(self: Any, text: str) -> Any:
            nonlocal read
            read += len(text)
            return original(self, text)

        type(chain).partial = counted
        try:
            list(chain.stream("q"))
        finally:
            type(chain).partial = original
        return read

    assert parses(4000) <= 10 * parses(400) * 2, "characters read; quadratic would be 100 times as many"


def test_the_run_of_the_model_is_a_child_of_the_runs_own() -> None:
    from clew.callbacks import BaseCallbackHandler

    class Tree(BaseCallbackHandler):
        def __init__(self) -> None:
            self.parents: dict[str, Any] = {}

        def on_chain_start(
            self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **kw: Any
        ) -> None:
            self.parents["chain"] = (run_id, parent_run_id)

        def on_chat_model_start(
            self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **kw: Any
        ) -> None:
            self.parents["model"] = (run_id, parent_run_id)

    tree = Tree()
    ScriptedChatModel(script=[calling({"a": 1})]).with_structured_output(P).invoke("q", {"callbacks": [tree]})
    assert tree.parents["chain"][1] is None and tree.parents["model"][1] == tree.parents["chain"][0]


# -- models that can't call tools ---------------------------------------------------------------------------


class Toolless(ScriptedChatModel):
    """A model whose provider takes no tools."""

    native_tools = False


def weather(place: str) -> str:
    """Weather of a place."""
    return place


def clock(zone: Literal["utc", "local"] = "utc") -> str:
    """The time."""
    return zone


def test_a_model_without_tools_writes_its_call_as_json(call: Call) -> None:
    model = Toolless(script=['{"tool": "weather", "args": {"place": "北京"}}', '{"answer": "It is sunny."}'])
    bound = model.bind_tools([weather, clock])
    first = call(bound, "invoke", "q")
    (made,) = first.tool_calls
    assert made["name"] == "weather" and made["args"] == {"place": "北京"} and made["id"] and first.content == ""
    schema = model.calls[0].kwargs["response_format"]["json_schema"]["schema"]
    assert len(schema["anyOf"]) == 3 and schema["anyOf"][-1]["required"] == ["answer"]
    assert "tools" not in model.calls[0].kwargs and "Weather of a place." in model.calls[0].messages[0].text
    second = call(
        bound, "invoke", [HumanMessage("q"), first, ToolMessage("sunny", tool_call_id=made["id"], name="weather")]
    )
    assert second.content == "It is sunny." and second.tool_calls == []
    shown = [(message.type, message.text) for message in model.calls[1].messages[1:]]
    assert shown[1][0] == "ai" and '"tool": "weather"' in shown[1][1]
    assert shown[2] == ("human", "Result of weather: sunny")


def test_the_choice_of_tool_shapes_the_schema() -> None:
    def schema(choice: Any) -> Any:
        return Toolless().bind_tools([weather, clock], tool_choice=choice).schema  # type: ignore[attr-defined]

    assert len(schema("any")["anyOf"]) == 2
    assert schema("clock")["properties"]["tool"] == {"const": "clock"}
    assert schema({"name": "clock"}) == schema("clock")
    with pytest.raises(ValueError, match="none of the tools"):
        schema("other")
    model = Toolless(script=["plain"])
    assert model.bind_tools([weather], tool_choice="none").invoke("q").content == "plain"
    assert model.calls[0].kwargs == {}


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"tool": "other", "args": {}}', '{"tool": "weather", "args": 1}'])
def test_an_answer_that_is_none_of_the_choices_is_an_error(text: str) -> None:
    with pytest.raises(OutputParserException):
        Toolless(script=[text]).bind_tools([weather]).invoke("q")


def test_a_model_without_tools_is_prompted_by_default() -> None:
    model = Toolless(script=['{"a": 3}'])
    assert model.with_structured_output(P).invoke([("system", "Be brief."), ("user", "q")]) == P(a=3)
    first = model.calls[0].messages[0]
    assert isinstance(first, SystemMessage) and first.text.startswith("Be brief.") and '"minimum": 0' in first.text
    by_tool = Toolless(script=['{"tool": "P", "args": {"a": 4}}'])
    assert by_tool.with_structured_output(P, method="function_calling").invoke("q") == P(a=4)


# -- the check of plain schemas -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 2.0], ["1", True, 1.5, None]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", True]),
        ({"const": 1}, [1], [True, 2]),
        ({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2}, [[1]], [[], [1, 2, 3], ["a"]]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1]], [[1], ["a", "b"]]),
        ({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a"}, ["ab"], ["a", "abcd", "bb"]),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 2, "multipleOf": 0.5}, [0.5, 1.5], [0, 2, 0.3]),
        ({"maximum": 3}, [3], [4]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"additionalProperties": {"type": "string"}}, [{"x": "y"}], [{"x": 1}]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [None]),
        ({"oneOf": [{"minimum": 0}, {"maximum": 10}]}, [-1, 11], [5]),
        ({"allOf": [{"type": "integer"}, {"minimum": 2}]}, [2], [1, "a"]),
        ({"$defs": {"x": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}, [{"a": 1}], [{"a": "b"}]),
        (True, [1, None], []),
        (False, [], [1]),
    ],
)
def test_plain_schemas_are_checked(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if violations(value, schema)] == []
    assert [value for value in bad if not violations(value, schema)] == []


def test_a_fault_names_its_place() -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["b"]}
    assert violations({"a": [1, "x"]}, schema) == ["$: 'b' is missing", "$.a[1]: 'x' is not of type integer"]


def test_plain_models_need_nothing_of_their_own() -> None:
    assert Plain(reply=calling({"a": 1})).with_structured_output(P).invoke("q", {"callbacks": [Ears()]}) == P(a=1)


def test_what_was_bound_before_stays_bound(call: Call) -> None:
    from clew.callbacks import BaseCallbackHandler

    class Ear(BaseCallbackHandler):
        heard = 0

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            self.heard += 1

    ear = Ear()
    model = ScriptedChatModel(script=[calling({"a": 1})])
    first = model.bind(stop=["x"], seed=1).with_config(callbacks=[ear])
    for chain in (first.bind_tools([weather]), first.with_structured_output(P)):
        call(chain, "invoke", "q")
        assert model.calls[-1].stop == ["x"] and model.calls[-1].kwargs["seed"] == 1
        assert model.calls[-1].kwargs["tools"]
    assert ear.heard == 2


def test_a_prompted_call_streams_as_one_chunk_with_the_call_in_it() -> None:
    bound = Toolless(script=['{"tool": "clock", "args": {}}']).bind_tools([clock])
    for chunks in (list(bound.stream("q")), asyncio.run(collected(bound))):
        (chunk,) = chunks
        assert type(chunk) is AIMessageChunk and chunk.tool_calls[0]["name"] == "clock"
