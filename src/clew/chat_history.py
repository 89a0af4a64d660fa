"""Where the messages of one conversation are kept.

A history is one session of one store. Writing a subclass takes `messages`, `clear` and either of `add_message` and
`add_messages`; the bulk one is better, since a turn (question, answer, whatever lies between) is then one write that
no other writer can fall into. Reading part of a history and replacing its beginning have defaults that work everywhere
and native forms in clew's own stores.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from clew._pool import run_in_executor
from clew.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BaseChatMessageHistory", "InMemoryChatMessageHistory"]

T = TypeVar("T")
_swapping = threading.Lock()  # one compare-and-swap of an in-memory history at a time
_ADVICE = (
    "{name} can't be written to: implement add_message or add_messages (better: add_messages is one round trip a turn)"
)


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Run a user's blocking method in a worker thread, with the caller's context variables."""
    return await run_in_executor(None, function, *args)


class BaseChatMessageHistory(ABC):
    """The messages of one session, oldest first.

    Subclasses give `messages` (attribute or property), `clear`, and `add_message` or `add_messages`. The async faces
    run the blocking ones in a worker thread unless overridden.
    """

    messages: list[BaseMessage]

    # -- reading --------------------------------------------------------------------------------------

    def get_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first; the same as `messages`."""
        return self.messages

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first."""
        return await in_thread(lambda: self.messages)

    def get_last_messages(self, n: int) -> list[BaseMessage]:
        """Return the newest n messages, oldest of them first; clew's stores read no more than these."""
        return self.messages[-n:] if n > 0 else []

    async def aget_last_messages(self, n: int) -> list[BaseMessage]:
        """Return the newest n messages, oldest of them first."""
        if _reads_whole(type(self)):
            return (await self.aget_messages())[-n:] if n > 0 else []
        return await in_thread(self.get_last_messages, n)

    def get_messages_after(self, n: int) -> list[BaseMessage]:
        """Return all messages but the oldest n; clew's stores read no more than these."""
        return self.messages[max(n, 0) :]

    async def aget_messages_after(self, n: int) -> list[BaseMessage]:
        """Return all messages but the oldest n."""
        if _reads_whole(type(self)):
            return (await self.aget_messages())[max(n, 0) :]
        return await in_thread(self.get_messages_after, n)

    # -- writing --------------------------------------------------------------------------------------

    def add_user_message(self, message: HumanMessage | str) -> None:
        """Append what the person said; a text becomes a HumanMessage."""
        self.add_message(HumanMessage(content=message) if isinstance(message, str) else message)

    def add_ai_message(self, message: AIMessage | str) -> None:
        """Append what the model said; a text becomes an AIMessage."""
        self.add_message(AIMessage(content=message) if isinstance(message, str) else message)

    def add_message(self, message: BaseMessage) -> None:
        """Append one message.

        Raises: NotImplementedError when the subclass implements neither way of writing.
        """
        if type(self).add_messages is BaseChatMessageHistory.add_messages:
            raise NotImplementedError(_ADVICE.format(name=type(self).__name__))
        self.add_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order and, in clew's stores, all or none and with nothing between them."""
        for message in messages:
            self.add_message(message)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order."""
        await in_thread(self.add_messages, messages)

    def replace_head(self, expected: Sequence[BaseMessage], replacement: Sequence[BaseMessage]) -> bool:
        """Put `replacement` in the place of the oldest messages, if these are still `expected` (compare and swap).

        Whatever was appended meanwhile stays, after the replacement. Returns False, with nothing changed, when the
        beginning is no longer what the caller saw.
        Raises: NotImplementedError where the store can't do it in one step; nothing is changed then either.
        """
        name = type(self).__name__
        raise NotImplementedError(f"{name} can't replace its beginning: implement replace_head, or keep all messages")

    async def areplace_head(self, expected: Sequence[BaseMessage], replacement: Sequence[BaseMessage]) -> bool:
        """Put `replacement` in the place of the oldest messages, if these are still `expected`."""
        return await in_thread(self.replace_head, expected, replacement)

    @abstractmethod
    def clear(self) -> None:
        """Remove all messages of this session."""

    async def aclear(self) -> None:
        """Remove all messages of this session."""
        await in_thread(self.clear)

    def __str__(self) -> str:
        return get_buffer_string(self.messages)


def _reads_whole(cls: type[BaseChatMessageHistory]) -> bool:
    """Whether a class has no reading of parts of its own, so that its native async read serves best."""
    base = BaseChatMessageHistory
    return cls.get_last_messages is base.get_last_messages and cls.get_messages_after is base.get_messages_after


class InMemoryChatMessageHistory(BaseChatMessageHistory, BaseModel):
    """A history in a list: gone with the process, and the very objects it was given.

    messages: the list itself; what is appended to it is in the history.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    messages: list[BaseMessage] = Field(default_factory=list)

    def add_message(self, message: BaseMessage) -> None:
        """Append one message."""
        self.messages.append(message)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order and, in clew's stores, all or none and with nothing between them."""
        if type(self).add_message is InMemoryChatMessageHistory.add_message:
            self.messages.extend(messages)
        else:
            super().add_messages(messages)

    def replace_head(self, expected: Sequence[BaseMessage], replacement: Sequence[BaseMessage]) -> bool:
        """Put `replacement` in the place of the oldest messages, if these are still `expected` (compare and swap)."""
        n = len(expected)
        with _swapping:
            if self.messages[:n] != list(expected):
                return False
            self.messages[:n] = replacement
        return True

    def clear(self) -> None:
        """Remove all messages of this session."""
        self.messages = []

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first."""
        return self.messages

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, in order."""
        if _writes_in_memory(type(self)):
            self.messages.extend(messages)
        else:
            await super().aadd_messages(messages)

    async def aclear(self) -> None:
        """Remove all messages of this session."""
        if type(self).clear is InMemoryChatMessageHistory.clear:
            self.clear()
        else:
            await super().aclear()


def _writes_in_memory(cls: type[InMemoryChatMessageHistory]) -> bool:
    """Whether a subclass left both writing methods alone: only then may they run on the event loop."""
    base = InMemoryChatMessageHistory
    return cls.add_message is base.add_message and cls.add_messages is base.add_messages
