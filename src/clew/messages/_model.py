"""The pydantic face of messages: dump, copy, validate, schemas."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from typing import Any, TypeVar, cast

import msgspec

from clew.messages.base import REGISTRY, BaseMessage

M = TypeVar("M", bound=BaseMessage)

_PLAIN = (str, int, float, bool, type(None), bytes)


def copy_value(value: Any) -> Any:
    """Copy JSON-like containers all the way down; other objects by `copy.deepcopy`."""
    kind = cast("Any", type(value))
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {key: copy_value(item) for key, item in value.items()}
    if kind is list:
        return [copy_value(item) for item in value]
    return deepcopy(value)


def dump(
    message: BaseMessage, mode: str, include: Any, exclude: Any, exclude_none: bool, exclude_defaults: bool
) -> dict[str, Any]:
    """See BaseMessage.model_dump."""
    out = {name: copy_value(getattr(message, name)) for name in _dumped_fields(message)}
    for key, value in (message.model_extra or {}).items():
        out.setdefault(key, copy_value(value))
    if exclude_defaults:
        defaults = defaults_of(type(message))
        out = {k: v for k, v in out.items() if k not in defaults or v != defaults[k]}
    if exclude_none:
        out = {k: v for k, v in out.items() if v is not None}
    if include is not None:
        out = {k: v for k, v in out.items() if k in include}
    if exclude is not None:
        out = {k: v for k, v in out.items() if k not in exclude}
    if mode == "json":
        out = msgspec.to_builtins(out, enc_hook=_to_json, str_keys=True)
    return out


def _dumped_fields(message: BaseMessage) -> list[str]:
    names: list[str] = [name for name in message.__struct_fields__ if name != "model_extra"]
    if getattr(message, "usage_mode", None) == "delta":
        names.remove("usage_mode")
    return names


def _to_json(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def defaults_of(cls: type[BaseMessage]) -> dict[str, Any]:
    """Return field name -> default, for the fields that have one."""
    out: dict[str, Any] = {}
    for field in msgspec.structs.fields(cls):
        if field.default is not msgspec.NODEFAULT:
            out[field.name] = field.default
        elif field.default_factory is not msgspec.NODEFAULT:
            out[field.name] = field.default_factory()
    return out


def shown_fields(message: BaseMessage) -> list[tuple[str, Any]]:
    """Return (name, value) of the fields that differ from their defaults."""
    defaults = defaults_of(type(message))
    fields = [(name, getattr(message, name)) for name in message.__struct_fields__]
    return [(name, value) for name, value in fields if name not in defaults or value != defaults[name]]


def copy_message(message: M, update: Mapping[str, Any] | None, deep: bool) -> M:
    """See BaseMessage.model_copy."""
    out = copy(message)
    if deep:
        for name in out.__struct_fields__:
            value = getattr(out, name)
            if type(value) not in _PLAIN:
                setattr(out, name, copy_value(value))
    if update:
        for name, value in update.items():
            if name in out.__struct_fields__:
                setattr(out, name, value)
            else:
                out.model_extra = {**(out.model_extra or {}), name: value}
    return out


def build(cls: type[M], data: Mapping[str, Any]) -> M:
    """Make a message of a class from its dumped fields; unknown members go to `model_extra`.

    Raises: ValueError, naming the class, for missing or wrong members.
    """
    fields = cls.__struct_fields__
    known = {key: data[key] for key in fields if key in data}
    if len(known) != len(data):
        extra = {key: value for key, value in data.items() if key not in known and key not in _IGNORED}
        if extra:
            known["model_extra"] = {**(known.get("model_extra") or {}), **extra}
    for key in ("additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "tool_call_chunks"):
        if known.get(key, ...) is None:
            del known[key]
    try:
        return cls(**known)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"this is no {cls.__name__}: {error}") from error


_IGNORED = frozenset({"example", "_"})
"""Members that old releases wrote and that mean nothing; and our own tag."""


def validate(cls: type[M], value: Any) -> M:
    """Return the message of class `cls` that a message, dict or pair describes. Raises: ValueError."""
    from clew.messages._convert import to_message

    if isinstance(value, cls):
        return value
    if isinstance(value, BaseMessage):
        raise ValueError(f"expected {cls.__name__}, got {type(value).__name__}")
    kinds = _kinds(cls)
    if isinstance(value, dict):
        data = cast("dict[str, Any]", value)
        kind: Any = data.get("type")
        if kind in kinds and "data" not in data:
            return build(cls if REGISTRY.get(kind) is None or not kinds[kind] else kinds[kind], data)
        if kind is None and "role" not in data and "content" in data and cls is not BaseMessage:
            return build(cls, data)
    message: Any = to_message(value)
    if not isinstance(message, cls):
        raise ValueError(f"expected {cls.__name__}, got {type(message).__name__}")
    return message


def _kinds(cls: type[BaseMessage]) -> dict[Any, Any]:
    """Type texts that mean this class or one below it -> the class (None: the class itself)."""
    out: dict[Any, Any] = {kind: found for kind, found in REGISTRY.items() if issubclass(found, cls)}
    default: Any = defaults_of(cls).get("type")
    if default and default not in out:
        out[default] = None
    elif REGISTRY.get(default) is not cls and default:
        out[default] = None  # a class of the user's that kept its base's type
    return out


def json_schema(cls: type[BaseMessage]) -> dict[str, Any]:
    """A JSON Schema of the dumped form, as strict as the constructor."""
    text_or_blocks: dict[str, Any] = {
        "title": "Content",
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
        ],
    }
    forms: dict[str, dict[str, Any]] = {
        "additional_kwargs": {"type": "object"},
        "response_metadata": {"type": "object"},
        "type": {"type": "string"},
        "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tool_call_id": {"type": "string"},
        "status": {"enum": ["success", "error"]},
        "role": {"type": "string"},
        "usage_metadata": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "chunk_position": {"anyOf": [{"const": "last"}, {"type": "null"}]},
        "usage_mode": {"enum": ["delta", "running", "final"]},
    }
    properties: dict[str, Any] = {}
    for name in cls.__struct_fields__:
        if name == "content":
            properties[name] = text_or_blocks
        elif name.endswith(("tool_calls", "tool_call_chunks")):
            properties[name] = {"type": "array", "items": {"type": "object"}}
        elif name != "model_extra":
            properties[name] = dict(forms.get(name, {}))
    default = defaults_of(cls).get("type")
    if default:
        properties["type"] = {"const": default, "default": default}
    required = [n for n in ("content", "tool_call_id", "role") if n in properties]
    return {
        "title": cls.__name__,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": True,
    }


def core_schema(cls: type[BaseMessage]) -> Any:
    """A pydantic schema: instances pass as they are, dicts and pairs are converted, dumping gives dicts."""
    from pydantic_core import core_schema as cs

    def dump_message(message: Any, info: Any) -> Any:
        return message.model_dump(mode=info.mode) if isinstance(message, BaseMessage) else message

    return cs.no_info_plain_validator_function(
        cls.model_validate,
        serialization=cs.plain_serializer_function_ser_schema(dump_message, info_arg=True),
    )
