"""JSON answers as pydantic objects."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, SkipValidation, ValidationError

from clew.errors import OutputParserException
from clew.output_parsers.json import JsonOutputParser, instructions_for
from clew.outputs import Generation

__all__ = [
    "PydanticOutputParser",
]

TBaseModel = TypeVar("TBaseModel", bound=BaseModel)


class PydanticOutputParser(JsonOutputParser, Generic[TBaseModel]):
    """Returns the object that the JSON of an answer describes; streamed, only the whole one, never one of half values.

    Raises: OutputParserException if the JSON does not fit the class.
    """

    pydantic_object: SkipValidation[type[BaseModel]]  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - required here

    @property
    def _type(self) -> str:
        return "pydantic"

    @property
    def OutputType(self) -> Any:
        """The class."""
        return self.pydantic_object

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the object. partial: None until the JSON is complete."""
        try:
            value = super().parse_result(result)
            return self._parse_obj(value)
        except OutputParserException:
            if partial:
                return None
            raise

    def _parse_obj(self, value: Any) -> Any:
        try:
            return self.pydantic_object.model_validate(value)
        except ValidationError as error:
            raise OutputParserException(
                f"the answer is no valid {self.pydantic_object.__name__}: {error}", llm_output=str(value)
            ) from error

    def parse(self, text: str) -> Any:
        """Return the object that a text describes."""
        return self.parse_result([Generation(text=text)])

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        return instructions_for(self.pydantic_object)
