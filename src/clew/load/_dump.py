"""Write objects down as data: components and messages by id and arguments, secrets by name, the rest as it is.

A user's dict that looks like one of our tags is wrapped, so that loading never takes data for a tag.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, cast

import msgspec


def dumpd(obj: Any) -> Any:
    """Return an object as plain data (dicts, lists, text, numbers).

    Components give `{"lc": 1, "type": "constructor" | "not_implemented", "id": [...], ...}`; what can't be described is
    named with its repr.
    """
    return plain(obj)


def dumps(obj: Any, *, pretty: bool = False, **kwargs: Any) -> str:
    """Return an object as JSON text, the same text for equal objects; pretty: indented. kwargs: for `json.dumps`."""
    if pretty:
        kwargs.setdefault("indent", 2)
    kwargs.setdefault("ensure_ascii", False)
    return json.dumps(plain(obj), **kwargs)


_EXACT = {type(None), str, bool, int, float}


def plain(value: Any) -> Any:
    """Return a value as plain data."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value if type(value) in _EXACT else getattr(value, "value", value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        if "lc" in items:
            return {"lc": 1, "type": "mapping", "value": {str(k): plain(v) for k, v in items.items()}}
        return {str(key): plain(each) for key, each in items.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, msgspec.Struct):
        return struct(value)
    component: Any = value
    if hasattr(component, "to_json") and hasattr(component, "is_lc_serializable"):
        return component.to_json()
    return other(value)


def other(value: Any) -> Any:
    """Return the tag of a value whose class is no component; of a pydantic secret nothing is shown."""
    from pydantic import SecretBytes, SecretStr

    if isinstance(value, (SecretStr, SecretBytes)):
        return {"lc": 1, "type": "secret", "id": ["SECRET"]}
    return not_implemented(value)


def class_id(cls: type[Any]) -> list[str]:
    """Return the public id of a class: the module it is imported from, and its name.

    For classes of this library that is the package, whatever file the class is in: ids are stored.
    """
    path = cls.__module__.split(".")
    return [*(path[:2] if path[0] == "clew" else path), cls.__name__]


@lru_cache(maxsize=256)
def described(cls: type[Any]) -> tuple[list[str], list[tuple[str, Any, Any]]]:
    """Return the id of a Struct class, and its fields as (name, default, default factory)."""
    fields = msgspec.structs.fields(cls)
    return class_id(cls), [(field.name, field.default, field.default_factory) for field in fields]


def struct(value: msgspec.Struct) -> dict[str, Any]:
    """Return a message, document or output as a tag with the arguments that differ from their defaults."""
    id_, fields = described(type(value))
    kwargs: dict[str, Any] = {}
    for name, default, factory in fields:
        given = getattr(value, name)
        if given is default or (given == default and type(given) is type(default)):
            continue
        if factory is not msgspec.NODEFAULT and given == factory():
            continue
        kwargs[name] = plain(given)
    return {"lc": 1, "type": "constructor", "id": [*id_], "kwargs": kwargs}


def constructor(component: Any) -> dict[str, Any]:
    """Return a component as a tag with its arguments; secrets are named, never shown."""
    cls = cast("Any", type(component))
    secrets: dict[str, str] = {}
    attributes: dict[str, Any] = {}
    for base in cast("tuple[type[Any], ...]", cls.__mro__)[::-1]:
        if "lc_secrets" in base.__dict__:
            secrets.update(base.__dict__["lc_secrets"].__get__(component))
        if "lc_attributes" in base.__dict__:
            attributes.update(base.__dict__["lc_attributes"].__get__(component))
    kwargs: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        if field.exclude:
            continue
        value = getattr(component, name, None)
        if name in secrets:
            if value is not None:
                kwargs[name] = {"lc": 1, "type": "secret", "id": [secrets[name]]}
        elif not is_default(field, value):
            kwargs[name] = plain(value)
    kwargs.update({key: plain(value) for key, value in attributes.items()})
    return {"lc": 1, "type": "constructor", "id": cls.lc_id(), "kwargs": kwargs, "name": name_of(component)}


def is_default(field: Any, value: Any) -> bool:
    """Tell whether an argument may be left out of a dump, since making the object anew gives it."""
    if field.is_required():
        return False
    if value is None or value == [] or value == {}:
        return bool(field.get_default(call_default_factory=field.default_factory is not None) == value)
    return False


def name_of(component: Any) -> str:
    """Return the name that a component's runs have."""
    return component.get_name() if hasattr(component, "get_name") else type(component).__name__


def not_implemented(value: Any) -> dict[str, Any]:
    """Return the tag of an object that can't be rebuilt."""
    cls = value if isinstance(value, type) else type(value)
    return {"lc": 1, "type": "not_implemented", "id": class_id(cls), "repr": safe_repr(value)}


def safe_repr(value: Any) -> str | None:
    """Return the repr of a value, or None if it has none."""
    try:
        return repr(value)
    except Exception:
        return None
