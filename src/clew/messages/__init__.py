"""Messages: what people, models and tools say to each other, whole or streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew._lazy import attributes
from clew.messages.ai import (
    AIMessage,
    AIMessageChunk,
    InputTokenDetails,
    OutputTokenDetails,
    UsageMetadata,
    add_ai_message_chunks,
    add_usage,
    subtract_usage,
)
from clew.messages.base import (
    BaseMessage,
    BaseMessageChunk,
    get_msg_title_repr,
    merge_content,
    message_to_dict,
    messages_to_dict,
)
from clew.messages.chat import (
    ChatMessage,
    ChatMessageChunk,
)
from clew.messages.function import (
    FunctionMessage,
    FunctionMessageChunk,
)
from clew.messages.human import (
    HumanMessage,
    HumanMessageChunk,
)
from clew.messages.modifier import (
    RemoveMessage,
)
from clew.messages.system import (
    SystemMessage,
    SystemMessageChunk,
)
from clew.messages.tool import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
    ToolMessageChunk,
    invalid_tool_call,
    tool_call,
    tool_call_chunk,
)

if TYPE_CHECKING:
    from clew.messages._any import (
        AnyMessage,
    )
    from clew.messages._buffer import (
        get_buffer_string,
    )
    from clew.messages._convert import (
        MessageLikeRepresentation,
        convert_to_messages,
        message_chunk_to_message,
        message_from_dict,
        messages_from_dict,
    )
    from clew.messages._ids import ensure_id
    from clew.messages._openai import (
        convert_to_openai_messages,
    )
    from clew.messages._openai_blocks import (
        convert_to_openai_data_block,
        convert_to_openai_image_block,
    )
    from clew.messages._select import (
        filter_messages,
        merge_message_runs,
    )
    from clew.messages._tokens import (
        count_tokens_approximately,
    )
    from clew.messages._trim import (
        trim_messages,
    )
    from clew.messages.content import (
        Annotation,
        AudioContentBlock,
        Citation,
        ContentBlock,
        DataContentBlock,
        FileContentBlock,
        ImageContentBlock,
        NonStandardAnnotation,
        NonStandardContentBlock,
        PlainTextContentBlock,
        ReasoningContentBlock,
        RefusalContentBlock,
        ServerToolCall,
        ServerToolCallChunk,
        ServerToolResult,
        TextContentBlock,
        VideoContentBlock,
        is_data_content_block,
    )

LC_AUTO_PREFIX = "lc_"
"""How the ids begin that the library made up."""
LC_ID_PREFIX = "lc_run-"
"""How the ids begin that were made from a run id."""

__all__ = [
    "LC_AUTO_PREFIX",
    "LC_ID_PREFIX",
    "AIMessage",
    "AIMessageChunk",
    "Annotation",
    "AnyMessage",
    "AudioContentBlock",
    "BaseMessage",
    "BaseMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "Citation",
    "ContentBlock",
    "DataContentBlock",
    "FileContentBlock",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "ImageContentBlock",
    "InputTokenDetails",
    "InvalidToolCall",
    "MessageLikeRepresentation",
    "NonStandardAnnotation",
    "NonStandardContentBlock",
    "OutputTokenDetails",
    "PlainTextContentBlock",
    "ReasoningContentBlock",
    "RefusalContentBlock",
    "RemoveMessage",
    "ServerToolCall",
    "ServerToolCallChunk",
    "ServerToolResult",
    "SystemMessage",
    "SystemMessageChunk",
    "TextContentBlock",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "UsageMetadata",
    "VideoContentBlock",
    "add_ai_message_chunks",
    "add_usage",
    "convert_to_messages",
    "convert_to_openai_data_block",
    "convert_to_openai_image_block",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "ensure_id",
    "filter_messages",
    "get_buffer_string",
    "get_msg_title_repr",
    "invalid_tool_call",
    "is_data_content_block",
    "merge_content",
    "merge_message_runs",
    "message_chunk_to_message",
    "message_from_dict",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "subtract_usage",
    "tool_call",
    "tool_call_chunk",
    "trim_messages",
]

_LAZY = {
    "AnyMessage": "._any",
    "get_buffer_string": "._buffer",
    "MessageLikeRepresentation": "._convert",
    "convert_to_messages": "._convert",
    "message_chunk_to_message": "._convert",
    "messages_from_dict": "._convert",
    "message_from_dict": "._convert",
    "ensure_id": "._ids",
    "convert_to_openai_messages": "._openai",
    "convert_to_openai_data_block": "._openai_blocks",
    "convert_to_openai_image_block": "._openai_blocks",
    "filter_messages": "._select",
    "merge_message_runs": "._select",
    "count_tokens_approximately": "._tokens",
    "trim_messages": "._trim",
    "Annotation": ".content",
    "AudioContentBlock": ".content",
    "Citation": ".content",
    "ContentBlock": ".content",
    "DataContentBlock": ".content",
    "FileContentBlock": ".content",
    "ImageContentBlock": ".content",
    "NonStandardAnnotation": ".content",
    "NonStandardContentBlock": ".content",
    "PlainTextContentBlock": ".content",
    "ReasoningContentBlock": ".content",
    "RefusalContentBlock": ".content",
    "ServerToolCall": ".content",
    "ServerToolCallChunk": ".content",
    "ServerToolResult": ".content",
    "TextContentBlock": ".content",
    "VideoContentBlock": ".content",
    "is_data_content_block": ".content",
}
__getattr__, _lazy_dir = attributes(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted(__all__)
