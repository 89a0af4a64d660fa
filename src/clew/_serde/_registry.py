"""Which classes may be saved and loaded, and under which tag.

A class is known by registration only: `register(Invoice)`, or because a task, entrypoint or state was annotated with
it. A stored tag that no class here answers to is an error that names it, never an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from clew._serde._shapes import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Migration = "Callable[[dict[str, Any], int], dict[str, Any]]"
_T = TypeVar("_T", bound=type[Any])


class Entry(NamedTuple):
    """A class that may be saved: its tag, how to take it apart and build it, the version of its fields."""

    cls: type[Any]
    tag: str
    shape: Shape
    version: int
    migrate: Callable[[dict[str, Any], int], dict[str, Any]] | None


class Registry:
    """Classes by tag and tags by class.

    parent: asked for what is not here, so that a saver can know classes of its own.
    """

    __slots__ = ("by_class", "by_tag", "parent")

    def __init__(self, parent: Registry | None = None) -> None:
        self.parent = parent
        self.by_class: dict[type[Any], Entry] = {}
        self.by_tag: dict[str, Entry] = {}

    def add(
        self,
        cls: type[Any],
        *,
        tag: str | None = None,
        aliases: Sequence[str] = (),
        version: int = 1,
        migrate: Callable[[dict[str, Any], int], dict[str, Any]] | None = None,
        pack: Callable[[Any], Any] | None = None,
        unpack: Callable[[Any], Any] | None = None,
    ) -> Entry:
        """Let a class be saved and loaded; see `register`."""
        shape = shape_of(cls, pack, unpack)
        entry = Entry(cls, tag or tag_of(cls), shape, version, migrate)
        for name in (entry.tag, *aliases):
            there = self.by_tag.get(name)
            if there is not None and there.cls is not cls and tag_of(there.cls) != tag_of(cls):
                raise ValueError(f"the tag {name!r} belongs to {there.cls!r}; choose another tag for {cls!r}")
        for name in (entry.tag, *aliases):
            self.by_tag[name] = entry
        self.by_class[cls] = entry
        return entry

    def of_class(self, cls: type[Any]) -> Entry | None:
        """Return the entry of exactly this class, or None."""
        found = self.by_class.get(cls)
        if found is None and self.parent is not None:
            return self.parent.of_class(cls)
        return found

    def of_tag(self, tag: str) -> Entry | None:
        """Return the entry that answers to a stored tag, or None."""
        found = self.by_tag.get(tag)
        if found is None and self.parent is not None:
            return self.parent.of_tag(tag)
        return found


def tag_of(cls: type[Any]) -> str:
    """Return the tag of a class that was given none: "module:qualified name"."""
    return f"{cls.__module__}:{cls.__qualname__}"


default = Registry()


@overload
def register(cls: _T, /) -> _T: ...
@overload
def register(
    cls: _T,
    /,
    *,
    tag: str | None = ...,
    aliases: Sequence[str] = ...,
    version: int = ...,
    migrate: Callable[[dict[str, Any], int], dict[str, Any]] | None = ...,
    pack: Callable[[Any], Any] | None = ...,
    unpack: Callable[[Any], Any] | None = ...,
) -> _T: ...
@overload
def register(
    *,
    tag: str | None = ...,
    aliases: Sequence[str] = ...,
    version: int = ...,
    migrate: Callable[[dict[str, Any], int], dict[str, Any]] | None = ...,
    pack: Callable[[Any], Any] | None = ...,
    unpack: Callable[[Any], Any] | None = ...,
) -> Callable[[_T], _T]: ...
def register(cls: Any = None, /, **options: Any) -> Any:
    """Let values of a class be saved and loaded; works as a decorator, with or without options.

    cls: a dataclass, pydantic model, msgspec Struct, Enum, NamedTuple or attrs class; any other class with pack and
    unpack. Fields are stored by name and set as they were: neither `__init__` nor validators run on load.
    tag: the name in storage ("module:qualname" when not given); keep it when the class moves or is renamed.
    aliases: tags of former names that this class also answers to.
    version, migrate: raise the version when fields change, and give `migrate(fields, stored_version) -> fields`.
    pack, unpack: value -> data, data -> value, for classes without fields that we can see.
    Raises: TypeError for a class that has no fields we know and no pack; ValueError for a tag that is taken.
    """
    if cls is None:

        def decorate(decorated: type[Any]) -> type[Any]:
            default.add(decorated, **options)
            return decorated

        return decorate
    default.add(cls, **options)
    return cls
