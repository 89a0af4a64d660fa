"""What the person says."""

from __future__ import annotations

from clew.messages.base import BaseMessage, BaseMessageChunk, known


@known("human")
class HumanMessage(BaseMessage, kw_only=True, omit_defaults=True, tag="human", tag_field="_"):
    """What the person says."""

    type: str = "human"


@known("HumanMessageChunk")
class HumanMessageChunk(
    BaseMessageChunk, HumanMessage, kw_only=True, omit_defaults=True, tag="HumanMessageChunk", tag_field="_"
):
    """A part of a streamed human message."""

    type: str = "HumanMessageChunk"
