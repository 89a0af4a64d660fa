"""`@tool`: from a function or a runnable to a tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast, overload

from typing_extensions import is_typeddict

from clew.runnables.base import Runnable
from clew.tools.base import BaseTool
from clew.tools.structured import StructuredTool, Tool


@overload
def tool(name_or_callable: Callable[..., Any], /) -> BaseTool: ...
@overload
def tool(
    name_or_callable: str | Callable[..., Any] | None = None,
    runnable: Runnable[Any, Any] | None = None,
    *args: Any,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: Any = None,
    infer_schema: bool = True,
    response_format: Literal["content", "content_and_artifact"] = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any: ...
def tool(
    name_or_callable: str | Callable[..., Any] | None = None,
    runnable: Runnable[Any, Any] | None = None,
    *args: Any,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: Any = None,
    infer_schema: bool = True,
    response_format: Literal["content", "content_and_artifact"] = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Make a tool of a function: `@tool`, `@tool("name")`, `@tool(parse_docstring=True)`, `tool("name", runnable)`.

    The name, the description and the arguments come from the function's name, docstring and type hints; argument
    descriptions from its docstring (Google, NumPy, Sphinx; English or Chinese headings) or from Annotated.
    description: instead of the docstring. args_schema: instead of the type hints. infer_schema: False for a tool of one
    text. parse_docstring: leave the argument section out of the description, and raise if it names unknown arguments.
    kwargs: further fields of the tool (handle_tool_error, timeout, tags …).
    Raises: ValueError for a function without name or description.
    """
    if args:
        raise ValueError("tool() takes a name or function, and a runnable, by position")
    options: dict[str, Any] = {
        "description": description,
        "return_direct": return_direct,
        "args_schema": args_schema,
        "response_format": response_format,
        **({} if extras is None else {"extras": extras}),
        **kwargs,
    }
    docs = {
        "parse_docstring": parse_docstring,
        "error_on_invalid_docstring": error_on_invalid_docstring and parse_docstring,
    }
    is_one_text = not infer_schema and args_schema is None

    def make(target: Any, name: str | None = None) -> BaseTool:
        if isinstance(target, Runnable):
            return _from_runnable(cast("Runnable[Any, Any]", target), name, options)
        func, coroutine = (None, target) if inspect.iscoroutinefunction(target) else (target, None)
        if is_one_text:
            return _one_text(func, coroutine, name or target.__name__, options)
        return StructuredTool.from_function(func, coroutine, name=name, **docs, **options)

    return _applied(make, name_or_callable, runnable)


def _applied(make: Callable[..., BaseTool], given: Any, runnable: Any) -> Any:
    """Return the tool, or the decorator that makes it, for the ways in which `tool` is used."""
    if runnable is not None:
        if not isinstance(given, str):
            raise ValueError("a tool of a runnable needs a name: tool('name', runnable)")
        return make(runnable, given)
    if given is None:
        return make
    if isinstance(given, str):
        return partial(make, name=given)
    if callable(given):
        return make(given)
    raise ValueError(f"tool() takes a name or a function, not {type(given).__name__}")


def _one_text(func: Any, coroutine: Any, name: str, options: dict[str, Any]) -> Tool:
    doc = (func or coroutine).__doc__
    description = options.pop("description") or (inspect.cleandoc(doc) if doc else None)
    if description is None:
        raise ValueError(f"the function {name!r} needs a docstring or description that tells the model what it does")
    return Tool(name=name, func=func, coroutine=coroutine, description=description, **options)


def _from_runnable(runnable: Runnable[Any, Any], name: str | None, options: dict[str, Any]) -> BaseTool:
    chosen = {key: value for key, value in options.items() if key not in ("description", "args_schema")}
    made = convert_runnable_to_tool(runnable, options["args_schema"], name=name, description=options["description"])
    return made.model_copy(update=chosen)


def convert_runnable_to_tool(
    runnable: Runnable[Any, Any],
    args_schema: Any = None,
    *,
    name: str | None = None,
    description: str | None = None,
    arg_types: dict[str, type] | None = None,
) -> BaseTool:
    """Make a tool of a runnable.

    args_schema: what it takes, if its input type doesn't say. arg_types: name -> type, as a short form of that.
    A runnable that takes text becomes a tool of one text.
    """
    if args_schema is not None and hasattr(runnable, "with_types"):
        runnable = runnable.with_types(input_type=args_schema)
    name = name or runnable.get_name()
    takes = runnable.InputType
    if args_schema is None and arg_types is None and takes is str:
        return Tool(
            name=name,
            func=runnable.invoke,
            coroutine=runnable.ainvoke,
            description=description or f"Takes a text. {name}",
        )
    if args_schema is None:
        args_schema = _arguments_of(runnable, takes, arg_types, name)

    def run(**kwargs: Any) -> Any:
        return runnable.invoke(kwargs)

    async def arun(**kwargs: Any) -> Any:
        return await runnable.ainvoke(kwargs)

    if description is None:
        fields = getattr(args_schema, "model_fields", {})
        description = f"Takes {', '.join(fields)}." if fields else name
    return StructuredTool.from_function(run, arun, name=name, description=description, args_schema=args_schema)


def _arguments_of(runnable: Any, takes: Any, arg_types: dict[str, type] | None, name: str) -> Any:
    from clew.utils._signature import build_model

    if arg_types is None:
        if hasattr(takes, "model_fields") or is_typeddict(takes):
            return takes
        try:
            fields = runnable.get_input_schema().model_fields
            arg_types = {key: field.annotation for key, field in fields.items() if key != "root"}
        except (AttributeError, TypeError):
            arg_types = {}
        if not arg_types:
            raise TypeError(
                f"can't tell the arguments of {name!r}: give args_schema or arg_types, "
                "as in as_tool(arg_types={'x': int})"
            )
    return build_model(name, {key: (kind, ..., None) for key, kind in arg_types.items()}, None)
