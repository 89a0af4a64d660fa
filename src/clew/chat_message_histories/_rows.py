"""What all stores of message rows share: messages become rows here, and a store only moves rows.

A store says how to read some rows, append a few in one step, compare and swap its beginning, and clear. Everything
public is built on these four and their async twins, which run in a worker thread unless the client has better.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from clew.chat_history import BaseChatMessageHistory, in_thread
from clew.chat_message_histories._codec import decode, encode_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.messages import BaseMessage


class RowHistory(BaseChatMessageHistory):
    """A history whose messages are rows of text, oldest first."""

    session_id: str

    # -- what a store gives ---------------------------------------------------------------------------

    @abstractmethod
    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        """Return rows, oldest first: all but the oldest `after`, or the newest `last`."""

    @abstractmethod
    def _append(self, rows: list[str]) -> None:
        """Add rows at the end: all or none, with nothing between them, whoever else writes."""

    @abstractmethod
    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        """Put rows in the place of the oldest `count` if `same` accepts these, in one step."""

    @abstractmethod
    def _clear(self) -> None:
        """Remove all rows of this session."""

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        return await in_thread(lambda: self._read(last=last, after=after))

    async def _aappend(self, rows: list[str]) -> None:
        await in_thread(self._append, rows)

    async def _aclear(self) -> None:
        await in_thread(self._clear)

    # -- what users call ------------------------------------------------------------------------------

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - read from the store each time
        """All messages of the session, oldest first, read anew each time."""
        return decode(self._read())

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first."""
        return decode(await self._aread())

    def get_last_messages(self, n: int) -> list[BaseMessage]:
        """Return the newest n messages, oldest of them first; clew's stores read no more than these."""
        return decode(self._read(last=n)) if n > 0 else []

    async def aget_last_messages(self, n: int) -> list[BaseMessage]:
        """Return the newest n messages, oldest of them first."""
        return decode(await self._aread(last=n)) if n > 0 else []

    def get_messages_after(self, n: int) -> list[BaseMessage]:
        """Return all messages but the oldest n; clew's stores read no more than these."""
        return decode(self._read(after=max(n, 0)))

    async def aget_messages_after(self, n: int) -> list[BaseMessage]:
        """Return all messages but the oldest n."""
        return decode(await self._aread(after=max(n, 0)))

    def add_message(self, message: BaseMessage) -> None:
        """Append one message."""
        self.add_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order and, in clew's stores, all or none and with nothing between them."""
        if messages:
            self._append(encode_each(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order."""
        if messages:
            await self._aappend(encode_each(messages))

    def replace_head(self, expected: Sequence[BaseMessage], replacement: Sequence[BaseMessage]) -> bool:
        """Put `replacement` in the place of the oldest messages, if these are still `expected` (compare and swap)."""
        wanted = list(expected)
        return self._replace(len(wanted), lambda rows: decode(rows) == wanted, encode_each(replacement))

    def clear(self) -> None:
        """Remove all messages of this session."""
        self._clear()

    async def aclear(self) -> None:
        """Remove all messages of this session."""
        await self._aclear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(session_id={self.session_id!r})"

