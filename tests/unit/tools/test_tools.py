import asyncio
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import time
import uuid
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field, ValidationError

from clew.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from clew.documents import Document
from clew.errors import ToolTimeoutError
from clew.messages import AIMessage, ToolMessage
from clew.runnables import RunnableConfig, RunnableLambda
from clew.tools import (
    BaseTool,
    BaseToolkit,
    InjectedToolArg,
    InjectedToolCallId,
    SchemaAnnotationError,
    StructuredTool,
    Tool,
    ToolException,
    convert_runnable_to_tool,
    create_retriever_tool,
    create_schema_from_function,
    render_text_description,
    render_text_description_and_args,
    tool,
)
from clew.utils.function_calling import convert_to_openai_tool


def request(name, args, id="c1"):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


@tool
def search(query: str, top_k: int = 5, lang: Literal["en", "zh"] = "en") -> str:
    """Search the web.

    Args:
        query: what to look for
        top_k: how many
    """
    return f"{query}/{top_k}/{lang}"


def test_what_a_function_says():
    assert isinstance(search, StructuredTool) and search.name == "search"
    assert search.description.startswith("Search the web.") and search.args["query"] == {
        "type": "string",
        "description": "what to look for",
    }
    assert search.args["top_k"] == {"type": "integer", "description": "how many", "default": 5}
    assert convert_to_openai_tool(search)["function"]["parameters"]["required"] == ["query"]
    assert not search.is_single_input


@pytest.mark.parametrize("value", [{"query": "x", "top_k": "3"}, request("search", {"query": "x", "top_k": 3})])
def test_calling(call, value):
    result = call(search, "invoke", value)
    assert result == ("x/3/en" if "query" in value else ToolMessage("x/3/en", tool_call_id="c1", name="search"))


def test_calling_with_a_config_or_listeners_gives_the_same(call):
    assert call(search, "invoke", {"query": "x"}, {"tags": ["t"]}) == "x/5/en"
    assert call(search, "run", {"query": "x"}) == "x/5/en"
    assert call(search, "run", {"query": "x"}, tool_call_id="c7").tool_call_id == "c7"


def test_a_bare_value_for_the_only_argument(call):
    @tool
    def shout(text: str, *, secret: Annotated[int, InjectedToolArg] = 1) -> str:
        """Shout."""
        return text.upper()

    assert call(shout, "invoke", "a") == "A" and shout.is_single_input
    with pytest.raises(ValueError, match="dict"):
        search.invoke("x")


@pytest.mark.parametrize("args", [{}, {"query": 1}, {"query": "x", "lang": "fr"}, {"query": "x", "top_k": "many"}])
def test_bad_arguments(call, args):
    with pytest.raises(ValidationError):
        call(search, "invoke", args)


def test_bad_arguments_can_be_told(call):
    for policy, text in ((True, "top_k"), ("no", "no"), (lambda error: f"{error.error_count()} wrong", "1 wrong")):
        told = search.model_copy(update={"handle_validation_error": policy})
        result = call(told, "invoke", request("search", {"query": "x", "top_k": "many"}))
        assert result.status == "error" and text in result.content and "http" not in result.content


def test_tool_errors(call):
    @tool
    def fail(a: int) -> str:
        """Fail."""
        raise ToolException("out of order")

    with pytest.raises(ToolException) as caught:
        call(fail, "invoke", request("fail", {"a": 1}))
    assert (caught.value.tool, caught.value.call_id) == ("fail", "c1")
    for policy, text in (
        (True, "out of order"),
        ("sorry", "sorry"),
        (lambda error: str(error).upper(), "OUT OF ORDER"),
    ):
        fail.handle_tool_error = policy
        result = call(fail, "invoke", request("fail", {"a": 1}))
        assert (result.content, result.status, result.tool_call_id) == (text, "error", "c1")
        assert call(fail, "invoke", {"a": 1}) == text


def test_other_errors_pass(call):
    @tool(handle_tool_error=True, handle_validation_error=True)
    def fail(a: int) -> str:
        """Fail."""
        raise ZeroDivisionError("x")

    with pytest.raises(ZeroDivisionError):
        call(fail, "invoke", {"a": 1})


def test_names_and_descriptions():
    @tool("own_name", description="Own words.", return_direct=True, extras={"cache_control": {"type": "ephemeral"}})
    def helper(a: Annotated[int, "an a"], b: Annotated[int, Field(description="a b", ge=0)] = 1) -> int:
        return a + b

    assert (helper.name, helper.description, helper.return_direct) == ("own_name", "Own words.", True)
    assert helper.args["a"]["description"] == "an a" and helper.args["b"]["minimum"] == 0
    assert helper.extras == {"cache_control": {"type": "ephemeral"}}
    for bad in (lambda x: x, functools.partial(int)):
        with pytest.raises(ValueError):
            tool(bad)
    with pytest.raises(ValueError, match="description"):

        @tool
        def silent(a: int) -> int:
            return a

    with pytest.raises(ValueError):
        tool(5)


