r"""One JSON file per session, appended in place.

The file is a JSON array at every moment, with one line per write:

    [
    {"type": "human", …},{"type": "ai", …}
    ,{"type": "human", …},{"type": "ai", …}
    ]

Appending writes `,{…}\n]` over the closing bracket: nothing before it is touched, so a turn costs the same in a long
conversation. A line without its end is a write that a crash cut short: it never returned, and reading passes over it.
Files that others wrote as one plain array are read as they are and given this layout by the first append.

Invariant: writers hold an exclusive lock on the file, readers a shared one (where the platform has `fcntl`).
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clew.chat_history import BaseChatMessageHistory
from clew.chat_message_histories._codec import encode_readable, from_dicts, loads
from clew.errors import DeserializationError, StorageError
from clew.runnables._session_lock import session_lock

try:
    import fcntl
except ImportError:  # not a POSIX system: threads are kept apart, processes are not
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from clew.messages import BaseMessage

__all__ = ["FileChatMessageHistory"]

_EMPTY = b"[\n]"
_END = b"\n]"
_BLOCK = 65_536  # bytes of one step backwards


class FileChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session in one JSON file, made when it is missing.

    file_path: the file; its folder must exist. encoding: of the text, ASCII-compatible (UTF-8 by default).
    ensure_ascii: write other characters as escapes.
    Raises: StorageError when the file can't be opened, DeserializationError (a ValueError) when it holds other things.
    """

    def __init__(self, file_path: str, *, encoding: str | None = None, ensure_ascii: bool = True) -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding or "utf-8"
        self.ensure_ascii = ensure_ascii
        self._is_utf8 = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii")
        if "[\n]".encode(self.encoding) != _EMPTY:
            raise ValueError(f"encoding must be compatible with ASCII, which {encoding!r} is not")
        with self._open(exclusive=True) as descriptor:
            if os.fstat(descriptor).st_size == 0:
                _write(descriptor, _EMPTY, 0)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - read from the file each time
        """All messages of the file, oldest first."""
        with self._open(exclusive=False) as descriptor:
            return from_dicts(self._items(_read(descriptor)))

    def get_last_messages(self, n: int) -> list[BaseMessage]:
        """Return the newest n messages, oldest of them first; clew's stores read no more than these."""
        with self._open(exclusive=False) as descriptor:
            return from_dicts(self._last_items(descriptor, n)) if n > 0 else []

    def get_messages_after(self, n: int) -> list[BaseMessage]:
        """Return all messages but the oldest n; clew's stores read no more than these."""
        with self._open(exclusive=False) as descriptor:
            return from_dicts(self._items(_read(descriptor))[max(n, 0) :])

    def add_message(self, message: BaseMessage) -> None:
        """Append one message."""
        self.add_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order and, in clew's stores, all or none and with nothing between them."""
        if not messages:
            return
        line = self._line(messages)
        with self._open(exclusive=True) as descriptor:
            size = os.fstat(descriptor).st_size
            if _read(descriptor, max(size - 2, 0)) != _END:  # another's layout, or a write that was cut short
                self._swap(descriptor, [*self._lines(self._items(_read(descriptor))), line])
            else:
                _write(descriptor, (b"" if size == len(_EMPTY) else b",") + line + _END, size - 1)

    def replace_head(self, expected: Sequence[BaseMessage], replacement: Sequence[BaseMessage]) -> bool:
        """Put `replacement` in the place of the oldest messages, if these are still `expected` (compare and swap)."""
        n = len(expected)
        head = [self._line([message]) for message in replacement]
        with self._open(exclusive=True) as descriptor:
            items = self._items(_read(descriptor))
            if from_dicts(items[:n]) != list(expected):
                return False
            self._swap(descriptor, head + self._lines(items[n:]))
        return True

    def clear(self) -> None:
        """Remove all messages of this session."""
        with self._open(exclusive=True) as descriptor:
            self._swap(descriptor, [])

    # -- the file -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _open(self, *, exclusive: bool) -> Generator[int]:
        """Open and lock the file; a file that another process put in its place meanwhile is opened instead."""
        name = os.path.realpath(self.file_path)
        with session_lock(("file", name)):  # flock is per open file: threads of one process need this too
            while True:
                try:
                    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
                except OSError as error:
                    raise StorageError(
                        f"{name!r} can't be opened ({error.strerror}): check that its folder exists and may be written",
                        backend="file",
                    ) from error
                try:
                    if fcntl is not None:
                        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
                    if not _is_same(descriptor, name):
                        continue
                    try:
                        yield descriptor
                    except OSError as error:
                        raise StorageError(
                            f"{name!r}: {error.strerror}: nothing of this write was kept", backend="file"
                        ) from error
                    return
                finally:
                    os.close(descriptor)

    def _line(self, messages: Sequence[BaseMessage]) -> bytes:
        texts = [encode_readable(message, ensure_ascii=self.ensure_ascii) for message in messages]
        try:
            return ",".join(texts).encode(self.encoding)
        except UnicodeEncodeError:  # a character that this encoding or any lacks: only escapes carry it
            return ",".join(encode_readable(message, ensure_ascii=True) for message in messages).encode(self.encoding)

    def _items(self, raw: bytes) -> list[Any]:
        """Return the stored items, without a last line that has no end."""
        if not raw:
            return []
        try:
            found = loads(raw.decode(self.encoding))
        except (DeserializationError, UnicodeDecodeError) as error:
            whole = raw[: raw.rfind(b"\n") + 1]
            if not whole.startswith(b"[\n"):
                raise DeserializationError(f"{str(self.file_path)!r} is no JSON list of messages: {error}") from error
            found = loads(whole.decode(self.encoding) + "]")
        if not isinstance(found, list):
            raise DeserializationError(f"{str(self.file_path)!r} holds no list of messages")
        return found  # pyright: ignore[reportUnknownVariableType] - JSON; each item is checked when it becomes a message

    def _lines(self, items: list[Any]) -> list[bytes]:
        """Return stored items as lines, one each.

        Raises: DeserializationError when they are no messages: what is no history is not appended to.
        """
        from_dicts(items)
        try:
            return [json.dumps(item, ensure_ascii=self.ensure_ascii).encode(self.encoding) for item in items]
        except UnicodeEncodeError:
            return [json.dumps(item).encode(self.encoding) for item in items]

    def _last_items(self, descriptor: int, n: int) -> list[Any]:
        """Return the newest n items, reading backwards no further than needed."""
        start = os.fstat(descriptor).st_size
        tail = b""
        while start > 0:
            step = min(max(_BLOCK, len(tail)), start)  # doubling: linear in what is read
            start -= step
            tail = _read(descriptor, start, step) + tail
            if not tail.endswith(_END):
                break
            lines = tail[: -len(_END)].split(b"\n")[1:]  # the first one may have begun earlier
            found = [item for line in lines for item in self._items_of_line(line)]
            if len(found) >= n:
                return found[-n:]
        return self._items(_read(descriptor))[-n:]

    def _items_of_line(self, line: bytes) -> list[Any]:
        """Return the items of one line of ours; of a line that is part of another layout, nothing."""
        try:
            found: list[Any] = loads(b"[%b]" % line.removeprefix(b",")) if self._is_utf8 else []
        except DeserializationError:
            return []
        whole = all(isinstance(item, dict) and "data" in cast("dict[str, Any]", item) for item in found)
        return found if whole else []

    def _swap(self, descriptor: int, lines: list[bytes]) -> None:
        """Put new content in the file's place in one step, then overwrite what it held."""
        name = os.path.realpath(self.file_path)
        content = _layout(lines)
        fresh = f"{name}.{os.getpid()}.{threading.get_ident()}.new"
        try:
            with open(fresh, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(fresh, os.fstat(descriptor).st_mode & 0o777)
            os.replace(fresh, name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            raise
        _erase(descriptor)


def _layout(lines: list[bytes]) -> bytes:
    return b"[\n" + b"\n,".join(lines) + _END if lines else _EMPTY


def _is_same(descriptor: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name))
    except FileNotFoundError:
        return False


def _read(descriptor: int, offset: int = 0, size: int | None = None) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    left = os.fstat(descriptor).st_size - offset if size is None else size
    parts: list[bytes] = []
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write(descriptor: int, content: bytes, offset: int) -> None:
    os.lseek(descriptor, offset, os.SEEK_SET)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _erase(descriptor: int) -> None:
    """Overwrite a file that no name leads to any more."""
    _write(descriptor, bytes(os.fstat(descriptor).st_size), 0)
    os.fsync(descriptor)
