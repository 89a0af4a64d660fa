"""Memories: what a chain or pipeline remembers between its runs, and where."""

from typing import TYPE_CHECKING

from clew import _lazy

if TYPE_CHECKING:
    from clew.memory._keys import get_prompt_input_key as get_prompt_input_key
    from clew.memory.adapter import with_memory as with_memory
    from clew.memory.base import BaseMemory as BaseMemory
    from clew.memory.buffer import ConversationBufferMemory as ConversationBufferMemory
    from clew.memory.buffer import ConversationStringBufferMemory as ConversationStringBufferMemory
    from clew.memory.chat import BaseChatMemory as BaseChatMemory
    from clew.memory.combined import CombinedMemory as CombinedMemory
    from clew.memory.combined import ReadOnlySharedMemory as ReadOnlySharedMemory
    from clew.memory.combined import SimpleMemory as SimpleMemory
    from clew.memory.entity import ConversationEntityMemory as ConversationEntityMemory
    from clew.memory.entity_stores.base import BaseEntityStore as BaseEntityStore
    from clew.memory.entity_stores.in_memory import InMemoryEntityStore as InMemoryEntityStore
    from clew.memory.entity_stores.redis import RedisEntityStore as RedisEntityStore
    from clew.memory.entity_stores.sqlite import SQLiteEntityStore as SQLiteEntityStore
    from clew.memory.entity_stores.upstash import UpstashRedisEntityStore as UpstashRedisEntityStore
    from clew.memory.forgetting import ForgetReport as ForgetReport
    from clew.memory.forgetting import aforget as aforget
    from clew.memory.forgetting import forget as forget
    from clew.memory.prompts import ENTITY_EXTRACTION_PROMPT as ENTITY_EXTRACTION_PROMPT
    from clew.memory.prompts import ENTITY_EXTRACTION_PROMPT_ZH as ENTITY_EXTRACTION_PROMPT_ZH
    from clew.memory.prompts import ENTITY_SUMMARIZATION_PROMPT as ENTITY_SUMMARIZATION_PROMPT
    from clew.memory.prompts import ENTITY_SUMMARIZATION_PROMPT_ZH as ENTITY_SUMMARIZATION_PROMPT_ZH
    from clew.memory.prompts import SUMMARY_PROMPT as SUMMARY_PROMPT
    from clew.memory.prompts import SUMMARY_PROMPT_ZH as SUMMARY_PROMPT_ZH
    from clew.memory.summary import ConversationSummaryMemory as ConversationSummaryMemory
    from clew.memory.summary import SummarizerMixin as SummarizerMixin
    from clew.memory.summary_buffer import ConversationSummaryBufferMemory as ConversationSummaryBufferMemory
    from clew.memory.token_buffer import ConversationTokenBufferMemory as ConversationTokenBufferMemory
    from clew.memory.trimming import Trimmed as Trimmed
    from clew.memory.trimming import fit_to_tokens as fit_to_tokens
    from clew.memory.vectorstore import VectorStoreRetrieverMemory as VectorStoreRetrieverMemory
    from clew.memory.window import ConversationBufferWindowMemory as ConversationBufferWindowMemory

_HOMES = {
    "BaseChatMemory": ".chat",
    "BaseEntityStore": ".entity_stores.base",
    "BaseMemory": ".base",
    "CombinedMemory": ".combined",
    "ConversationBufferMemory": ".buffer",
    "ConversationBufferWindowMemory": ".window",
    "ConversationEntityMemory": ".entity",
    "ConversationStringBufferMemory": ".buffer",
    "ConversationSummaryBufferMemory": ".summary_buffer",
    "ConversationSummaryMemory": ".summary",
    "ConversationTokenBufferMemory": ".token_buffer",
    "ENTITY_EXTRACTION_PROMPT": ".prompts",
    "ENTITY_EXTRACTION_PROMPT_ZH": ".prompts",
    "ENTITY_SUMMARIZATION_PROMPT": ".prompts",
    "ENTITY_SUMMARIZATION_PROMPT_ZH": ".prompts",
    "ForgetReport": ".forgetting",
    "InMemoryEntityStore": ".entity_stores.in_memory",
    "ReadOnlySharedMemory": ".combined",
    "RedisEntityStore": ".entity_stores.redis",
    "SQLiteEntityStore": ".entity_stores.sqlite",
    "SUMMARY_PROMPT": ".prompts",
    "SUMMARY_PROMPT_ZH": ".prompts",
    "SimpleMemory": ".combined",
    "SummarizerMixin": ".summary",
    "Trimmed": ".trimming",
    "UpstashRedisEntityStore": ".entity_stores.upstash",
    "VectorStoreRetrieverMemory": ".vectorstore",
    "aforget": ".forgetting",
    "fit_to_tokens": ".trimming",
    "forget": ".forgetting",
    "get_prompt_input_key": "._keys",
    "with_memory": ".adapter",
}

__all__ = [
    "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_EXTRACTION_PROMPT_ZH",
    "ENTITY_SUMMARIZATION_PROMPT",
    "ENTITY_SUMMARIZATION_PROMPT_ZH",
    "SUMMARY_PROMPT",
    "SUMMARY_PROMPT_ZH",
    "BaseChatMemory",
    "BaseEntityStore",
    "BaseMemory",
    "CombinedMemory",
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationEntityMemory",
    "ConversationStringBufferMemory",
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "ConversationTokenBufferMemory",
    "ForgetReport",
    "InMemoryEntityStore",
    "ReadOnlySharedMemory",
    "RedisEntityStore",
    "SQLiteEntityStore",
    "SimpleMemory",
    "SummarizerMixin",
    "Trimmed",
    "UpstashRedisEntityStore",
    "VectorStoreRetrieverMemory",
    "aforget",
    "fit_to_tokens",
    "forget",
    "get_prompt_input_key",
    "with_memory",
]

__getattr__, __dir__ = _lazy.attributes(__name__, _HOMES)
