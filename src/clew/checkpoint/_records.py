"""What a run writes down, one record per fact, and the body of a checkpoint.

Records belong to the checkpoint that a run started from and are only ever added. `path` is the place of a call in the
run ("3": fourth call of the body, "3.0": first call in that), fixed when it is called. Values are bytes of the codec.
Times are seconds since the epoch, UTC.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import StorageCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Result(Struct, array_like=True, tag=1, gc=False):
    """A task ended well. args: see `digest`. how: "" | "cached" | "edited"."""

    path: str
    name: str
    args: bytes
    value: bytes
    started: float = 0.0
    ended: float = 0.0
    attempt: int = 1
    how: str = ""


class Failure(Struct, array_like=True, tag=2, gc=False):
    """A task raised. error: the exception, encoded; text: its type and message for people."""

    path: str
    name: str
    args: bytes
    error: bytes
    text: str
    started: float = 0.0
    ended: float = 0.0
    attempt: int = 1


class Question(Struct, array_like=True, tag=3, gc=False):
    """`interrupt` was called and there was no answer. owner: path of the frame that asked."""

    id: str
    path: str
    owner: str
    name: str
    value: bytes
    asked: float
    key: str | None = None
    schema: bytes | None = None
    expires: float | None = None
    default: bytes | None = None


class Answer(Struct, array_like=True, tag=4, gc=False):
    """The answer to a question. how: "" | "expired"."""

    id: str
    value: bytes
    at: float
    how: str = ""


class Attempt(Struct, array_like=True, tag=5, gc=False):
    """A try of a task failed and another will follow. resume: when the next one is due."""

    path: str
    name: str
    number: int
    text: str
    at: float
    resume: float


class Begin(Struct, array_like=True, tag=6, gc=False):
    """A run, or its next attempt after a pause, a failure or a crash, began."""

    at: float
    attempt: int


class End(Struct, array_like=True, tag=7, gc=False):
    """An attempt ended without a result. how: "error" | "cancelled" | "drained".

    retry: tasks whose failure ended it, to be tried again: (path, prefix of the frame that saw the failure, how many
    calls that frame had made by then); what it called after that may be called otherwise next time.
    """

    how: str
    at: float
    text: str = ""
    retry: list[tuple[str, str, int]] = []


class Write(Struct, array_like=True, tag=8, gc=False):
    """A write by the documented `put_writes`."""

    task_id: str
    index: int
    channel: str
    value: bytes
    path: str = ""


class Wake(Struct, array_like=True, tag=9, gc=False):
    """A durable sleep: when it ends."""

    path: str
    at: float


class Mark(Struct, array_like=True, tag=10, gc=False):
    """A decision that a run took once and keeps: the version of the code that it began with (`patched`)."""

    name: str
    value: bytes


Record: TypeAlias = Result | Failure | Question | Answer | Attempt | Begin | End | Write | Wake | Mark
Ref: TypeAlias = bytes | tuple[int, int, bool]  # the value itself, or (chain, n, whether the chain goes on elsewhere)


class Body(Struct, array_like=True, gc=False):
    """A checkpoint. values: by channel. workflow: who wrote it. private: position of a graph, encoded, or None.

    run: id of the input checkpoint that its run began with ("" when it is that one itself).
    """

    at: float
    source: str
    step: int
    values: dict[str, Ref]
    workflow: str = ""
    metadata: bytes | None = None
    private: bytes | None = None
    versions: dict[str, Any] | None = None
    seen: dict[str, Any] | None = None
    ts: str | None = None
    run: str = ""


_pack = msgspec.msgpack.Encoder().encode
_record = msgspec.msgpack.Decoder(Record).decode
_body = msgspec.msgpack.Decoder(Body).decode


def pack(record: Record | Body) -> bytes:
    """Return a record or body as bytes."""
    return _pack(record)


def unpack(data: bytes) -> Record:
    """Return the record that these bytes hold. Raises: StorageCorruptError."""
    try:
        return _record(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(error) from error


def unpack_all(bodies: Iterable[bytes]) -> list[Record]:
    """Return the records of many rows. Raises: StorageCorruptError."""
    decode = _record
    try:
        return [decode(body) for body in bodies]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(error) from error


def unpack_body(data: bytes) -> Body:
    """Return the checkpoint body that these bytes hold. Raises: StorageCorruptError."""
    try:
        return _body(data if data[:1] != _SQUEEZED else _unsqueeze(data))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(error) from error


def _unsqueeze(data: bytes) -> bytes:
    import zlib

    try:
        return zlib.decompress(data[1:])
    except zlib.error as error:
        raise _damaged(error) from error


_SQUEEZED = b"\xc1"  # never the beginning of msgpack
_SQUEEZE = range(300, 100_000)  # bytes: worth ten microseconds


def pack_input(body: Body) -> bytes:
    """Return the body of an input checkpoint, squeezed when it is of some size: it is written once and seldom read."""
    raw = _pack(body)
    if len(raw) not in _SQUEEZE:
        return raw
    import zlib

    squeezer = zlib.compressobj(1, zlib.DEFLATED, 11, 4)
    small = _SQUEEZED + squeezer.compress(raw) + squeezer.flush()
    return small if len(small) < len(raw) else raw


def _damaged(error: Exception) -> StorageCorruptError:
    return StorageCorruptError(f"a stored row is not what clew wrote, or is damaged: {error}")


# -- identities -------------------------------------------------------------------------------------


def task_id(thread_id: str, checkpoint_id: str, path: str) -> str:
    """Return the id of a call: the same over all attempts and processes. 32 hex digits."""
    return blake2b(f"{thread_id}\0{checkpoint_id}\0{path}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _seal(thread_id: str, half: str) -> str:
    return blake2b(f"{thread_id}\0{half}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def question_id(thread_id: str, checkpoint_id: str, path: str) -> str:
    """Return the id of a question, which a thread can later recognise as its own with no list of those it issued."""
    half = task_id(thread_id, checkpoint_id, f"?{path}")[:16]
    return half + _seal(thread_id, half)


def is_question_id(thread_id: str, text: Any) -> bool:
    """Say whether the thread issued this id at any time."""
    return type(text) is str and len(text) == 32 and text[16:] == _seal(thread_id, text[:16])


# -- arguments --------------------------------------------------------------------------------------

_SHORT = 96


def _foreign(value: Any) -> Any:
    from clew import _serde

    try:
        return _serde.encode(value)
    except Exception:  # not savable, which arguments need not be: only its type counts
        return f"<{type(value).__qualname__}>"


_canonical = msgspec.msgpack.Encoder(enc_hook=_foreign, order="deterministic").encode


def digest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Return what stands for the arguments of a call: equal arguments give equal bytes.

    Short ones are kept as they are, so they can be shown; long ones as a hash and the beginning of their repr.
    """
    try:
        raw = _canonical((args, kwargs) if kwargs else args)
    except Exception:  # ints beyond 64 bit, odd dict keys, bare surrogates
        raw = _slow(args, kwargs)
    if len(raw) <= _SHORT:
        return b"\0" + raw
    return b"\1" + blake2b(raw, digest_size=12).digest() + _brief(args, kwargs).encode("utf-8", "replace")


