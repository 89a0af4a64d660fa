"""A message whose role is any text."""

from __future__ import annotations

from typing import Any

from clew.messages.base import BaseMessage, BaseMessageChunk, known


@known("chat")
class ChatMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="chat", tag_field="_"):
    """A message of any role ("moderator", "critic" …)."""

    role: str
    type: str = "chat"


@known("ChatMessageChunk")
class ChatMessageChunk(
    BaseMessageChunk, ChatMessage, kw_only=True, omit_defaults=True, tag="ChatMessageChunk", tag_field="_"
):
    """A part of a streamed chat message."""

    type: str = "ChatMessageChunk"

    def __add__(self, other: Any) -> Any:
        for part in other if isinstance(other, list) else [other]:  # pyright: ignore[reportUnknownVariableType]
            if getattr(part, "role", self.role) != self.role:  # pyright: ignore[reportUnknownArgumentType]
                raise ValueError("can't add chat messages of different roles")
        return super().__add__(other)
