"""Values to bytes. What msgpack knows goes through in C; one walk finds the rest.

The walk returns a value of plain types with `Ext` where it met something else. Extensions hold encoded bytes, so
decoding plain data costs no Python at all.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.msgpack import Encoder, Ext

from clew._serde import _types as T
from clew._serde._groups import load_for_type
from clew._serde._known import load_known
from clew._serde._registry import Registry, default
from clew.errors import SerializationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

MAX_DEPTH = 880  # levels; an extension counts twice, since reading one takes two calls
_ATOMS = frozenset({NoneType, bool, int, float, str, bytes})
_CAREFUL = _ATOMS - {int, str}
_MIN, _MAX = -(2**63), 2**64 - 1
_NESTED, _DONE = True, False
_to_bytes = Encoder().encode
_messages: set[Any] = set()  # clew's own classes of messages, once one was met
_wire: list[Any] = []  # and how they are taken apart


class Refused(Exception):
    """The value can't be kept: args[0] says why, args[1] is the value."""


def encode(value: Any, *, registry: Registry = default) -> bytes:
    """Return a value as bytes that `decode` turns back into an equal value of the same types.

    Raises: SerializationError (a TypeError) naming the path of the first value that can't be kept ("$.user.tags[2]"):
    a class that nobody registered, a function, an open file, a structure that contains itself or is too deep.
    Cost: 0.3 µs for a small value of plain types, 1-3 µs for a message, then linear.
    """
    try:
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of Any
        try:
            if kind in _ATOMS or (
                kind is dict and _ATOMS.issuperset(map(type, value)) and _ATOMS.issuperset(map(type, value.values()))
            ):
                return _to_bytes(value)
            return _to_bytes(_Walk(registry).pack(value))
        except (OverflowError, UnicodeEncodeError):  # a big int or half a surrogate pair, somewhere
            return _to_bytes(_Walk(registry, _CAREFUL).pack(value))
    except RecursionError:
        return _on_a_fresh_stack(value, registry)
    except Refused as refused:
        _explain(value, registry, refused)


