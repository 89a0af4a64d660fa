"""Rebuild objects from the data that `dumpd` wrote, from an allow-list of classes.

Nothing is imported or called because the data says so: ids are looked up in the list of allowed classes. Data is not
to be trusted; the default list holds messages only.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from clew._lazy import resolve
from clew.errors import DeserializationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Allowed: TypeAlias = "Iterable[type[Any]] | Literal['all', 'core', 'messages'] | None"

MESSAGES = [
    "AIMessage",
    "AIMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "RemoveMessage",
    "SystemMessage",
    "SystemMessageChunk",
    "ToolMessage",
    "ToolMessageChunk",
]
CORE = {
    "clew.documents": ["Document"],
    "clew.outputs": [
        "ChatGeneration",
        "ChatGenerationChunk",
        "ChatResult",
        "Generation",
        "GenerationChunk",
        "LLMResult",
        "RunInfo",
    ],
    "clew.prompt_values": ["ChatPromptValue", "StringPromptValue"],
    "clew.prompts": [
        "AIMessagePromptTemplate",
        "ChatMessagePromptTemplate",
        "ChatPromptTemplate",
        "FewShotChatMessagePromptTemplate",
        "FewShotPromptTemplate",
        "HumanMessagePromptTemplate",
        "MessagesPlaceholder",
        "PromptTemplate",
        "SystemMessagePromptTemplate",
    ],
    "clew.output_parsers": [
        "CommaSeparatedListOutputParser",
        "JsonOutputParser",
        "StrOutputParser",
    ],
}
FOREIGN = ("clew", "langchain", "langchain_core", "langchain_classic")
"""First parts of ids (ours, and those of the systems that people come from) in which only the class name counts."""


def loads(
    text: str,
    *,
    allowed_objects: Allowed = "messages",
    secrets_map: dict[str, str] | None = None,
    valid_namespaces: list[str] | None = None,
    secrets_from_env: bool = False,
    additional_import_mappings: dict[tuple[str, ...], tuple[str, ...]] | None = None,
    ignore_unserializable_fields: bool = False,
    init_validator: Callable[[tuple[str, ...], dict[str, Any]], None] | None = None,
) -> Any:
    """Rebuild what `dumps` wrote; as `load`.

    Raises: DeserializationError (a ValueError) also for text that is not JSON.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise DeserializationError(f"not JSON: {error}") from error
    return load(
        data,
        allowed_objects=allowed_objects,
        secrets_map=secrets_map,
        valid_namespaces=valid_namespaces,
        secrets_from_env=secrets_from_env,
        additional_import_mappings=additional_import_mappings,
        ignore_unserializable_fields=ignore_unserializable_fields,
        init_validator=init_validator,
    )


def load(
    obj: Any,
    *,
    allowed_objects: Allowed = "messages",
    secrets_map: dict[str, str] | None = None,
    valid_namespaces: list[str] | None = None,
    secrets_from_env: bool = False,
    additional_import_mappings: dict[tuple[str, ...], tuple[str, ...]] | None = None,
    ignore_unserializable_fields: bool = False,
    init_validator: Callable[[tuple[str, ...], dict[str, Any]], None] | None = None,
) -> Any:
    """Rebuild what `dumpd` wrote.

    allowed_objects: "messages" (default), "core" (also documents, outputs, prompts and plain parsers), or the classes
        that may be made, beside messages. "all" is the same as "core": there is no list of everything.
    valid_namespaces: only for ids that begin with one of these.
    secrets_map: name -> value of secrets; secrets_from_env: look there too. A secret that is not found is None.
    additional_import_mappings: old id -> id of an allowed class.
    ignore_unserializable_fields: what could not be described becomes None instead of an error.
    init_validator: called with (id, arguments) before an object is made; may raise.
    Raises: DeserializationError (a ValueError) for a class that is not allowed or arguments that don't fit it.
    """
    classes = _allowed(allowed_objects)
    known = {id_: classes[new] for id_, new in (additional_import_mappings or {}).items() if new in classes}
    return _Loader(
        {**classes, **known},
        {**(os.environ if secrets_from_env else {}), **(secrets_map or {})},
        valid_namespaces,
        ignore_unserializable_fields,
        init_validator,
    ).value(obj)


