"""From `Command(resume=...)` to answers: which value belongs to which question, and whether it fits its schema."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

from clew.checkpoint import _records as R
from clew.errors import UnknownInterruptError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.checkpoint._codec import Codec


def match(codec: Codec, thread_id: str, questions: Sequence[R.Question], resume: Any) -> dict[str, bytes]:
    """Return the encoded answers by question id.

    questions: those that wait. A dict whose keys are all pending ids or keys is a map; any other value is the answer to
    the one question that waits. Raises: UnknownInterruptError when an answer fits no question or more than one;
    SerializationError; the error of the response_schema. Nothing is saved then.
    """
    ids = {one.id: one for one in questions}
    keys = {one.key: one for one in questions if one.key is not None}
    if isinstance(resume, dict) and resume:
        named: dict[Any, Any] = dict(resume)  # pyright: ignore[reportUnknownArgumentType] - of any kind
        if all(key in ids or key in keys for key in named):
            return {
                (ids.get(key) or keys[key]).id: _checked(codec, ids.get(key) or keys[key], value)
                for key, value in named.items()
            }
        if any(R.is_question_id(thread_id, key) for key in named):
            gone = [key for key in named if key not in ids and key not in keys]
            raise UnknownInterruptError(
                f"no question with the id {gone[0]!r} waits on thread {thread_id!r} any more; "
                f"waiting: {_listed(codec, questions)}",
                reason="not_pending", interrupt_ids=gone, pending_ids=list(ids),
            )  # fmt: skip
    if not questions:
        raise UnknownInterruptError(
            f"nothing waits for an answer on thread {thread_id!r}: the answer {resume!r} was not used",
            reason="not_pending",
        )
    if len(questions) > 1:
        raise UnknownInterruptError(
            f"{len(questions)} questions wait on thread {thread_id!r}, so the answer must say which it is for: "
            f"Command(resume={{id: answer, ...}}); waiting: {_listed(codec, questions)}",
            reason="ambiguous", pending_ids=list(ids),
        )  # fmt: skip
    return {questions[0].id: _checked(codec, questions[0], resume)}


def _listed(codec: Codec, questions: Sequence[R.Question]) -> str:
    shown = [f"{one.id} ({str(codec.decode(one.value))[:60]!r})" for one in questions]
    return ", ".join(shown) or "none"


def _checked(codec: Codec, question: R.Question, value: Any) -> bytes:
    if question.schema is not None:
        check(codec.decode(question.schema), value)
    return codec.encode(value)


def json_schema(schema: Any) -> dict[str, Any]:
    """Return the JSON schema of a type, or the schema itself."""
    if isinstance(schema, dict):
        return dict(schema)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - a JSON schema
    from pydantic import TypeAdapter

    return TypeAdapter(_readable(schema)).json_schema()


def _readable(schema: Any) -> Any:
    """Return a TypedDict of `typing` as one that pydantic takes: before Python 3.12 that of typing_extensions."""
    import sys
    import typing

    if sys.version_info >= (3, 12) or not typing.is_typeddict(schema):
        return schema
    import typing_extensions

    hints = typing.get_type_hints(schema, include_extras=True)
    optional = schema.__optional_keys__
    maker: Any = typing_extensions.TypedDict
    missing: Any = typing_extensions.NotRequired
    return maker(schema.__name__, {name: missing[hint] if name in optional else hint for name, hint in hints.items()})


def check(schema: dict[str, Any], value: Any) -> None:
    """Raise ValueError, naming the place, when the value does not fit the JSON schema."""
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    _check(schema, value, "answer", schema)


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "array": (list, tuple), "object": (dict,),
}  # fmt: skip


def _check(given: Any, value: Any, place: str, top: dict[str, Any]) -> None:
    """Check the parts of JSON schema that types are turned into."""
    if not isinstance(given, dict):
        return None
    schema = cast("dict[str, Any]", given)
    if "$ref" in schema:
        target: Any = top
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        return _check(target, value, place, top)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _check_union(schema[union], value, place, top)
    for part in schema.get("allOf", ()):
        _check(part, value, place, top)
    _check_kind(schema, value, place)
    _check_parts(schema, value, place, top)
    return None


def _check_kind(schema: dict[str, Any], value: Any, place: str) -> None:
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{place} must be {schema['const']!r}, not {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{place} must be one of {schema['enum']!r}, not {value!r}")
    kinds = schema.get("type")
    if kinds is not None:
        names = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds]
        if not any(_is(value, name) for name in names):
            raise ValueError(f"{place} must be of type {' or '.join(names)}, not {value!r}")


def _is(value: Any, name: str) -> bool:
    """Say whether a value is of a JSON type; True is no number."""
    if isinstance(value, bool):
        return name == "boolean" or name not in _KINDS
    return isinstance(value, _KINDS.get(name, (object,)))


def _check_union(options: list[Any], value: Any, place: str, top: dict[str, Any]) -> None:
    for option in options:
        try:
            return _check(option, value, place, top)
        except ValueError:
            continue
    raise ValueError(f"{place} fits none of the {len(options)} forms that its schema allows: {value!r}")


def _check_parts(schema: dict[str, Any], value: Any, place: str, top: dict[str, Any]) -> None:
    if isinstance(value, dict):
        _check_object(schema, cast("dict[Any, Any]", value), place, top)
    elif isinstance(value, (list, tuple)) and "items" in schema:
        for index, one in enumerate(cast("list[Any]", value)):
            _check(schema["items"], one, f"{place}[{index}]", top)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        for name, holds in _BOUNDS:
            if name in schema and not holds(value, schema[name]):
                raise ValueError(f"{place} breaks {name} {schema[name]}: {value!r}")
    elif isinstance(value, str):
        _check_text(schema, value, place)


_BOUNDS = (
    ("minimum", operator.ge), ("maximum", operator.le),
    ("exclusiveMinimum", operator.gt), ("exclusiveMaximum", operator.lt),
)  # fmt: skip


def _check_object(schema: dict[str, Any], value: dict[Any, Any], place: str, top: dict[str, Any]) -> None:
    known = schema.get("properties", {})
    more = schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value:
            raise ValueError(f"{place} lacks {name!r}")
    for name, one in value.items():
        if name in known:
            _check(known[name], one, f"{place}.{name}", top)
        elif more is False:
            raise ValueError(f"{place} has {name!r}, which its schema does not know")
        elif isinstance(more, dict):
            _check(more, one, f"{place}.{name}", top)


def _check_text(schema: dict[str, Any], value: str, place: str) -> None:
    if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", len(value)):
        raise ValueError(f"{place} has the wrong length: {value!r}")
    if "pattern" in schema:
        import re

        if not re.search(schema["pattern"], value):
            raise ValueError(f"{place} does not match {schema['pattern']!r}: {value!r}")
