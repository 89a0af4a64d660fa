"""Messages that change a list of messages."""

from __future__ import annotations

from clew.messages.base import BaseMessage, known


@known("remove")
class RemoveMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="remove", tag_field="_"):
    """Asks for the removal of the message with this id.

    Raises: ValueError if it is given content.
    """

    content: str = ""
    type: str = "remove"

    def __post_init__(self) -> None:
        if self.content:
            raise ValueError("RemoveMessage takes no content")
        if not isinstance(self.id, str):
            raise ValueError("RemoveMessage needs the id of the message to be removed: RemoveMessage(id=...)")
