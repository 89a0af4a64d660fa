"""Check a JSON value against a JSON Schema: the keywords that models are given, no more.

Unknown keywords do not restrict. Source: JSON Schema 2020-12, validation vocabulary.
"""

from __future__ import annotations

import re
from operator import ge, gt, le, lt
from typing import Any, cast

_TYPES: dict[str, tuple[type[Any], ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
}


def violations(value: Any, schema: Any, root: Any = None, path: str = "$") -> list[str]:
    """Return what is wrong with a value, each as "path: fault"; empty when it fits."""
    root = schema if root is None else root
    if not isinstance(schema, dict):
        return [] if schema is not False else [f"{path}: nothing is allowed here"]
    rules = cast("dict[str, Any]", schema)
    if "$ref" in rules:
        return violations(value, _resolve(rules["$ref"], root), root, path)
    found = _choice(value, rules, root, path)
    kinds: Any = rules.get("type")
    wanted: list[str] = [kinds] if isinstance(kinds, str) else kinds or []
    if wanted and not any(_is(value, kind) for kind in wanted):
        return [*found, f"{path}: {_short(value)} is not of type {' or '.join(wanted)}"]
    if "const" in rules and not _same(value, rules["const"]):
        found.append(f"{path}: {_short(value)} is not {rules['const']!r}")
    if "enum" in rules and not any(_same(value, each) for each in rules["enum"]):
        found.append(f"{path}: {_short(value)} is not one of {rules['enum']!r}")
    return found + _inside(value, rules, root, path)


def _inside(value: Any, schema: dict[str, Any], root: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        return _object(cast("dict[str, Any]", value), schema, root, path)
    if isinstance(value, list):
        return _array(cast("list[Any]", value), schema, root, path)
    if isinstance(value, str):
        return _string(value, schema, path)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, schema, path)
    return []


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        whole = isinstance(value, float) and value.is_integer()
        return whole or (isinstance(value, int) and not isinstance(value, bool))
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES.get(kind, (object,)))


def _same(left: Any, right: Any) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _resolve(reference: str, root: Any) -> Any:
    found = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part:
            found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def _choice(value: Any, schema: dict[str, Any], root: Any, path: str) -> list[str]:
    found = [fault for part in schema.get("allOf", ()) for fault in violations(value, part, root, path)]
    for keyword in ("anyOf", "oneOf"):
        parts = schema.get(keyword)
        if parts:
            tries = [violations(value, part, root, path) for part in parts]
            fitting = sum(not faults for faults in tries)
            if not fitting:
                found += min(tries, key=len)
            elif keyword == "oneOf" and fitting > 1:
                found.append(f"{path}: {_short(value)} fits {fitting} of the alternatives, not one")
    return found


def _object(value: dict[str, Any], schema: dict[str, Any], root: Any, path: str) -> list[str]:
    known = schema.get("properties", {})
    found = [f"{path}: {name!r} is missing" for name in schema.get("required", ()) if name not in value]
    extra = schema.get("additionalProperties")
    for name, item in value.items():
        if name in known:
            found += violations(item, known[name], root, f"{path}.{name}")
        elif extra is False:
            found.append(f"{path}: {name!r} is not a known property")
        elif isinstance(extra, dict):
            found += violations(item, extra, root, f"{path}.{name}")
    return found


def _array(value: list[Any], schema: dict[str, Any], root: Any, path: str) -> list[str]:
    found: list[str] = []
    if len(value) < schema.get("minItems", 0):
        found.append(f"{path}: fewer than {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        found.append(f"{path}: more than {schema['maxItems']} items")
    first = schema.get("prefixItems", [])
    for position, item in enumerate(value):
        rule = first[position] if position < len(first) else schema.get("items")
        if rule is not None:
            found += violations(item, rule, root, f"{path}[{position}]")
    return found


def _string(value: str, schema: dict[str, Any], path: str) -> list[str]:
    found: list[str] = []
    if len(value) < schema.get("minLength", 0):
        found.append(f"{path}: shorter than {schema['minLength']} characters")
    if len(value) > schema.get("maxLength", len(value)):
        found.append(f"{path}: longer than {schema['maxLength']} characters")
    pattern = schema.get("pattern")
    if pattern is not None and re.search(pattern, value) is None:
        found.append(f"{path}: {_short(value)} does not match {pattern!r}")
    return found


def _number(value: float, schema: dict[str, Any], path: str) -> list[str]:
    found: list[str] = []
    for keyword, words, is_fine in (
        ("minimum", "greater than or equal to", ge),
        ("maximum", "less than or equal to", le),
        ("exclusiveMinimum", "greater than", gt),
        ("exclusiveMaximum", "less than", lt),
    ):
        if keyword in schema and not is_fine(value, schema[keyword]):
            found.append(f"{path}: {value!r} should be {words} {schema[keyword]}")
    step = schema.get("multipleOf")
    if step and abs(value / step - round(value / step)) > 1e-9:
        found.append(f"{path}: {value!r} is not a multiple of {step}")
    return found
