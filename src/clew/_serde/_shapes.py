"""How values of a user's class come apart into fields and back together, kind by kind.

Construction sets the stored fields on a bare instance, so what comes back is what was saved, whatever `__init__`,
`__post_init__` or validators would do to it now.
"""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Shape(NamedTuple):
    """take(value) -> data, build(data) -> value. fields: whether the data is a dict of fields by name."""

    take: Callable[[Any], Any]
    build: Callable[[Any], Any]
    fields: bool


class FieldsDiffer(Exception):
    """Stored fields do not fit the class as it is now."""


def shape_of(
    cls: type[Any], pack: Callable[[Any], Any] | None = None, unpack: Callable[[Any], Any] | None = None
) -> Shape:
    """Return how values of this class are taken apart. Raises: TypeError when nothing is known about it."""
    if pack is not None or unpack is not None:
        if pack is None or unpack is None:
            raise TypeError(f"{cls.__qualname__} needs both pack= and unpack=")
        return Shape(pack, unpack, fields=False)
    found = known_shape(cls)
    if found is None:
        raise TypeError(
            f"{cls!r} is no dataclass, pydantic model, msgspec Struct, Enum, NamedTuple or attrs class: "
            "give register() pack= and unpack= for it"
        )
    return found


def known_shape(cls: type[Any]) -> Shape | None:
    """Return the shape of a class whose fields can be seen, or None."""
    if issubclass(cls, enum.Enum):
        return _enum(cls)
    if hasattr(cls, "__struct_fields__"):
        return _struct(cls)
    if hasattr(cls, "__pydantic_fields__") and hasattr(cls, "model_construct"):
        return _pydantic(cls)
    if "__dataclass_fields__" in cls.__dict__ or hasattr(cls, "__dataclass_fields__"):
        return _dataclass(cls)
    if tuple in cls.__mro__ and hasattr(cls, "_fields"):
        return _namedtuple(cls)
    return _attrs(cls) if hasattr(cls, "__attrs_attrs__") else None


def _enum(cls: Any) -> Shape:
    if issubclass(cls, enum.Flag):
        return Shape(_enum_value, cls, fields=False)

    def build(data: Any) -> Any:
        member = cls.__members__.get(data)
        if member is None:
            raise FieldsDiffer(f"it has no member {data!r}")
        return member

    return Shape(_enum_name, build, fields=False)


def _enum_value(member: Any) -> Any:
    return member._value_


def _enum_name(member: Any) -> Any:
    return member._name_


