"""The in-memory history under the name that it had among the histories."""

from clew.chat_history import InMemoryChatMessageHistory

__all__ = ["ChatMessageHistory"]

ChatMessageHistory = InMemoryChatMessageHistory
