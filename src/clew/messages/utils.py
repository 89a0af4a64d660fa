"""The message functions under the module name that people import them from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._lazy import attributes

__all__ = [
    "AnyMessage",
    "MessageLikeRepresentation",
    "convert_to_messages",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "filter_messages",
    "get_buffer_string",
    "merge_message_runs",
    "message_chunk_to_message",
    "messages_from_dict",
    "trim_messages",
]

if TYPE_CHECKING:
    from clew.messages import (
        AnyMessage,
        MessageLikeRepresentation,
        convert_to_messages,
        convert_to_openai_messages,
        count_tokens_approximately,
        filter_messages,
        get_buffer_string,
        merge_message_runs,
        message_chunk_to_message,
        messages_from_dict,
        trim_messages,
    )
else:
    __getattr__, __dir__ = attributes(__name__, dict.fromkeys(__all__, "clew.messages"))
    _ = Any
