"""Small public things around runnables: addable dicts, the descriptions of what can be configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "AddableDict",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "get_unique_config_specs",
]


class AddableDict(dict[str, Any]):
    """A dict that can be added to another: values of equal keys are added, where they can be, else replaced."""

    def __add__(self, other: Any) -> AddableDict:
        total = AddableDict(self)
        for key, value in other.items():
            held = total.get(key)
            if held is None:
                total[key] = value
            elif value is not None:
                try:
                    total[key] = held + value
                except TypeError:
                    total[key] = value
        return total

    def __radd__(self, other: Any) -> AddableDict:
        return AddableDict(other) + self


class ConfigurableField(NamedTuple):
    """A field that can be set per call, under `configurable[id]`."""

    id: str
    name: str | None = None
    description: str | None = None
    annotation: Any | None = None
    is_shared: bool = False

    def __hash__(self) -> int:
        return hash((self.id, self.annotation))


class ConfigurableFieldSingleOption(NamedTuple):
    """A field that is set per call to one of named values."""

    id: str
    options: Mapping[str, Any]
    default: str
    name: str | None = None
    description: str | None = None
    is_shared: bool = False

    def __hash__(self) -> int:
        return hash((self.id, tuple(self.options), self.default))


class ConfigurableFieldMultiOption(NamedTuple):
    """A field that is set per call to several of named values."""

    id: str
    options: Mapping[str, Any]
    default: Sequence[str]
    name: str | None = None
    description: str | None = None
    is_shared: bool = False

    def __hash__(self) -> int:
        return hash((self.id, tuple(self.options), tuple(self.default)))


class ConfigurableFieldSpec(NamedTuple):
    """What a call may give under `configurable[id]`."""

    id: str
    annotation: Any
    name: str | None = None
    description: str | None = None
    default: Any = None
    is_shared: bool = False
    dependencies: list[str] | None = None


def get_unique_config_specs(specs: Iterable[ConfigurableFieldSpec]) -> list[ConfigurableFieldSpec]:
    """Return specs sorted by id, each once.

    Raises: ValueError if two differ under one id.
    """
    by_id: dict[str, ConfigurableFieldSpec] = {}
    for spec in specs:
        known = by_id.setdefault(spec.id, spec)
        if known != spec:
            raise ValueError(f"two different things are configured under the id {spec.id!r}: {known} and {spec}")
    return [by_id[id_] for id_ in sorted(by_id)]
