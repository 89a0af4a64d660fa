"""Tools that are made from functions."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SkipValidation
from typing_extensions import is_typeddict

from clew.runnables.config import run_in_executor
from clew.tools.base import BaseTool
from clew.utils._docstring import parse_docstring
from clew.utils._signature import Signature

if TYPE_CHECKING:
    from clew.tools._plan import Plan

__all__ = [
    "StructuredTool",
    "Tool",
]


class StructuredTool(BaseTool):
    """A tool that runs a function.

    func: the blocking function, coroutine: the async one; at least one. With func alone, awaiting runs it in a worker.
    """

    description: str = ""
    func: SkipValidation[Callable[..., Any] | None] = None
    coroutine: SkipValidation[Callable[..., Awaitable[Any]] | None] = None

    def _function(self) -> Callable[..., Any]:
        function = self.func or self.coroutine
        if type(self)._run is not StructuredTool._run and type(self)._run is not Tool._run:
            return self._run
        if function is None:
            raise ValueError(f"the tool {self.name!r} has neither func nor coroutine")
        return function

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if self.func is None:
            raise NotImplementedError(f"the tool {self.name!r} is async: await its ainvoke")
        return self.func(*args, **kwargs)

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        if self.coroutine is not None:
            return await self.coroutine(*args, **kwargs)
        return await run_in_executor(None, self._run, *args, **kwargs)

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None = None,
        coroutine: Callable[..., Awaitable[Any]] | None = None,
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        args_schema: Any = None,
        infer_schema: bool = True,
        *,
        response_format: Literal["content", "content_and_artifact"] = "content",
        parse_docstring: bool = False,
        error_on_invalid_docstring: bool = False,
        **kwargs: Any,
    ) -> StructuredTool:
        """Make a tool of a function.

        name: default the function's. description: default the docstring (its description part with parse_docstring).
        args_schema: a pydantic class, TypedDict, dataclass or JSON Schema; default made from the signature.
        error_on_invalid_docstring: raise if a docstring that is to be parsed describes unknown arguments.
        Raises: ValueError without function or description.
        """
        function = func or coroutine
        if function is None:
            raise ValueError("a tool needs func or coroutine")
        name = name or _name_of(function)
        schema = schema_of(args_schema)
        signature = Signature(function, name)
        if parse_docstring and error_on_invalid_docstring and schema is None:
            signature.check_docs()
        if description is None:
            description = _described(function, signature, schema, name, parse_docstring)
        made = cls(
            name=name,
            func=func,
            coroutine=coroutine,
            args_schema=schema,
            description=description,
            return_direct=return_direct,
            response_format=response_format,
            **kwargs,
        )
        vars(made)["_read"] = signature
        if schema is None:
            del vars(made)["args_schema"]  # made from the signature when it is first asked for
        return made

    def __getattr__(self, item: str) -> Any:
        if item == "args_schema":
            signature = self._signature()
            assert signature is not None  # a StructuredTool always has a function
            vars(self)["args_schema"] = signature.model
            return signature.model
        return super().__getattr__(item)  # type: ignore[misc]  # pydantic hides it from type checkers

    def _plan(self) -> Plan:
        plan = self.__dict__.get("_planned")
        if plan is not None and plan.schema is self.__dict__.get("args_schema"):
            return plan
        _ = self.args_schema
        return super()._plan()


class Tool(StructuredTool):
    """A tool with one text argument."""

    def __init__(self, name: str, func: Callable[..., Any] | None, description: str, **kwargs: Any) -> None:
        super().__init__(name=name, func=func, description=description, **kwargs)

    @property
    def _is_single(self) -> bool:
        return True

    @property
    def args(self) -> dict[str, Any]:
        """Argument -> JSON Schema."""
        return super().args if self.args_schema is not None else {"tool_input": {"type": "string"}}

    def _schema(self) -> Any:
        return self.args_schema or ONE_TEXT

    def _plan(self) -> Plan:
        from clew.tools._plan import Plan

        plan = self.__dict__.get("_planned")
        if plan is None or plan.schema is not self._schema():
            plan = vars(self)["_planned"] = Plan(self, self._schema(), self._function())
        return plan

    def _taken_apart(self, plan: Plan, input: Any) -> tuple[Any, str | None]:
        args, call_id = super()._taken_apart(plan, input)
        if not isinstance(args, dict) or len(args) != 1:  # pyright: ignore[reportUnknownArgumentType]
            from clew.errors import ToolException

            raise ToolException(f"the tool {self.name!r} takes one argument, not {args!r}", tool=self.name)
        return args, call_id  # pyright: ignore[reportUnknownVariableType]

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if self.func is None:
            raise NotImplementedError(f"the tool {self.name!r} is async: await its ainvoke")
        return self.func(*args, *kwargs.values())

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        if self.coroutine is not None:
            return await self.coroutine(*args, *kwargs.values())
        return await run_in_executor(None, self._run, *args, **kwargs)

    @classmethod
    def from_function(  # pyright: ignore[reportIncompatibleMethodOverride] - as people know it
        cls,
        func: Callable[..., Any] | None,
        name: str,
        description: str,
        return_direct: bool = False,
        args_schema: Any = None,
        coroutine: Callable[..., Awaitable[Any]] | None = None,
        **kwargs: Any,
    ) -> Tool:
        """Make a tool of a function of one text."""
        if func is None and coroutine is None:
            raise ValueError("a tool needs func or coroutine")
        return cls(
            name=name,
            func=func,
            coroutine=coroutine,
            description=description,
            return_direct=return_direct,
            args_schema=args_schema,
            **kwargs,
        )


ONE_TEXT: dict[str, Any] = {"type": "object", "properties": {"__arg1": {"type": "string"}}, "required": ["__arg1"]}


def schema_of(given: Any) -> Any:
    """Return an args_schema as a pydantic class or a dict. Raises: TypeError."""
    if given is None or isinstance(given, dict) or hasattr(given, "model_fields"):
        return given  # pyright: ignore[reportUnknownVariableType] - a JSON Schema
    if is_typeddict(given) or dataclasses.is_dataclass(given):
        from clew.utils.function_calling import model_of_class

        return model_of_class(given)
    raise TypeError(f"args_schema is a pydantic class, a TypedDict, a dataclass or a JSON Schema, not {given!r}")


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if name is None and hasattr(function, "func"):  # functools.partial
        name = getattr(function.func, "__name__", None)
    if name is None or name == "<lambda>":
        raise ValueError(f"{function!r} has no name that a model could call: give one")
    return name


def _described(function: Any, signature: Signature, schema: Any, name: str, parse: bool) -> str:
    doc = getattr(function, "__doc__", None)
    if parse and signature.summary:
        return signature.summary
    if isinstance(doc, str) and doc.strip() and type(function).__name__ != "partial":
        return inspect.cleandoc(doc)
    if isinstance(schema, type) and schema.__doc__:
        return parse_docstring(schema.__doc__)[0]
    if isinstance(schema, dict) and schema.get("description"):  # pyright: ignore[reportUnknownMemberType]
        return schema["description"]  # pyright: ignore[reportUnknownVariableType]
    raise ValueError(f"the function {name!r} needs a docstring, or a description, that tells the model what it does")