def test_parse_docstring():
    def documented(a: int) -> int:
        """Do it.

        Args:
            a: an a
        """
        return a

    made = tool(parse_docstring=True)(documented)
    assert made.description == "Do it." and made.args["a"]["description"] == "an a"
    documented.__doc__ = "Do it.\n\nArgs:\n    b: no such argument\n"
    with pytest.raises(ValueError, match="'b'"):
        tool(parse_docstring=True)(documented)
    assert tool(parse_docstring=True, error_on_invalid_docstring=False)(documented).description == "Do it."


class Args(BaseModel):
    """Where to go."""

    x: int = Field(description="east")
    y: int = 7


class TypedArgs(TypedDict):
    x: Annotated[int, ..., "east"]
    y: int


@dataclasses.dataclass
class DataArgs:
    x: int
    y: int = 7


@pytest.mark.parametrize("schema", [Args, TypedArgs, DataArgs])
def test_given_schemas(schema):
    @tool("move", args_schema=schema)
    def move(x: int, y: int = 0) -> str:
        """Move."""
        return f"{x},{y}"

    assert move.invoke({"x": "1", "y": 2}) == "1,2"
    if schema is not TypedArgs:
        assert move.invoke({"x": 1}) == "1,7"
    with pytest.raises(ValidationError):
        move.invoke({"x": "east"})


def test_json_schema_as_arguments():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

    @tool(args_schema=schema, description="Move.")
    def move(**kwargs: Any) -> str:
        return str(kwargs)

    assert move.args == {"x": {"type": "integer"}} and move.invoke({"x": 1}) == "{'x': 1}"
    with pytest.raises(TypeError):
        StructuredTool.from_function(lambda x: x, name="n", description="d", args_schema=5)


def test_aliases_in_a_given_schema_are_for_the_model():
    class Short(BaseModel):
        query: str = Field(alias="q")

    @tool(args_schema=Short)
    def look(query: str) -> str:
        """Look."""
        return query

    assert list(look.args) == ["q"] and look.invoke({"q": "x"}) == "x" and look.invoke("y") == "y"


def test_names_that_a_model_can_not_have_reach_the_function():
    @tool
    def odd(_x: int, schema: str, copy: int = 2) -> str:
        """Odd."""
        return f"{_x}{schema}{copy}"

    assert list(odd.args) == ["_x", "schema", "copy"] and odd.invoke({"_x": 1, "schema": "s"}) == "1s2"


def test_injected_arguments(call):
    @tool
    def save(
        text: str, user: Annotated[str, InjectedToolArg], id: Annotated[str, InjectedToolCallId], config: RunnableConfig
    ) -> str:
        """Save."""
        return f"{text} {user} {id} {config['configurable']['k']}"

    assert list(save.args) == ["text"] and list(
        convert_to_openai_tool(save)["function"]["parameters"]["properties"]
    ) == ["text"]
    assert list(save.tool_call_schema.model_fields) == ["text"]
    assert list(save.args_schema.model_fields) == ["text", "user", "id"]
    result = call(save, "invoke", request("save", {"text": "t", "user": "u"}, "c5"), {"configurable": {"k": "v"}})
    assert result.content == "t u c5 v"
    with pytest.raises(ValueError, match="tool call"):
        call(save, "invoke", {"text": "t", "user": "u"})


def test_optional_config(call):
    @tool
    def show(a: int, config: RunnableConfig | None = None) -> str:
        """Show."""
        return str(sorted(config["tags"]))

    assert call(show, "invoke", {"a": 1}, {"tags": ["t"]}) == "['t']" and call(show, "invoke", {"a": 1}) == "[]"
    assert list(show.args) == ["a"]


