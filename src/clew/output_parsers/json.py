"""JSON answers, whole or as they come."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any, TypeVar, cast

from pydantic import BaseModel, SkipValidation

from clew._kernel.partial_json import parse_partial_json
from clew.errors import OutputParserException
from clew.output_parsers.format_instructions import JSON_FORMAT_INSTRUCTIONS
from clew.output_parsers.transform import BaseCumulativeTransformOutputParser
from clew.outputs import Generation
from clew.utils.json import parse_and_check_json_markdown, parse_json_markdown

__all__ = ["JsonOutputParser", "SimpleJsonOutputParser", "parse_and_check_json_markdown", "parse_partial_json"]

TBaseModel = TypeVar("TBaseModel", bound=BaseModel)


class JsonOutputParser(BaseCumulativeTransformOutputParser[Any]):
    """Returns the JSON value of an answer; streamed, the value as far as it is certain.

    A number or literal that may go on is held back until it ends. pydantic_object: a class whose schema the model is
    told (the value stays a dict). diff: stream JSON Patch operations instead of values.
    """

    pydantic_object: SkipValidation[type[BaseModel] | None] = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Described by its arguments."""
        return True

    @property
    def _type(self) -> str:
        return "simple_json_output_parser"

    def _diff(self, prev: Any, next: Any) -> Any:
        return diff_operations(prev, next)

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the JSON value of the best candidate.

        partial: None while there is nothing certain. Raises: OutputParserException.
        """
        text = result[0].text.strip()
        try:
            return parse_json_markdown(text) if partial else parse_json_markdown(text, parser=_whole)
        except (JSONDecodeError, ValueError) as error:
            if partial:
                return None
            raise OutputParserException(f"the answer is no valid JSON: {error}", llm_output=text) from error

    def parse(self, text: str) -> Any:
        """Return the JSON value of a text. Raises: OutputParserException."""
        return self.parse_result([Generation(text=text)])

    def get_format_instructions(self) -> str:
        """Return what to tell the model about the form of its answer."""
        if self.pydantic_object is None:
            return "Answer with one JSON object and nothing else."
        return instructions_for(self.pydantic_object)


def instructions_for(model: type[BaseModel]) -> str:
    """Return format instructions with the schema of a model, without its title and outermost type."""
    import json

    schema = {key: value for key, value in model.model_json_schema().items() if key not in ("title", "type")}
    return JSON_FORMAT_INSTRUCTIONS.format(schema=json.dumps(schema, ensure_ascii=False))


def _whole(text: str) -> Any:
    return parse_partial_json(text, strict=True)


SimpleJsonOutputParser = JsonOutputParser


def diff_operations(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """Return the JSON Patch (RFC 6902) that turns one JSON value into another; what grows at the end is cheap."""
    if before == after and type(before) is type(after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _dict_operations(cast("dict[str, Any]", before), cast("dict[str, Any]", after), path)
    if isinstance(before, list) and isinstance(after, list):
        old, new = cast("list[Any]", before), cast("list[Any]", after)
        if len(old) <= len(new):
            both = enumerate(zip(old, new, strict=False))
            changes = [change for i, (a, b) in both for change in diff_operations(a, b, f"{path}/{i}")]
            added = range(len(old), len(new))
            return changes + [{"op": "add", "path": f"{path}/{i}", "value": new[i]} for i in added]
    return [{"op": "replace", "path": path, "value": after}]


def _dict_operations(before: dict[str, Any], after: dict[str, Any], path: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [
        {"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in before if key not in after
    ]
    for key, value in after.items():
        where = f"{path}/{_escaped(key)}"
        if key in before:
            out += diff_operations(before[key], value, where)
        else:
            out.append({"op": "add", "path": where, "value": value})
    return out


def _escaped(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")
