"""Templates of single messages."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from clew.load._serializable import Serializable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.messages.base import BaseMessage


class BaseMessagePromptTemplate(Serializable):
    """Base of templates that make messages."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Described by their arguments."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names these classes."""
        return ["langchain", "prompts", "chat"]

    @abstractmethod
    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages for these variables."""

    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages for these variables."""
        return self.format_messages(**kwargs)

    @property
    @abstractmethod
    def input_variables(self) -> list[str]:
        """Names of the variables."""

    def _into(self, values: Mapping[str, Any], out: list[BaseMessage]) -> None:
        """Add the messages for these values; the fast way, which `format_messages` of own classes replaces."""
        out.extend(self.format_messages(**values))

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template as people read it."""
        from clew.messages.base import get_msg_title_repr

        return get_msg_title_repr(type(self).__name__, bold=html) + "\n\n" + repr(self)

    def __add__(self, other: Any) -> Any:
        """Return a chat template of this and more messages."""
        from clew.prompts.chat import ChatPromptTemplate

        return ChatPromptTemplate(messages=[self]) + other
