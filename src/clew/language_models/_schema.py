"""The type that structured output is to have: what the model is told of it, and how an answer becomes one."""

from __future__ import annotations

from typing import Any, cast

from clew.errors import OutputParserException
from clew.language_models._check import violations


class Target:
    """A pydantic, TypedDict or dataclass type, or a JSON Schema.

    name: of the type. tool: as an OpenAI tool. schema: JSON Schema of the object.
    Raises: ValueError for anything that describes no object.
    """

    __slots__ = ("_adapter", "_model", "name", "schema", "tool")

    def __init__(self, schema: Any, *, strict: bool | None = None) -> None:
        from clew.utils.function_calling import convert_to_openai_tool

        if not isinstance(schema, (dict, type)):
            raise ValueError(
                f"a schema is a pydantic, TypedDict or dataclass type, or a JSON Schema dict; not {schema!r}"
            )
        self.tool: dict[str, Any] = convert_to_openai_tool(cast("Any", schema), strict=strict)
        function = self.tool.get("function", {})
        self.name: str = function.get("name", "")
        if not self.name:
            raise ValueError(f"the schema has no name: give it a title, or use a tool's form: {schema!r}")
        self.schema: dict[str, Any] = function.get("parameters") or {"type": "object", "properties": {}}
        self._model: Any = schema if isinstance(schema, type) and hasattr(schema, "model_validate") else None
        self._adapter: Any = None
        if isinstance(schema, type) and self._model is None:
            self._adapter = _adapter(schema)

    def read(self, value: Any, text: str) -> Any:
        """Return the object for a JSON value; text: the model's words, for the error.

        Raises: OutputParserException when the value does not fit.
        """
        from pydantic import ValidationError

        try:
            if self._model is not None:
                return self._model.model_validate(value)
            if self._adapter is not None:
                return self._adapter.validate_python(value)
        except ValidationError as error:
            raise OutputParserException(f"the answer is no valid {self.name}: {error}", llm_output=text) from error
        faults = violations(value, self.schema)
        if faults:
            raise OutputParserException(f"the answer is no valid {self.name}: {'; '.join(faults)}", llm_output=text)
        return value


def _adapter(schema: type[Any]) -> Any:
    """Return what validates a dataclass or TypedDict; None where pydantic can't (typing.TypedDict before 3.12)."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(schema)
    except PydanticUserError:
        return None
