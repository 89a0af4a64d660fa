"""Answers that are function calls, as they were before tools."""

from __future__ import annotations

from typing import Any, cast

from clew._kernel.partial_json import parse_json, parse_partial_json
from clew.errors import OutputParserException
from clew.output_parsers.transform import BaseCumulativeTransformOutputParser
from clew.outputs import ChatGeneration, Generation


class JsonOutputFunctionsParser(BaseCumulativeTransformOutputParser[Any]):
    """Returns the arguments of `additional_kwargs["function_call"]`, or with args_only=False the whole call."""

    strict: bool = False
    args_only: bool = True

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the arguments of the best candidate; partial: None while there is none."""
        generation: Any = result[0]
        if len(result) != 1 or not isinstance(generation, ChatGeneration):
            raise OutputParserException("a functions parser reads one answer of a chat model")
        call = generation.message.additional_kwargs.get("function_call")
        if call is None:
            if partial:
                return None
            raise OutputParserException("the answer has no function call", llm_output=generation.text)
        try:
            args = parse_partial_json(call["arguments"]) if partial else parse_json(call["arguments"])
        except (ValueError, TypeError) as error:
            if partial:
                return None
            raise OutputParserException(f"the arguments are no valid JSON: {error}", llm_output=str(call)) from error
        return args if self.args_only else {**call, "arguments": args}

    def parse(self, text: str) -> Any:
        """Raise NotImplementedError: function calls are no text."""
        raise NotImplementedError(f"{type(self).__name__} reads messages, not text")


class JsonKeyOutputFunctionsParser(JsonOutputFunctionsParser):
    """Returns one member of the arguments."""

    key_name: str

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the member `key_name`."""
        args = super().parse_result(result, partial=partial)
        if args is None:
            return None
        return args.get(self.key_name) if partial else args[self.key_name]


class PydanticOutputFunctionsParser(JsonOutputFunctionsParser):
    """Returns the arguments as an object. pydantic_schema: a class, or a dict of function name -> class."""

    pydantic_schema: Any

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the object; partial: None until the arguments are complete."""
        from pydantic import ValidationError

        try:
            args = super().parse_result(result)
            cls: Any = self.pydantic_schema
            if isinstance(cls, dict):
                generation: Any = result[0]
                cls = cast("Any", cls)[generation.message.additional_kwargs["function_call"]["name"]]
            return cls.model_validate(args)
        except (OutputParserException, ValidationError) as error:
            if partial:
                return None
            if isinstance(error, OutputParserException):
                raise
            raise OutputParserException(f"the arguments don't fit: {error}") from error