def _struct(cls: Any) -> Shape:
    names: tuple[str, ...] = cls.__struct_fields__
    known = frozenset(names)
    defaults: tuple[Any, ...] = cls.__struct_defaults__
    optional = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) if defaults else {}
    # an empty field whose default is empty is left out: (name, the type whose empty value may go, or None to keep it)
    plan = tuple((name, _empty_type(optional[name]) if name in optional else None) for name in names)

    def take(value: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, empty in plan:
            one = getattr(value, name)
            if one or type(one) is not empty:
                fields[name] = one
        return fields

    def build(fields: dict[str, Any]) -> Any:
        if not fields.keys() <= known:
            _refuse_unknown(fields, known)
        try:
            return cls(**fields)
        except TypeError as error:
            raise FieldsDiffer(str(error)) from error

    return Shape(take, build, fields=True)


def _empty_type(default: Any) -> type[Any] | None:
    """Return the type of a default that is empty (None, "", 0, False, a new list …), else None."""
    factory: type[Any] | None = getattr(default, "factory", None)
    if factory in (list, dict, set):
        return factory
    empty: Any = type(default) if not default else None  # pyright: ignore[reportUnknownVariableType] - of Any
    return empty if empty in (type(None), str, int, bool, tuple) else None


def _pydantic(cls: Any) -> Shape:
    def take(value: Any) -> dict[str, Any]:
        known: Mapping[str, Any] = cls.__pydantic_fields__
        state: dict[str, Any] = value.__dict__
        fields = {name: state[name] for name in known if name in state}
        extra: dict[str, Any] | None = value.__pydantic_extra__
        given: set[str] = value.__pydantic_fields_set__
        private: dict[str, Any] | None = value.__pydantic_private__
        if extra:
            fields["~extra"] = extra
        if given != fields.keys():
            fields["~set"] = sorted(given)
        if private:
            fields["~private"] = private
        return fields

    def build(fields: dict[str, Any]) -> Any:
        known: Mapping[str, Any] = cls.__pydantic_fields__
        extra = fields.pop("~extra", None)
        private = fields.pop("~private", None)
        given = fields.pop("~set", None)
        strangers = fields.keys() - known.keys()
        policy = cls.model_config.get("extra", "ignore")
        if strangers and policy == "forbid":
            _refuse_unknown(fields, known)
        gone = {name: fields[name] for name in strangers}
        value = cls.__new__(cls)
        put = object.__setattr__
        put(value, "__dict__", _pydantic_state(known, fields))
        put(value, "__pydantic_fields_set__", set(fields.keys() & known.keys() if given is None else given))
        put(value, "__pydantic_extra__", {**(extra or {}), **gone} if policy == "allow" else None)
        put(value, "__pydantic_private__", _pydantic_private(cls, private))
        return value

    return Shape(take, build, fields=True)


def _pydantic_state(known: Mapping[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return a value for each field of a model: the stored one, or the default of a field that is new."""
    state: dict[str, Any] = {}
    for name, info in known.items():
        if name in fields:
            state[name] = fields[name]
        elif info.is_required():
            raise FieldsDiffer(f"the field {name!r} is missing")
        else:
            state[name] = info.get_default(call_default_factory=True, validated_data=state)
    return state


def _pydantic_private(cls: Any, stored: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a model's private attributes: the stored ones over the defaults."""
    if not cls.__private_attributes__:
        return None
    undefined = sys.modules["pydantic_core"].PydanticUndefined
    defaults = {name: one.get_default() for name, one in cls.__private_attributes__.items()}
    return {name: one for name, one in defaults.items() if one is not undefined} | (stored or {})


def _dataclass(cls: Any) -> Shape:
    import dataclasses

    listed = dataclasses.fields(cls)
    names = tuple(one.name for one in listed)
    known = frozenset(names)
    missing = dataclasses.MISSING

    def take(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names if hasattr(value, name)}

    def build(fields: dict[str, Any]) -> Any:
        if not fields.keys() <= known:
            _refuse_unknown(fields, known)
        value = cls.__new__(cls)
        put = object.__setattr__
        for one in listed:
            name = one.name
            if name in fields:
                put(value, name, fields[name])
            elif one.default is not missing:
                put(value, name, one.default)
            elif one.default_factory is not missing:
                put(value, name, one.default_factory())
            elif one.init:
                raise FieldsDiffer(f"the field {name!r} is missing")
        return value

    return Shape(take, build, fields=True)


def _attrs(cls: Any) -> Shape:
    listed = cls.__attrs_attrs__
    names = tuple(one.name for one in listed)
    known = frozenset(names)

    def build(fields: dict[str, Any]) -> Any:
        if not fields.keys() <= known:
            _refuse_unknown(fields, known)
        value = cls.__new__(cls)
        for one in listed:
            if one.name in fields:
                object.__setattr__(value, one.name, fields[one.name])
            elif one.default is None or type(one.default) in (str, int, float, bool, tuple):
                object.__setattr__(value, one.name, one.default)
            else:
                raise FieldsDiffer(f"the field {one.name!r} is missing")
        return value

    def take(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names}

    return Shape(take, build, fields=True)


def _namedtuple(cls: Any) -> Shape:
    names: tuple[str, ...] = cls._fields
    known = frozenset(names)
    defaults: dict[str, Any] = cls._field_defaults
    make: Any = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of Any

    def build(fields: dict[str, Any]) -> Any:
        if not fields.keys() <= known:
            _refuse_unknown(fields, known)
        try:
            return make(cls, [fields[name] if name in fields else defaults[name] for name in names])
        except KeyError as error:
            raise FieldsDiffer(f"the field {error} is missing") from error

    def take(value: Any) -> dict[str, Any]:
        return dict(zip(names, value, strict=True))

    return Shape(take, build, fields=True)


def _refuse_unknown(fields: Any, known: Any) -> None:
    strangers = ", ".join(repr(name) for name in sorted(fields.keys() - set(known)))
    raise FieldsDiffer(f"it has no field {strangers}")
