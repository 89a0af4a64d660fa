"""What the model is told to be and do."""

from __future__ import annotations

from clew.messages.base import BaseMessage, BaseMessageChunk, known


@known("system")
class SystemMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="system", tag_field="_"):
    """What the model is told to be and do."""

    type: str = "system"


@known("SystemMessageChunk")
class SystemMessageChunk(
    BaseMessageChunk, SystemMessage, kw_only=True, omit_defaults=True, tag="SystemMessageChunk", tag_field="_"
):
    """A part of a streamed system message."""

    type: str = "SystemMessageChunk"
