"""Message histories on servers and files; each imports its client when it is first used."""

from typing import TYPE_CHECKING

from clew import _lazy

if TYPE_CHECKING:
    from clew.chat_history import InMemoryChatMessageHistory as InMemoryChatMessageHistory
    from clew.chat_message_histories._copy import CopyReport as CopyReport
    from clew.chat_message_histories._copy import copy_history as copy_history
    from clew.chat_message_histories._copy import open_history as open_history
    from clew.chat_message_histories.cosmosdb import CosmosDBChatMessageHistory as CosmosDBChatMessageHistory
    from clew.chat_message_histories.dynamodb import DynamoDBChatMessageHistory as DynamoDBChatMessageHistory
    from clew.chat_message_histories.file import FileChatMessageHistory as FileChatMessageHistory
    from clew.chat_message_histories.firestore import FirestoreChatMessageHistory as FirestoreChatMessageHistory
    from clew.chat_message_histories.in_memory import ChatMessageHistory as ChatMessageHistory
    from clew.chat_message_histories.mongodb import MongoDBChatMessageHistory as MongoDBChatMessageHistory
    from clew.chat_message_histories.postgres import PostgresChatMessageHistory as PostgresChatMessageHistory
    from clew.chat_message_histories.redis import RedisChatMessageHistory as RedisChatMessageHistory
    from clew.chat_message_histories.sql import SQLChatMessageHistory as SQLChatMessageHistory

__all__ = [
    "ChatMessageHistory",
    "CopyReport",
    "CosmosDBChatMessageHistory",
    "DynamoDBChatMessageHistory",
    "FileChatMessageHistory",
    "FirestoreChatMessageHistory",
    "InMemoryChatMessageHistory",
    "MongoDBChatMessageHistory",
    "PostgresChatMessageHistory",
    "RedisChatMessageHistory",
    "SQLChatMessageHistory",
    "copy_history",
    "open_history",
]

__getattr__, __dir__ = _lazy.attributes(
    __name__,
    {
        "ChatMessageHistory": ".in_memory",
        "CopyReport": "._copy",
        "CosmosDBChatMessageHistory": ".cosmosdb",
        "DynamoDBChatMessageHistory": ".dynamodb",
        "FileChatMessageHistory": ".file",
        "FirestoreChatMessageHistory": ".firestore",
        "InMemoryChatMessageHistory": "clew.chat_history",
        "MongoDBChatMessageHistory": ".mongodb",
        "PostgresChatMessageHistory": ".postgres",
        "RedisChatMessageHistory": ".redis",
        "SQLChatMessageHistory": ".sql",
        "copy_history": "._copy",
        "open_history": "._copy",
    },
)