def test_async_functions(call):
    @tool
    async def later(a: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return a + 1

    assert asyncio.run(later.ainvoke({"a": 1})) == 2
    with pytest.raises(NotImplementedError, match="ainvoke"):
        later.invoke({"a": 1})
    both = StructuredTool.from_function(
        lambda a: "sync", later.coroutine, name="both", description="d", args_schema=later.args_schema
    )
    assert both.invoke({"a": 1}) == "sync" and asyncio.run(both.ainvoke({"a": 1})) == 2


def test_artifacts(call):
    @tool(response_format="content_and_artifact")
    def draw(n: int) -> Any:
        """Draw."""
        return (f"{n} dots", ["."] * n) if n else "nothing"

    result = call(draw, "invoke", request("draw", {"n": 2}))
    assert (result.content, result.artifact) == ("2 dots", [".", "."]) and call(draw, "invoke", {"n": 2}) == "2 dots"
    with pytest.raises(ValueError, match="pair"):
        call(draw, "invoke", {"n": 0})


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Data:
    a: int


@pytest.mark.parametrize(
    "value, shown",
    [
        ("text", "text"),
        (None, "null"),
        (1.5, "1.5"),
        ({"k": {2, 1}, "d": datetime.date(2026, 1, 2), "n": "北京"}, '{"k": [1, 2], "d": "2026-01-02", "n": "北京"}'),
        ([Args(x=1), Data(2)], '[{"x": 1, "y": 7}, {"a": 2}]'),
        ({"n": float("nan"), "i": float("inf")}, '{"n": "nan", "i": "inf"}'),
        ({(1, 2): "x", datetime.date(2026, 1, 2): 1, 3: 4}, '{"(1, 2)": "x", "2026-01-02": 1, "3": 4}'),
        ((1, b"\x00"), '[1, "AA=="]'),
        (Colour.RED, '"red"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (["a", "b"], '["a", "b"]'),
        ({"type": "text", "text": "x"}, '{"type": "text", "text": "x"}'),
    ],
)  # fmt: skip
def test_case_047_results_are_json(value, shown):
    @tool
    def give() -> Any:
        """Give."""
        return value

    content = give.invoke(request("give", {})).content
    assert content == shown
    if not isinstance(value, str):
        json.loads(content)
    assert give.invoke({}) is value


def test_case_047_cycles_and_numpy():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    cycle: dict[str, Any] = {"array": numpy.arange(3), "n": numpy.float32(1.5)}
    cycle["self"] = cycle
    give = StructuredTool.from_function(lambda: cycle, name="give", description="d")
    assert json.loads(give.invoke(request("give", {})).content) == {"array": [0, 1, 2], "n": 1.5, "self": "<cycle>"}


def test_answers_in_their_last_form_pass():
    blocks = [{"type": "text", "text": "x"}, {"type": "image", "url": "u"}]
    own = ToolMessage("mine", tool_call_id="other")
    for value, content in ((blocks, blocks), (own, "mine")):
        give = StructuredTool.from_function(
            lambda value=value: value, name="give", description="d", args_schema={"properties": {}}
        )
        result = give.invoke(request("give", {}))
        assert isinstance(result, ToolMessage) and result.content == content
    from clew.types import Command

    command = Command(update={"x": 1})
    give = StructuredTool.from_function(lambda: command, name="give", description="d")
    assert give.invoke(request("give", {})) is command


def test_timeouts():
    @tool(timeout=0.05)
    def slow(a: int) -> str:
        """Slow."""
        time.sleep(0.5)
        return "done"

    @tool(timeout=0.05, handle_tool_error=True)
    async def aslow(a: int) -> str:
        """Slow."""
        await asyncio.sleep(5)
        return "done"

    with pytest.raises(ToolTimeoutError, match=r"0\.05"):
        slow.invoke({"a": 1})
    with pytest.raises(TimeoutError):
        asyncio.run(slow.ainvoke({"a": 1}))
    result = asyncio.run(aslow.ainvoke(request("aslow", {"a": 1})))
    assert result.status == "error" and "0.05" in result.content


def test_own_classes(call):
    class Add(BaseTool):
        name: str = "add"
        description: str = "Add."

        def _run(self, a: int, b: int = 1, run_manager: Any = None) -> int:
            return a + b + (run_manager is not None)

    assert call(Add(), "invoke", {"a": "1"}) == 2 and list(Add().args) == ["a", "b"]
    assert call(Add(), "invoke", {"a": 1}, {"callbacks": [BaseCallbackHandler()]}) == 3

    class Wait(BaseTool):
        name: str = "wait"
        description: str = "Wait."
        args_schema: type[BaseModel] = Args

        def _run(self, x: int, y: int) -> str:
            return "sync"

        async def _arun(self, x: int, y: int) -> str:
            return f"{x}{y}"

    assert Wait().invoke({"x": 1}) == "sync" and asyncio.run(Wait().ainvoke({"x": 1})) == "17"
    with pytest.raises(SchemaAnnotationError):

        class Wrong(BaseTool):
            name: str = "w"
            description: str = "w"
            args_schema: BaseModel = Args


class Recorder(BaseCallbackHandler):
    def __init__(self):
        self.events = []

    def on_tool_start(self, serialized, input_str, *, inputs=None, **kw):
        self.events.append(("start", serialized["name"], input_str, inputs))

    def on_tool_end(self, output, **kw):
        self.events.append(("end", output))

    def on_tool_error(self, error, **kw):
        self.events.append(("error", type(error)))


def test_runs_are_reported(call):
    recorder = Recorder()
    call(search, "invoke", {"query": "x"}, {"callbacks": [recorder]})
    assert recorder.events == [("start", "search", '{"query": "x"}', {"query": "x"}), ("end", "x/5/en")]
    recorder.events.clear()
    with pytest.raises(ValidationError):
        call(search, "invoke", {}, {"callbacks": [recorder]})
    assert [event[0] for event in recorder.events] == ["start", "error"]


def test_async_handlers_hear_awaited_calls():
    seen = []

    class Handler(AsyncCallbackHandler):
        async def on_tool_end(self, output, **kw):
            seen.append(output)

    asyncio.run(search.ainvoke({"query": "x"}, {"callbacks": [Handler()]}))
    assert seen == ["x/5/en"]


def test_what_a_tool_calls_is_its_child(call):
    recorder = Recorder()
    inner = search

    @tool
    def outer(query: str) -> str:
        """Outer."""
        return inner.invoke({"query": query})

    call(outer, "invoke", {"query": "x"}, {"callbacks": [recorder]})
    assert [event[1] for event in recorder.events if event[0] == "start"] == ["outer", "search"]


def test_tools_of_one_text(call):
    made = Tool(name="up", func=str.upper, description="Up.")
    assert call(made, "invoke", "a") == "A" and made.args == {"tool_input": {"type": "string"}}
    assert call(made, "invoke", request("up", {"__arg1": "a"})).content == "A"
    assert convert_to_openai_tool(made)["function"]["parameters"]["required"] == ["__arg1"]
    with pytest.raises(ToolException):
        made.invoke({"a": 1, "b": 2})

    @tool(infer_schema=False)
    def low(text):
        """Low."""
        return text.lower()

    assert isinstance(low, Tool) and low.invoke("A") == "a"


def test_runnables_as_tools():
    def add(values: TypedArgs) -> int:
        return values["x"] + values["y"]

    made = RunnableLambda(add).as_tool(name="add", description="Add.")
    assert made.invoke({"x": 1, "y": 2}) == 3 and list(made.args) == ["x", "y"]
    typed = convert_runnable_to_tool(RunnableLambda(lambda v: v["n"] * 2), name="double", arg_types={"n": int})
    assert typed.invoke({"n": "2"}) == 4

    def shout(text: str) -> str:
        return text.upper()

    assert tool("shout", RunnableLambda(shout)).invoke("a") == "A"
    with pytest.raises(ValueError):
        tool(RunnableLambda(shout), RunnableLambda(shout))


def test_retrievers_as_tools():
    class Retriever:
        def invoke(self, query):
            return [Document(query), Document("b")]

        async def ainvoke(self, query):
            return self.invoke(query)

    made = create_retriever_tool(
        Retriever(), "find", "Find.", response_format="content_and_artifact", document_separator="|"
    )
    result = made.invoke(request("find", {"query": "a"}))
    assert result.content == "a|b" and result.artifact == [Document("a"), Document("b")]
    assert asyncio.run(made.ainvoke({"query": "a"})) == "a|b"


def test_schemas_of_functions():
    def f(a: int, b: Annotated[str, InjectedToolArg], c: float = 1.0) -> None:
        """F."""

    assert list(create_schema_from_function("F", f).model_fields) == ["a", "b", "c"]
    assert list(create_schema_from_function("F", f, filter_args=["c"], include_injected=False).model_fields) == ["a"]


def test_rendering():
    assert render_text_description([search]).startswith("search(query: str, top_k: int = 5")
    assert "what to look for" in render_text_description_and_args([search])


def test_toolkits():
    class Kit(BaseToolkit):
        def get_tools(self):
            return [search]

    assert Kit().get_tools() == [search]


def test_copies_and_chains():
    copied = search.model_copy(update={"name": "look"})
    assert copied.invoke({"query": "x"}) == "x/5/en" and copied.name == "look" and search.name == "search"
    chain = search | (lambda text: text + "!")
    assert chain.invoke({"query": "x"}) == "x/5/en!"
    assert search.batch([{"query": "a"}, {"query": "b"}]) == ["a/5/en", "b/5/en"]


def test_types_that_only_the_function_knows():
    class Local(BaseModel):
        n: int

    @tool
    def use(item: Local, others: list[Local] = []) -> str:  # noqa: B006 - as people write it
        """Use."""
        return f"{type(item).__name__} {item.n} {others}"

    assert use.invoke({"item": {"n": 1}}) == "Local 1 []"
    assert AIMessage("").tool_calls == []
