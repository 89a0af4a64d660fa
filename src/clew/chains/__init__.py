"""Chains of the first generation: dict in, dict out, memory around."""

from clew.chains.base import Chain
from clew.chains.conversation import ConversationChain
from clew.chains.llm import LLMChain

__all__ = ["Chain", "ConversationChain", "LLMChain"]
