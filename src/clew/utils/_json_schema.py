"""Shape JSON Schemas for models: no references, no titles, strict where asked."""

from __future__ import annotations

from typing import Any, cast


def dereference_refs(
    schema_obj: dict[str, Any], *, full_schema: dict[str, Any] | None = None, skip_keys: Any = None
) -> dict[str, Any]:
    """Return the schema with each `$ref` replaced by what it points to.

    References that lead back to themselves stay, with the `$defs` they need. skip_keys: members left as they are.
    Raises: ValueError for a reference outside the schema.
    """
    root = full_schema or schema_obj
    skipped = frozenset(skip_keys if skip_keys is not None else ("$defs", "definitions"))
    kept: set[str] = set()

    def walk(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, list):
            return [walk(item, path) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        ref = members.get("$ref")
        if isinstance(ref, str):
            if ref in path:
                kept.add(ref)
                return dict(members)
            target = walk(_resolve(ref, root), (*path, ref))
            rest = {key: walk(item, path) for key, item in members.items() if key != "$ref"}
            return {**cast("dict[str, Any]", target), **rest} if isinstance(target, dict) else target
        return {key: item if key in skipped else walk(item, path) for key, item in members.items()}

    out = walk(schema_obj, ())
    for name in ("$defs", "definitions"):
        if name in out:
            needed = _closure(cast("dict[str, Any]", out[name]), kept, name)
            if needed:
                out[name] = needed
            else:
                del out[name]
    return out


def _closure(definitions: dict[str, Any], refs: set[str], name: str) -> dict[str, Any]:
    """The definitions that these references need, directly or not."""
    prefix = f"#/{name}/"
    needed: dict[str, Any] = {}
    pending = [ref for ref in refs if ref.startswith(prefix)]
    while pending:
        key = pending.pop().removeprefix(prefix)
        if key not in needed and key in definitions:
            needed[key] = definitions[key]
            pending.extend(_refs(definitions[key]))
    return needed


def _refs(value: Any) -> list[str]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        own = [members["$ref"]] if isinstance(members.get("$ref"), str) else []
        return own + [ref for item in members.values() for ref in _refs(item)]
    if isinstance(value, list):
        return [ref for item in cast("list[Any]", value) for ref in _refs(item)]
    return []


def _resolve(ref: str, root: dict[str, Any]) -> Any:
    if not ref.startswith("#/"):
        raise ValueError(f"only references inside the schema can be followed, not {ref!r}")
    value: Any = root
    for part in ref[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        try:
            value = cast("dict[str, Any]", value)[part] if isinstance(value, dict) else value[int(part)]
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"the reference {ref!r} points to nothing") from error
    return value


def without_titles(schema: Any, *, is_properties: bool = False) -> Any:
    """Return the schema without the titles that pydantic makes; a property named "title" stays."""
    if isinstance(schema, list):
        return [without_titles(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key == "title" and not is_properties and isinstance(value, str):
            continue
        if key in ("default", "const", "enum", "examples") and not is_properties:
            out[key] = value
        else:
            nested = key in ("properties", "$defs", "definitions", "patternProperties") and not is_properties
            out[key] = without_titles(value, is_properties=nested)
    return out


def strict_schema(schema: Any) -> Any:
    """Return the schema as strict mode wants it: every object closed, every property required, no defaults."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    out: dict[str, Any] = {}
    for key, value in members.items():
        if key in ("properties", "$defs", "definitions"):
            out[key] = {name: strict_schema(item) for name, item in cast("dict[str, Any]", value).items()}
        elif key not in ("default", "const", "enum", "examples"):
            out[key] = strict_schema(value)
        elif key != "default":
            out[key] = value
    if members.get("type") == "object" or "properties" in members:
        out.setdefault("type", "object")
        out.setdefault("properties", {})
        out["required"] = list(out["properties"])
        out["additionalProperties"] = False
    return out
