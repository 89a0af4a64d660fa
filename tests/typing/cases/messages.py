"""What a type checker knows about messages."""

from __future__ import annotations

from typing import assert_type

from pydantic import BaseModel

from clew.messages import AIMessageChunk, HumanMessage


class Case(BaseModel):
    """Messages are fields of users' models."""

    question: HumanMessage


assert_type(Case(question=HumanMessage("hi")).question, HumanMessage)
assert_type(AIMessageChunk(content="a") + AIMessageChunk(content="b"), AIMessageChunk)
