"""Exceptions as data: class name, arguments, attributes, notes, cause.

Any exception may be saved, since a failure must be recordable whatever it is; what it carries beyond data (a response
object, a lock) is left out. On load its class is looked for among the exception classes that exist in this process,
and built without running its `__init__`: the same type with the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.errors import DeserializationError

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_CAUSES = 8
_index: dict[str, type[BaseException]] = {}


def take(error: BaseException, fits: Callable[[Any], bool], depth: int = 0) -> list[Any]:
    """Return [class, text, args, attributes, notes, cause, suppress]; fits: whether a value can be kept."""
    cls = type(error)
    text = _text(error)
    if cls.__module__.startswith("pydantic_core") and hasattr(error, "title"):
        args: Any = [getattr(error, "title", ""), _line_errors(error, fits)]
    else:
        args = [one if fits(one) else _text(one) for one in error.args]
    attributes = {
        name: value for name, value in getattr(error, "__dict__", {}).items() if name != "__notes__" and fits(value)
    }
    for name in _slots(cls):
        value = getattr(error, name, None)
        if value is not None and fits(value):
            attributes[name] = value
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    cause = error.__cause__
    stored = take(cause, fits, depth + 1) if cause is not None and depth < _MAX_CAUSES else None
    return [_name(cls), text, args, attributes, notes, stored, error.__suppress_context__]


def build(data: Any) -> BaseException:
    """Return the exception that `take` took apart. Raises: DeserializationError when its class is not loaded here."""
    name, text, args, attributes, notes, cause, suppress = data
    cls = _find(name)
    if cls is None:
        raise DeserializationError(
            f"a stored failure is of class {name!r}, which this program has not loaded ({text!r}): import the module "
            "that defines it before resuming; if the class moved, keep a subclass under its old name"
        )
    error = _bare(cls, args)
    for key, value in attributes.items():
        try:
            setattr(error, key, value)
        except (AttributeError, TypeError):  # a read-only attribute comes from the arguments
            continue
    if _text(error) != text and not cls.__module__.startswith("pydantic_core"):
        error.args = (text,)
    for note in notes:
        error.add_note(note)
    if cause is not None:
        error.__cause__ = build(cause)
    error.__suppress_context__ = suppress
    return error


def _name(cls: type[BaseException]) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}:{cls.__qualname__}"


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # a user's __str__ may do anything
        return f"<{type(value).__qualname__}>"


def _slots(cls: type[BaseException]) -> list[str]:
    """Names that C or `__slots__` keep outside `__dict__` and that args don't give back (StopIteration.value does)."""
    names = [name for base in cls.__mro__ for name in _listed(base) if not name.startswith("__")]
    if issubclass(cls, ImportError):
        names += ["name", "path"]
    if issubclass(cls, (NameError, AttributeError)):
        names += ["name"]
    if issubclass(cls, OSError):
        names += ["filename", "filename2"]
    return names


def _listed(base: type[Any]) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _bare(cls: type[BaseException], args: list[Any]) -> BaseException:
    """Return an instance with these args, made by the nearest builtin base: no code of the class runs."""
    if cls.__module__.startswith("pydantic_core"):
        return _validation_error(cls, args)
    maker = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    if issubclass(cls, BaseExceptionGroup):
        group: Any = maker
        return group.__new__(cls, *args[:2])
    error = maker.__new__(cls, *args)
    init: Any = maker.__init__
    if maker in (SystemExit, StopIteration, StopAsyncIteration, OSError) or issubclass(maker, (OSError, UnicodeError)):
        try:
            init(error, *args)
        except TypeError:  # args were replaced by their text
            error.args = tuple(args)
    error.args = tuple(args) if not isinstance(error, OSError) or len(error.args) != len(args) else error.args
    return error


def _find(name: str) -> type[BaseException] | None:
    """Return a loaded exception class by its stored name; walks the tree of classes only when it is not yet known."""
    found = _index.get(name)
    if found is None:
        seen: set[type[Any]] = set()
        todo: list[type[BaseException]] = [BaseException]
        while todo:
            cls = todo.pop()
            if cls not in seen:
                seen.add(cls)
                _index[_name(cls)] = cls
                todo.extend(reversed(cls.__subclasses__()))
        found = _index.get(name)
    return found


def _line_errors(error: Any, fits: Callable[[Any], bool]) -> list[Any]:
    """Return the errors of a pydantic ValidationError as data."""
    return [
        [
            one["type"],
            list(one["loc"]),
            one["msg"],
            one["input"] if fits(one["input"]) else _text(one["input"]),
            {key: value for key, value in one.get("ctx", {}).items() if fits(value)},
        ]
        for one in error.errors(include_url=False)
    ]


def _validation_error(cls: Any, args: list[Any]) -> BaseException:
    from pydantic_core import PydanticCustomError

    title, lines = args
    known = [{"type": one[0], "loc": tuple(one[1]), "input": one[3], "ctx": one[4]} for one in lines]
    try:
        return cls.from_exception_data(title, known)
    except (KeyError, TypeError):  # an error type that the user's model made up
        details = [
            {**detail, "type": PydanticCustomError(one[0], "{text}", {"text": one[2]})}
            for detail, one in zip(known, lines, strict=True)
        ]
        return cls.from_exception_data(title, [{k: v for k, v in one.items() if k != "ctx"} for one in details])