def _slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    parts: list[bytes] = []
    for value in (*args, *(part for key in sorted(kwargs) for part in (key, kwargs[key]))):
        try:
            parts.append(_canonical(value))
        except Exception:
            shown = _foreign(value)
            parts.append(shown if isinstance(shown, bytes) else shown.encode())
    return _pack(parts)


def same_args(one: bytes, other: bytes) -> bool:
    """Say whether two digests stand for equal arguments."""
    if one == other:
        return True
    return one[:1] == other[:1] == b"\1" and one[1:13] == other[1:13]


def _clip(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _brief(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    import reprlib

    short = reprlib.Repr()
    short.maxstring = short.maxother = 40
    shown = [short.repr(value) for value in args] + [f"{key}={short.repr(value)}" for key, value in kwargs.items()]
    return _clip(", ".join(shown), 120)


def show_args(args: bytes) -> str:
    """Return the arguments of a call for people, without brackets."""
    if args[:1] == b"\1":
        return args[13:].decode("utf-8", "replace")
    if args[:1] != b"\0":
        return ""
    try:
        found: Any = msgspec.msgpack.decode(args[1:])
    except msgspec.DecodeError:
        return "…"
    listed: list[Any] = list(found) if isinstance(found, list) else [found]  # pyright: ignore[reportUnknownArgumentType] - msgpack
    named: dict[Any, Any] = {}
    if len(listed) == 2 and isinstance(listed[0], list) and isinstance(listed[1], dict):
        listed, named = listed
    return _clip(", ".join([*map(repr, listed), *(f"{key}={value!r}" for key, value in named.items())]), 120)
