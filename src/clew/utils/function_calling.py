"""Describe tools to a model: functions, classes, schemas and tools in OpenAI's form, which all others are made from."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import TypedDict, is_typeddict

from clew.messages._model import copy_value
from clew.utils._docstring import parse_docstring
from clew.utils._json_schema import dereference_refs, strict_schema, without_titles
from clew.utils._signature import Signature, build_model, hints_of, is_injected

__all__ = [
    "FunctionDescription",
    "ToolDescription",
    "convert_to_json_schema",
    "convert_to_openai_function",
    "convert_to_openai_tool",
    "dereference_refs",
    "tool_example_to_messages",
]


class FunctionDescription(TypedDict):
    """A function as OpenAI describes it. parameters: a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolDescription(TypedDict):
    """A tool as OpenAI describes it."""

    type: Literal["function"]
    function: FunctionDescription


SERVER_TOOLS = frozenset({
    "web_search_preview", "web_search", "file_search", "computer_use_preview", "computer", "code_interpreter", "mcp",
    "image_generation", "custom", "tool_search", "namespace", "apply_patch", "shell", "local_shell",
})  # fmt: skip
"""Tools that OpenAI runs itself: their dicts are passed on as they are."""


def convert_to_openai_function(
    function: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """Return {"name", "description", "parameters"} of anything a model may call.

    function: a dict (OpenAI, Anthropic or Bedrock form, or a JSON Schema with a title), a pydantic class, TypedDict or
    dataclass, a function with type hints, or a tool. strict: set the strict flag; when true the schema is closed.
    Returns: a new dict. Raises: ValueError for anything else.
    """
    out = _function_of(function)
    if strict is not None:
        if "strict" in out and out["strict"] != strict:
            raise ValueError(f"{out['name']!r} says strict={out['strict']}, the call says strict={strict}")
        out["strict"] = strict
        if strict:
            parameters: dict[str, Any] = out.get("parameters") or {"type": "object", "properties": {}}
            out["parameters"] = strict_schema(parameters)
    return out


def convert_to_openai_tool(
    tool: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """Return {"type": "function", "function": {…}} of anything a model may call; see convert_to_openai_function.

    A dict that is a tool already (also one of OpenAI's own, as web_search) is returned as it is.
    """
    if isinstance(tool, dict):
        given = cast("dict[str, Any]", tool)
        kind = given.get("type")
        if kind == "function" and isinstance(given.get("function"), dict) and strict is None:
            return given
        if isinstance(kind, str) and (kind in SERVER_TOOLS or kind.startswith(("web_search", "computer_use"))):
            return given
        if kind == "function" and isinstance(given.get("function"), dict):
            return {**given, "function": convert_to_openai_function(given["function"], strict=strict)}
    any_tool = cast("Any", tool)
    about: dict[str, Any] = getattr(any_tool, "metadata", None) or {}
    if about.get("type") == "custom_tool":
        return {"type": "custom", "name": any_tool.name, "description": any_tool.description or ""}
    return {"type": "function", "function": convert_to_openai_function(any_tool, strict=strict)}


def convert_to_json_schema(schema: Any, *, strict: bool | None = None) -> dict[str, Any]:
    """Return a JSON Schema with title and description of anything a model may call. Raises: ValueError."""
    function = convert_to_openai_function(schema, strict=strict)
    out: dict[str, Any] = {"title": function["name"]}
    if function.get("description"):
        out["description"] = function["description"]
    return {**out, **(function.get("parameters") or {})}


def _function_of(function: Any) -> dict[str, Any]:
    if isinstance(function, Mapping):
        return _from_dict(dict(cast("Mapping[str, Any]", function)))
    if isinstance(function, type):
        return _from_class(function)
    if is_typeddict(function):
        return _from_class(function)
    described = getattr(function, "_openai_function", None)  # tools know their form
    if described is not None:
        return copy_value(described())
    if callable(function):
        return _from_callable(function)
    raise ValueError(
        f"can't describe {type(function).__name__} to a model: give a function, a class, a tool or a schema, "
        f"not {function!r}"
    )


def _from_dict(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("type") == "function" and isinstance(given.get("function"), dict):
        given = dict(given["function"])
    if "name" in given and "input_schema" in given:  # Anthropic
        out = {"name": given["name"], "parameters": given["input_schema"]}
        if "description" in given:
            out["description"] = given["description"]
        return copy_value(out)
    if "toolSpec" in given:  # Bedrock
        spec = given["toolSpec"]
        return copy_value(
            {
                "name": spec["name"],
                "description": spec.get("description", ""),
                "parameters": spec["inputSchema"]["json"],
            }
        )
    if "name" in given and (
        "parameters" in given or "description" in given or not {"type", "properties", "title"} & set(given)
    ):
        keep = ("name", "description", "parameters", "strict")
        return copy_value({key: given[key] for key in keep if key in given})
    if "title" in given:
        schema = copy_value(given)
        out = {"name": schema.pop("title")}
        if "description" in schema:
            out["description"] = schema.pop("description")
        if schema.get("properties") or schema.get("type"):
            out["parameters"] = without_titles(dereference_refs(schema))
        return out
    raise ValueError(
        "a dict describes a function with 'name' and 'parameters', or is a JSON Schema with a 'title'; this one has "
        f"{sorted(given)}"
    )


def _is_record(cls: Any) -> bool:
    """Whether a class is a TypedDict or a plain dataclass."""
    return is_typeddict(cls) or (hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "model_json_schema"))


def _from_class(cls: Any) -> dict[str, Any]:
    name: str = cls.__name__
    if _is_record(cls):
        schema: dict[str, Any] = model_of_class(cls).model_json_schema()
        description = parse_docstring(_own_doc(cls))[0]
    elif hasattr(cls, "model_json_schema"):
        schema = cls.model_json_schema()
        name = cls.model_config.get("title") or name
        description = _model_doc(cls)
    elif hasattr(cls, "schema"):  # pydantic 1
        schema = cls.schema()
        description = schema.get("description", "")
    else:
        raise ValueError(
            f"can't describe the class {name} to a model: use a pydantic class, a TypedDict or a dataclass"
        )
    described = parse_docstring(_own_doc(cls))[1]
    parameters = parameters_of(schema)
    for key, text in described.items():
        if key in parameters["properties"]:
            parameters["properties"][key].setdefault("description", text)
    return {"name": name, "description": description or "", "parameters": parameters}


def _own_doc(cls: Any) -> str | None:
    """The docstring that the class was written with, not one made by a decorator or inherited."""
    doc = cls.__dict__.get("__doc__")
    if not isinstance(doc, str) or (hasattr(cls, "__dataclass_fields__") and doc.startswith(f"{cls.__name__}(")):
        return None
    return doc


def _model_doc(cls: type[BaseModel]) -> str:
    for base in cls.__mro__:
        if base is BaseModel:
            return ""
        doc = base.__dict__.get("__doc__")
        if isinstance(doc, str) and doc:
            return parse_docstring(doc)[0]
    return ""


def model_of_class(cls: Any) -> type[BaseModel]:
    """Return a pydantic model with the members of a TypedDict or dataclass.

    In a TypedDict, `Annotated[type, default, "description"]` gives a default (or ...) and a description.
    """
    hints = hints_of(cls)
    described = parse_docstring(_own_doc(cls))[1]
    fields: dict[str, tuple[Any, Any, str | None]] = {}
    if hasattr(cls, "__dataclass_fields__"):
        for field in dataclasses.fields(cls):
            default: Any = ...
            if field.default is not dataclasses.MISSING:
                default = field.default
            elif field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            text = field.metadata.get("description") or described.get(field.name)
            fields[field.name] = (hints[field.name], default, text)
    else:
        required: frozenset[str] = cls.__required_keys__
        for name, hint in hints.items():
            kind, default, text = _typed_member(hint)
            if default is ... and name not in required:
                kind, default = kind | None if isinstance(kind, type) else typing.Optional[kind], None  # noqa: UP045
            fields[name] = (_inner(kind), default, text or described.get(name))
    return build_model(cls.__name__, fields, _own_doc(cls))


def _typed_member(hint: Any) -> tuple[Any, Any, str | None]:
    """(type, default or ..., description) of a TypedDict member."""
    while get_origin(hint) in (typing.Required, typing.NotRequired) or _is_extension(get_origin(hint)):
        hint = get_args(hint)[0]
    if get_origin(hint) is not Annotated:
        return hint, ..., None
    kind, *marks = get_args(hint)
    if len(marks) == 2 and isinstance(marks[1], str):
        return kind, marks[0], marks[1]
    text = next((mark for mark in marks if isinstance(mark, str)), None)
    return (kind if text is not None and len(marks) == 1 else hint), ..., text


def _is_extension(origin: Any) -> bool:
    import typing_extensions

    return origin in (typing_extensions.Required, typing_extensions.NotRequired)


def _inner(kind: Any) -> Any:
    """Nested TypedDicts as models, since pydantic refuses `typing.TypedDict` before Python 3.12."""
    if is_typeddict(kind):
        return model_of_class(kind)
    args = get_args(kind)
    if not args or get_origin(kind) is Literal:
        return kind
    inner = tuple(_inner(arg) for arg in args)
    if inner == args:
        return kind
    origin = get_origin(kind)
    if origin is type(int | str):
        return typing.Union[inner]  # noqa: UP007 - built at run time
    return kind.copy_with(inner) if hasattr(kind, "copy_with") else origin[inner]


def _from_callable(function: Callable[..., Any]) -> dict[str, Any]:
    name = getattr(function, "__name__", None) or type(function).__name__
    if name == "<lambda>":
        raise ValueError("a lambda has no name and no types: write a function with type hints")
    signature = Signature(function, name)
    return {
        "name": name,
        "description": signature.summary,
        "parameters": visible_parameters(signature.model, signature.injected),
    }


def visible_parameters(model: Any, injected: Any = ()) -> dict[str, Any]:
    """Return the JSON Schema of a model's fields, without those that are injected."""
    return parameters_of(cast("dict[str, Any]", model) if isinstance(model, dict) else _schema_of(model, injected))


def _schema_of(model: Any, injected: Any) -> dict[str, Any]:
    if injected:
        model = subset(model, injected)
    return model.model_json_schema() if hasattr(model, "model_json_schema") else model.schema()


def subset(model: type[BaseModel], without: Any) -> type[BaseModel]:
    """Return a model like this one, without some fields."""
    fields: dict[str, tuple[Any, Any, str | None]] = {}
    for name, field in model.model_fields.items():
        if (field.alias or name) not in without and not is_injected(field.annotation):
            fields[field.alias or name] = (Annotated[field.annotation, field], ..., field.description)
    made = build_model(model.__name__, fields, model.__doc__)
    return made


def parameters_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object schema as the parameters of a function: no references, titles or description."""
    plain = without_titles(dereference_refs(schema))
    plain.pop("description", None)
    plain.pop("$schema", None)
    plain.setdefault("type", "object")
    plain.setdefault("properties", {})
    return plain


def tool_example_to_messages(
    input: str, tool_calls: list[Any], tool_outputs: list[str] | None = None, *, ai_response: str | None = None
) -> list[Any]:
    """Return a few-shot example of tool use as messages: question, calls, results, and an answer if given.

    tool_calls: pydantic objects, one per call. tool_outputs: their results.
    """
    from clew._ids import new_id
    from clew.messages import AIMessage, HumanMessage, ToolMessage

    calls: list[Any] = [
        {"name": type(call).__name__, "args": call.model_dump(mode="json"), "id": new_id(), "type": "tool_call"}
        for call in tool_calls
    ]
    outputs = tool_outputs or ["You have correctly called this tool."] * len(calls)
    out: list[Any] = [HumanMessage(input), AIMessage("", tool_calls=calls)]
    out += [ToolMessage(output, tool_call_id=call["id"]) for call, output in zip(calls, outputs, strict=True)]
    return [*out, AIMessage(ai_response)] if ai_response else out
