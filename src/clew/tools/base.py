"""`BaseTool`: something a model may ask for, with a name, a description and checked arguments.

A tool is invoked with a dict of arguments, the bare value of its only argument, or a model's tool call; the last is
answered by a ToolMessage. Errors are raised, or told to the model, as the tool says.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, Field, SkipValidation, ValidationError

from clew.errors import ToolException
from clew.runnables._entry import plain
from clew.runnables.base import RunnableSerializable
from clew.runnables.config import ensure_config, run_in_executor
from clew.tools._injected import InjectedToolArg, InjectedToolCallId
from clew.tools._outcome import answer, told
from clew.tools._plan import Plan
from clew.utils._signature import Signature

if TYPE_CHECKING:
    from uuid import UUID

    from clew.config import RunnableConfig

__all__ = ["BaseTool", "BaseToolkit", "InjectedToolArg", "InjectedToolCallId", "SchemaAnnotationError", "ToolException"]

ArgsSchema = Any
"""A pydantic class, a TypedDict or dataclass, or a JSON Schema as a dict."""


class SchemaAnnotationError(TypeError):
    """`args_schema` of a tool class has the wrong annotation."""


class BaseTool(RunnableSerializable[Any, Any]):
    """A tool. Own ones define `_run` (and `_arun`, else `_run` runs in a worker thread).

    args_schema: what the arguments must be; by default made from the signature of `_run`.
    handle_tool_error, handle_validation_error: False raises; True tells the model what went wrong; a str tells it that;
    a function makes the text from the error. response_format: "content_and_artifact" for tools that return both.
    timeout: seconds for one call. return_direct: an agent stops with this tool's result. extras: for the provider.
    """

    name: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - required here
    description: str
    args_schema: SkipValidation[Any] = Field(default=None, description="the tool's arguments")
    return_direct: bool = False
    verbose: bool = False
    callbacks: Any = Field(default=None, exclude=True)
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    handle_tool_error: bool | str | Callable[[ToolException], str] | None = False
    handle_validation_error: bool | str | Callable[[ValidationError], str] | None = False
    response_format: Literal["content", "content_and_artifact"] = "content"
    extras: dict[str, Any] | None = None
    timeout: float | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        hint = inspect.get_annotations(cls).get("args_schema")
        if hint is BaseModel or hint == "BaseModel":
            raise SchemaAnnotationError(f"{cls.__name__}.args_schema is a class: annotate it with type[BaseModel]")

    # -- what it is

    @property
    def is_single_input(self) -> bool:
        """Whether there is at most one argument for the model to give."""
        return len(self.args) <= 1

    @property
    def _is_single(self) -> bool:
        return False

    @property
    def args(self) -> dict[str, Any]:
        """Argument -> JSON Schema, as the model sees them."""
        return self._openai_function()["parameters"]["properties"]

    @property
    def tool_call_schema(self) -> Any:
        """What the model has to give: the args_schema without injected arguments."""
        from clew.utils.function_calling import subset

        schema = self._schema()
        hidden = self._plan().hidden
        return subset(schema, hidden) if hidden and isinstance(schema, type) else schema

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return a pydantic model of the arguments."""
        schema = self._schema()
        return schema if isinstance(schema, type) else super().get_input_schema(config)

    def _openai_function(self) -> dict[str, Any]:
        """Name, description and parameters in OpenAI's form; not to be changed."""
        from clew.utils.function_calling import visible_parameters

        plan = self._plan()
        cached = self.__dict__.get("_described")
        if cached is None or cached[0] is not plan:
            cached = vars(self)["_described"] = (plan, visible_parameters(plan.schema, plan.hidden))
        return {"name": self.name, "description": self.description, "parameters": cached[1]}

    def _function(self) -> Callable[..., Any]:
        """The function whose signature tells the arguments."""
        return self._run if type(self)._run is not BaseTool._run else self._arun

    def _signature(self) -> Signature | None:
        """What is known of the function, for schemas that are made from it."""
        known = self.__dict__.get("_read")
        if known is None:
            known = vars(self)["_read"] = Signature(self._function(), self.name)
        return known

    def _schema(self) -> Any:
        """The args_schema: as given, or made from the function."""
        if self.args_schema is None:
            signature = self._signature()
            assert signature is not None  # subclasses without one define _schema
            self.args_schema = signature.model
        return self.args_schema

    def _plan(self) -> Plan:
        plan = self.__dict__.get("_planned")
        schema = self.__dict__.get("args_schema")
        if plan is None or plan.schema is not schema:
            plan = vars(self)["_planned"] = Plan(self, self._schema(), self._function())
        return plan

    # -- what own tools define

    @abstractmethod
    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work. `run_manager` and a RunnableConfig argument are filled in if the signature has them."""

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work; by default `_run` in a worker thread."""
        return await run_in_executor(None, self._run, *args, **kwargs)

    # -- calling it

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool.

        input: a dict of arguments, the only argument's bare value, or a tool call.
        Returns: what the tool returns; for a tool call a ToolMessage.
        Raises: ToolException and pydantic.ValidationError unless they are handled; what the tool raises.
        """
        if config is None and not kwargs and not self.callbacks and not self.verbose and plain():
            return self._call_plain(input)
        from clew.tools._call import call_sync

        return call_sync(self, input, config, kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool; as `invoke`."""
        if config is None and not kwargs and not self.callbacks and not self.verbose and plain():
            return await self._acall_plain(input)
        from clew.tools._call import call_async

        return await call_async(self, input, config, kwargs)

    def run(
        self,
        tool_input: Any,
        verbose: bool | None = None,
        start_color: str | None = "green",
        color: str | None = "green",
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool; with a tool_call_id the result is a ToolMessage. The old face of `invoke`."""
        from clew.tools._call import call_sync, run_config

        chosen = run_config(config, callbacks, tags, metadata, run_name, run_id)
        return call_sync(self, tool_input, chosen, kwargs, tool_call_id=tool_call_id, verbose=verbose)

    async def arun(
        self,
        tool_input: Any,
        verbose: bool | None = None,
        start_color: str | None = "green",
        color: str | None = "green",
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool; as `run`."""
        from clew.tools._call import call_async, run_config

        chosen = run_config(config, callbacks, tags, metadata, run_name, run_id)
        return await call_async(self, tool_input, chosen, kwargs, tool_call_id=tool_call_id, verbose=verbose)

    # -- the short way: nobody listens

    def _call_plain(self, input: Any) -> Any:
        plan = self._plan()
        args, call_id = self._taken_apart(plan, input)
        try:
            arguments = plan.arguments(args, call_id)
            if plan.config is not None:
                arguments[plan.config] = ensure_config()
            output = self._work(arguments)
        except (ToolException, ValidationError) as error:
            return told(self, error, call_id)
        return answer(self, output, call_id)

    async def _acall_plain(self, input: Any) -> Any:
        plan = self._plan()
        args, call_id = self._taken_apart(plan, input)
        try:
            arguments = plan.arguments(args, call_id)
            if plan.config is not None:
                arguments[plan.config] = ensure_config()
            output = await self._awork(arguments)
        except (ToolException, ValidationError) as error:
            return told(self, error, call_id)
        return answer(self, output, call_id)

    def _taken_apart(self, plan: Plan, input: Any) -> tuple[Any, str | None]:
        """(arguments, id of the call or None) of what the tool was invoked with."""
        if type(input) is dict:
            if "args" in input and input.get("type") == "tool_call":  # pyright: ignore[reportUnknownMemberType]
                call = cast("dict[str, Any]", input)
                return call["args"], call.get("id") or ""
            return cast("Any", input), None
        return plan.as_mapping(input, self.name), None

    def _work(self, arguments: dict[str, Any]) -> Any:
        """Run the function with its time limit."""
        if self.timeout is not None:
            from clew.tools._call import limited

            return limited(self, arguments)
        return self._run(**arguments)

    async def _awork(self, arguments: dict[str, Any]) -> Any:
        """Await the function with its time limit."""
        if self.timeout is not None:
            from clew.tools._call import alimited

            return await alimited(self, arguments)
        return await self._arun(**arguments)


class BaseToolkit(BaseModel):
    """A set of tools that belong together."""

    @abstractmethod
    def get_tools(self) -> list[BaseTool]:
        """Return the tools."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_tools")