def _allowed(objects: Allowed) -> dict[tuple[str, ...], Any]:
    """Return id -> class, or id -> (module, name) for classes that are imported when they are met."""
    classes: dict[tuple[str, ...], Any] = {}
    for name in MESSAGES:
        _add(classes, "clew.messages", name)
    if objects in ("core", "all"):
        for module, names in CORE.items():
            for name in names:
                _add(classes, module, name)
    elif objects is not None and objects != "messages":
        from clew.load._dump import class_id

        for cls in objects:
            classes[tuple(class_id(cls))] = cls
            if hasattr(cls, "lc_id"):
                classes[tuple(cast("Any", cls).lc_id())] = cls
    return classes


def _add(classes: dict[tuple[str, ...], Any], module: str, name: str) -> None:
    classes[(*module.split("."), name)] = f"{module}:{name}"
    classes[("*", name)] = f"{module}:{name}"


class _Loader:
    """Walks data and makes what is allowed."""

    def __init__(
        self,
        classes: dict[tuple[str, ...], Any],
        secrets: dict[str, str],
        namespaces: list[str] | None,
        lenient: bool,
        validator: Callable[[tuple[str, ...], dict[str, Any]], None] | None,
    ) -> None:
        self._classes = classes
        self._secrets = secrets
        self._namespaces = namespaces
        self._lenient = lenient
        self._validator = validator

    def value(self, data: Any) -> Any:
        """Return the object that data stands for."""
        if isinstance(data, list):
            return [self.value(each) for each in cast("list[Any]", data)]
        if not isinstance(data, dict):
            return data
        tag = cast("dict[str, Any]", data)
        if tag.get("lc") != 1 or "type" not in tag:
            return {key: self.value(each) for key, each in tag.items()}
        kind, id_ = tag["type"], tag.get("id")
        if kind == "mapping" and isinstance(tag.get("value"), dict):
            return {key: self.value(each) for key, each in cast("dict[str, Any]", tag["value"]).items()}
        if not isinstance(id_, list) or not id_ or not all(isinstance(part, str) for part in cast("list[Any]", id_)):
            return {key: self.value(each) for key, each in tag.items()}
        path = tuple(cast("list[str]", id_))
        if kind == "secret":
            return self._secrets.get(path[-1])
        if kind == "constructor":
            return self._make(path, tag.get("kwargs"))
        if kind == "not_implemented":
            if self._lenient:
                return None
            raise DeserializationError(f"{'.'.join(path)} was not written down in full and can't be rebuilt")
        return {key: self.value(each) for key, each in tag.items()}

    def _make(self, path: tuple[str, ...], arguments: Any) -> Any:
        if not isinstance(arguments, dict):
            raise DeserializationError(f"{'.'.join(path)}: arguments must be an object, got {type(arguments).__name__}")
        if self._namespaces is not None and path[0] not in self._namespaces:
            raise DeserializationError(f"{'.'.join(path)} is not in the namespaces {self._namespaces}")
        found = self._classes.get(path)
        if found is None and path[0] == "clew":
            found = self._classes.get((*path[:2], path[-1]))
        if found is None and path[0] in FOREIGN:
            found = self._classes.get(("*", path[-1]))
        if found is None:
            raise DeserializationError(
                f"{'.'.join(path)} is not allowed; give its class in allowed_objects if you trust the data"
            )
        cls = resolve(found) if isinstance(found, str) else found
        kwargs = {key: self.value(each) for key, each in cast("dict[str, Any]", arguments).items()}
        if self._validator is not None:
            self._validator(path, kwargs)
        try:
            return cls(**kwargs)
        except DeserializationError:
            raise
        except Exception as error:
            raise DeserializationError(f"{'.'.join(path)}: {error}") from error
