"""How the arguments of a call become the arguments of the function; worked out once per tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from clew.tools._injected import wants_call_id
from clew.utils._signature import ArgsModel, Signature, is_config, is_injected

if TYPE_CHECKING:
    from clew.tools.base import BaseTool


class Plan:
    """What a tool's function wants and how its arguments are checked.

    schema: what this plan was made for. fields: (attribute of the validated object, argument). call_id: the argument
    that gets the id of the call. config, run_manager: arguments to be filled in, or None. single: the only visible
    argument.
    """

    __slots__ = (
        "_validate",
        "all_fields",
        "call_id",
        "config",
        "fields",
        "hidden",
        "is_single",
        "run_manager",
        "schema",
        "single",
    )

    def __init__(self, tool: BaseTool, schema: Any, function: Callable[..., Any]) -> None:
        self.schema = schema
        self.fields: tuple[tuple[str, str], ...] = ()
        self._validate: Any = None
        self.call_id: str | None = None
        self.all_fields = True
        self.is_single = tool._is_single  # pyright: ignore[reportPrivateUsage] - same package
        signature = tool._signature()  # pyright: ignore[reportPrivateUsage]
        hints = _hints(signature)
        self.all_fields = not (isinstance(schema, type) and signature is not None and signature.made is schema)
        names = _argument_names(function)
        self.config = next((name for name, hint in hints.items() if is_config(hint)), None)
        self.run_manager = next((name for name in ("run_manager", "callbacks") if name in names), None)
        self.hidden = {name for name, hint in hints.items() if is_injected(hint)}
        visible: list[str] = []
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            validator: Any = schema.__pydantic_validator__
            if not schema.__pydantic_complete__:
                schema.model_rebuild()
                validator = schema.__pydantic_validator__
            self._validate = validator.validate_python
            fields: list[tuple[str, str]] = []
            is_made = issubclass(schema, ArgsModel)  # then an alias is the name that the function knows
            for attribute, field in schema.model_fields.items():
                shown = field.alias or attribute
                argument = shown if is_made else attribute
                fields.append((attribute, argument))
                marks = _marks(field)
                if wants_call_id(hints.get(argument)) or wants_call_id(marks):
                    self.call_id = argument
                if is_injected(marks) or argument in self.hidden:
                    self.hidden.add(argument)
                else:
                    visible.append(shown)
            self.fields = tuple(fields)
        elif isinstance(schema, dict):
            visible = list(cast("dict[str, Any]", schema).get("properties", {}))
        self.single = visible[0] if len(visible) == 1 else None

    def arguments(self, args: Any, call_id: str | None) -> dict[str, Any]:
        """Return the keyword arguments for one call. Raises: pydantic.ValidationError, ValueError."""
        validate = self._validate
        if self.call_id is not None:
            if call_id is None:
                raise ValueError(
                    f"the argument {self.call_id!r} gets the id of the tool call: invoke the tool with a tool call "
                    "({'name': ..., 'args': ..., 'id': ..., 'type': 'tool_call'})"
                )
            args = {**args, self.call_id: call_id}
        if validate is None:
            return dict(args)
        checked = validate(args)
        values = checked.__dict__
        if self.all_fields:
            return {argument: values[attribute] for attribute, argument in self.fields}
        given = checked.__pydantic_fields_set__
        return {argument: values[attribute] for attribute, argument in self.fields if attribute in given}

    def as_mapping(self, value: Any, name: str) -> Mapping[str, Any]:
        """Return what a tool was invoked with as arguments. Raises: ValueError."""
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        if self.single is not None:
            return {self.single: value}
        if value in ("", None) and not self.fields:
            return {}
        raise ValueError(f"the tool {name!r} takes a dict of arguments, not {type(value).__name__}: {value!r}")


def _marks(field: Any) -> Any:
    """A field's type with its marks, as an Annotated type."""
    from typing import Annotated

    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _hints(signature: Signature | None) -> dict[str, Any]:
    if signature is None:
        return {}
    try:
        return {name: signature.hints[name] for name in signature.parameters if name in signature.hints}
    except NameError:
        return {}


def _argument_names(function: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
