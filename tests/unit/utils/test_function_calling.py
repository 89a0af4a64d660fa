import dataclasses
import functools
import json
import typing
from typing import Annotated, Any, Literal, Optional

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from clew.utils.function_calling import (
    convert_to_json_schema,
    convert_to_openai_function,
    convert_to_openai_tool,
    dereference_refs,
    tool_example_to_messages,
)


class Point(BaseModel):
    """A point."""

    x: int = Field(description="east")
    y: Optional[int] = Field(default=0, description="north")  # noqa: UP045 - as people write it


class Line(BaseModel):
    """A line."""

    points: list[Point]
    title: str = "x"


class Tree(BaseModel):
    """A tree."""

    children: list["Tree"] = []


def weather(location: str, unit: Literal["C", "F"] = "C", days: list[int] | None = None) -> str:
    """Weather of a place.

    Args:
        location: name
        unit: scale
    """
    return location


def properties(thing, **kwargs):
    return convert_to_openai_function(thing, **kwargs)["parameters"]["properties"]


def test_functions():
    out = convert_to_openai_tool(weather)
    assert out["type"] == "function" and out["function"]["name"] == "weather"
    assert out["function"]["description"] == "Weather of a place."
    assert out["function"]["parameters"]["required"] == ["location"]
    assert properties(weather)["unit"] == {"type": "string", "enum": ["C", "F"], "default": "C", "description": "scale"}


def test_functions_with_odd_arguments():
    def odd(_hidden: int, schema: str = "s", model_config: int = 1, *args: Any, **more: Any) -> None:
        """Odd."""

    assert list(properties(odd)) == ["_hidden", "schema", "model_config"]
    assert convert_to_openai_function(odd)["parameters"]["required"] == ["_hidden"]


def test_partials_methods_and_locals():
    class Local(BaseModel):
        a: int

    def outer(item: Local, n: int) -> None:
        """Outer."""

    assert list(properties(functools.wraps(outer)(functools.partial(outer, n=1)))) == ["item", "n"]

    class Service:
        def look(self, q: str) -> str:
            """Look."""
            return q

    assert list(properties(Service().look)) == ["q"]


def test_pydantic_classes():
    out = convert_to_openai_function(Line)
    assert out["name"] == "Line" and out["description"] == "A line."
    assert "$ref" not in json.dumps(out) and "title" in out["parameters"]["properties"]
    assert out["parameters"]["properties"]["points"]["items"]["properties"]["x"] == {
        "type": "integer",
        "description": "east",
    }


def test_recursive_classes_keep_what_they_need():
    parameters = convert_to_openai_function(Tree)["parameters"]
    assert parameters["$defs"]["Tree"]["properties"]["children"]["type"] == "array"


@pytest.mark.parametrize("base", [typing.TypedDict, typing_extensions.TypedDict])
def test_typed_dicts(base):
    Inner = base("Inner", {"n": int})
    Given = base(
        "Given",
        {
            "a": Annotated[int, ..., "an a"],
            "b": Annotated[str, "x", "a b"],
            "c": typing_extensions.NotRequired[int],
            "d": list[Inner],
        },
    )
    Given.__doc__ = "Given.\n\nArgs:\n    c: a c"
    out = convert_to_openai_function(Given)
    assert out["description"] == "Given." and out["parameters"]["required"] == ["a", "d"]
    props = out["parameters"]["properties"]
    assert props["a"] == {"type": "integer", "description": "an a"} and props["b"]["default"] == "x"
    assert props["c"]["description"] == "a c" and props["d"]["items"]["properties"] == {"n": {"type": "integer"}}


def test_dataclasses():
    @dataclasses.dataclass
    class Given:
        """Given."""

        a: int
        b: list[Point] = dataclasses.field(default_factory=list, metadata={"description": "points"})

    out = convert_to_openai_function(Given)
    assert out["description"] == "Given." and out["parameters"]["required"] == ["a"]
    assert out["parameters"]["properties"]["b"]["description"] == "points"

    @dataclasses.dataclass
    class Bare:
        a: int

    assert convert_to_openai_function(Bare)["description"] == ""


def test_dicts_of_many_forms():
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    expected = {"name": "f", "description": "d", "parameters": parameters}
    assert convert_to_openai_function({"name": "f", "description": "d", "parameters": parameters}) == expected
    assert convert_to_openai_function({"type": "function", "function": expected}) == expected
    assert convert_to_openai_function({"name": "f", "description": "d", "input_schema": parameters}) == expected
    assert (
        convert_to_openai_function({"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": parameters}}})
        == expected
    )
    assert convert_to_openai_function({"title": "f", "description": "d", **parameters}) == expected
    assert convert_to_openai_function({"name": "f"}) == {"name": "f"}


def test_a_given_dict_is_not_changed():
    given = {"title": "f", "type": "object", "properties": {"a": {"type": "string", "title": "A"}}}
    before = json.dumps(given)
    convert_to_openai_tool(given, strict=True)
    assert json.dumps(given) == before


def test_openai_tools_pass_as_they_are():
    for given in (
        {"type": "web_search"},
        {"type": "function", "function": {"name": "f"}},
        {"type": "mcp", "server_url": "x"},
    ):
        assert convert_to_openai_tool(given) is given


@pytest.mark.parametrize("bad", [5, "weather", None, 1.5, {}, {"a": 1}, int, lambda x: x])
def test_other_things_are_refused(bad):
    with pytest.raises(ValueError):
        convert_to_openai_tool(bad)


def test_strict_schemas_are_closed():
    out = convert_to_openai_function(Line, strict=True)
    assert out["strict"] is True
    parameters = out["parameters"]
    assert parameters["additionalProperties"] is False and parameters["required"] == ["points", "title"]
    point = parameters["properties"]["points"]["items"]
    assert point["additionalProperties"] is False and point["required"] == ["x", "y"]
    assert "default" not in json.dumps(parameters)
    assert convert_to_openai_function(Line, strict=False)["strict"] is False
    assert "strict" not in convert_to_openai_function(Line)
    with pytest.raises(ValueError, match="strict"):
        convert_to_openai_function({"name": "f", "parameters": {}, "strict": True}, strict=False)


def test_json_schema():
    schema = convert_to_json_schema(Point)
    assert schema["title"] == "Point" and schema["description"] == "A point." and schema["required"] == ["x"]


def test_dereferencing():
    schema = {"properties": {"a": {"$ref": "#/$defs/x~1y", "description": "d"}}, "$defs": {"x/y": {"type": "string"}}}
    assert dereference_refs(schema) == {"properties": {"a": {"type": "string", "description": "d"}}}
    for ref in ("#/nowhere", "other.json#/x"):
        with pytest.raises(ValueError):
            dereference_refs({"a": {"$ref": ref}})


def test_examples_as_messages():
    messages = tool_example_to_messages("q", [Point(x=1)], ai_response="done")
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai"]
    assert (
        messages[1].tool_calls[0]["args"] == {"x": 1, "y": 0}
        and messages[2].tool_call_id == messages[1].tool_calls[0]["id"]
    )