class _Walk:
    """One pass over a value. atoms: the types that go as they are; without int and str, each of those is looked at."""

    __slots__ = ("atoms", "depth", "registry")

    def __init__(self, registry: Registry, atoms: frozenset[Any] = _ATOMS) -> None:
        self.registry = registry
        self.atoms = atoms
        self.depth = 0

    def pack(self, value: Any) -> Any:
        """Return a value of plain types and extensions. One frame per level: stacks are short."""
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of Any
        atoms = self.atoms
        if kind in atoms:
            return value
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(value)
        packed: Any
        if kind is dict and atoms.issuperset(map(type, value)):
            if atoms.issuperset(map(type, value.values())):
                packed = value
            else:
                packed = {}
                for key, one in value.items():
                    packed[key] = one if type(one) in atoms else self.pack(one)
        elif kind is list:
            if atoms.issuperset(map(type, value)):
                packed = value
            else:
                packed = []
                for one in value:
                    packed.append(one if type(one) in atoms else self.pack(one))
        else:
            code, data, form = self.split(kind, value)
            if form is _NESTED:
                data = _to_bytes(self.pack(data))
            packed = Ext(code, data) if code else data
        self.depth -= 1
        return packed

    def split(self, kind: type[Any], value: Any) -> tuple[int, Any, bool]:
        """Take apart a value that is no plain list or dict.

        Returns: (code, data, _NESTED) when the data must be packed in turn; (code, bytes, _DONE) when it is encoded;
        (0, value, _DONE) when the value goes as it is.
        """
        if (kind is int and _MIN <= value <= _MAX) or (kind is str and _is_unicode(value)):
            return 0, value, _DONE
        if kind in _messages or (kind.__module__.startswith("clew.messages.") and kind in _load_messages()):
            return self._message(value)
        entry = self.registry.of_class(kind)
        if entry is not None:
            data = [entry.tag, entry.shape.take(value)]
            if entry.version != 1:
                data.append(entry.version)
            return T.OBJECT, data, _NESTED
        handler = T.by_type.get(kind)
        if handler is None and load_for_type(kind):
            handler = T.by_type.get(kind)
        if handler is not None:
            data = _taken(handler, value)
            return (handler.code, data, _NESTED) if handler.nested else (handler.code, _to_bytes(data), _DONE)
        if issubclass(kind, BaseException):
            from clew._serde._exceptions import take

            return T.ERROR, take(value, self._fits), _NESTED
        if load_known(kind, self.registry):
            return self.split(kind, value)
        raise Refused(_advice(kind), value)

    def pack_deep(self, value: Any) -> Any:
        """Return what `pack` does, on a stack of its own instead of Python's."""
        stack = [self._pack_steps(value)]
        packed = None
        while True:
            try:
                child = stack[-1].send(packed)
            except StopIteration as done:
                packed = done.value
                stack.pop()
                if not stack:
                    return packed
            else:
                if len(stack) >= MAX_DEPTH:
                    raise _too_deep(child)
                stack.append(self._pack_steps(child))
                packed = None

    def _pack_steps(self, value: Any) -> Generator[Any, Any, Any]:
        """Yield each part that needs packing, take it back packed, return the whole."""
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of Any
        atoms = self.atoms
        if kind in atoms:
            return value
        if kind is dict and atoms.issuperset(map(type, value)):
            packed: dict[Any, Any] = {}
            for key, one in value.items():
                packed[key] = one if type(one) in atoms else (yield one)
            return packed
        if kind is list:
            items: list[Any] = []
            for one in value:
                items.append(one if type(one) in atoms else (yield one))  # noqa: PERF401 - a comprehension can't yield
            return items
        code, data, form = self.split(kind, value)
        if form is _NESTED:
            data = _to_bytes((yield data))
        return Ext(code, data) if code else data

    def _message(self, message: Any) -> tuple[int, Any, bool]:
        """Take a message of clew's own apart: in C when it holds nothing that msgpack lacks."""
        is_plain, encode_message, to_fields = _wire
        if self.atoms is _ATOMS and is_plain(message):
            return T.MESSAGE, encode_message(message), _DONE
        return T.MESSAGE_FIELDS, to_fields(message), _NESTED

    def _fits(self, value: Any) -> bool:
        """Whether a value can be kept; for the parts of an exception that may be left out."""
        try:
            encode(value, registry=self.registry)
        except SerializationError:
            return False
        return True


def _load_messages() -> set[Any]:
    """Return clew's own classes of messages; called once one of them is met."""
    from clew.messages import _wire as wire
    from clew.messages.base import REGISTRY

    _wire[:] = [wire.is_plain, wire.encode_message, wire.to_fields]
    _messages.update(REGISTRY.values())
    return _messages


def _taken(handler: T.Handler, value: Any) -> Any:
    try:
        return handler.take(value)
    except T.Unfit as unfit:
        raise Refused(unfit.args[0], value) from None


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_deep(value: Any) -> Refused:
    return Refused(f"it is nested deeper than {MAX_DEPTH} levels, or contains itself", value)


def _advice(kind: type[Any]) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__ == "builtins" or hasattr(kind, "__code__"):
        return f"{kind.__qualname__} has no data form"
    return (
        f"the class {name} is not registered: annotate the task, entrypoint or state with it, or call "
        "clew.checkpoint.serde.register(cls)"
    )


def _explain(value: Any, registry: Registry, refused: Refused) -> NoReturn:
    from clew._serde._locate import locate

    reason, culprit = refused.args
    path = locate(value, culprit, registry)
    raise SerializationError(
        f"can't save the value at {path}: {type(culprit).__name__} {_short(culprit)}: {reason}", path=path
    ) from None


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a user's __repr__ may do anything, RecursionError included
        return "(no repr)"
    return text if len(text) <= 80 else text[:77] + "…"


def _on_a_fresh_stack(value: Any, registry: Registry) -> bytes:
    """Try once more in a thread of its own, whose stack is empty: the caller's may be deep already."""
    try:
        return in_thread(lambda: _to_bytes(_Walk(registry, _CAREFUL).pack_deep(value)))
    except Refused as refused:
        _explain(value, registry, refused)


def in_thread(work: Callable[[], Any]) -> Any:
    """Run work in a new thread and hand back its result or its exception."""
    import threading

    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="clew-serde")
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
