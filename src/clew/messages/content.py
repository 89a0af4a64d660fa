"""The standard content blocks: one form for what every provider names differently.

A block is a dict with a "type". `extras` holds what only its provider understands (signatures, cache marks) and goes
back to it unchanged. `message.content_blocks` gives the standard form of any message.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from clew.messages.tool import InvalidToolCall, ToolCall, ToolCallChunk


class Citation(TypedDict):
    """Where a text comes from. start_index, end_index: characters of the answer's text."""

    type: Literal["citation"]
    id: NotRequired[str]
    url: NotRequired[str]
    title: NotRequired[str]
    start_index: NotRequired[int]
    end_index: NotRequired[int]
    cited_text: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class NonStandardAnnotation(TypedDict):
    """A provider's own annotation of a text."""

    type: Literal["non_standard_annotation"]
    id: NotRequired[str]
    value: dict[str, Any]


Annotation = Citation | NonStandardAnnotation


class TextContentBlock(TypedDict):
    """Text of the answer."""

    type: Literal["text"]
    text: str
    id: NotRequired[str]
    annotations: NotRequired[list[Annotation]]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ReasoningContentBlock(TypedDict):
    """What the model thought. A signature, where the provider gives one, is in extras."""

    type: Literal["reasoning"]
    reasoning: NotRequired[str]
    id: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class RefusalContentBlock(TypedDict):
    """The model's words when it declines."""

    type: Literal["refusal"]
    refusal: str
    id: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ServerToolCall(TypedDict):
    """A tool that the provider runs itself."""

    type: Literal["server_tool_call"]
    id: str
    name: str
    args: dict[str, Any]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ServerToolCallChunk(TypedDict):
    """A piece of a ServerToolCall."""

    type: Literal["server_tool_call_chunk"]
    id: NotRequired[str]
    name: NotRequired[str]
    args: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ServerToolResult(TypedDict):
    """What the provider's tool answered."""

    type: Literal["server_tool_result"]
    tool_call_id: str
    status: Literal["success", "error"]
    id: NotRequired[str]
    output: NotRequired[Any]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class _Data(TypedDict):
    id: NotRequired[str]
    file_id: NotRequired[str]
    url: NotRequired[str]
    base64: NotRequired[str]
    mime_type: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ImageContentBlock(_Data):
    """A picture: by url, as base64 with mime_type, or by the provider's file_id."""

    type: Literal["image"]


class VideoContentBlock(_Data):
    """A film, given like an image."""

    type: Literal["video"]


class AudioContentBlock(_Data):
    """Sound, given like an image."""

    type: Literal["audio"]


class FileContentBlock(_Data):
    """Any other file (PDF …), given like an image."""

    type: Literal["file"]


class PlainTextContentBlock(_Data):
    """A text document as data, not as words of the conversation."""

    type: Literal["text-plain"]
    text: NotRequired[str]
    title: NotRequired[str]
    context: NotRequired[str]


class NonStandardContentBlock(TypedDict):
    """A provider's own block, kept as it came."""

    type: Literal["non_standard"]
    value: dict[str, Any]
    id: NotRequired[str]
    index: NotRequired[int | str]


DataContentBlock = ImageContentBlock | VideoContentBlock | AudioContentBlock | PlainTextContentBlock | FileContentBlock
ToolContentBlock = ToolCall | ToolCallChunk | ServerToolCall | ServerToolCallChunk | ServerToolResult
ContentBlock = (
    TextContentBlock
    | InvalidToolCall
    | ReasoningContentBlock
    | RefusalContentBlock
    | NonStandardContentBlock
    | DataContentBlock
    | ToolContentBlock
)

KNOWN_BLOCK_TYPES = frozenset({
    "text", "reasoning", "refusal", "tool_call", "invalid_tool_call", "tool_call_chunk", "image", "audio", "file",
    "text-plain", "video", "server_tool_call", "server_tool_call_chunk", "server_tool_result", "non_standard",
})  # fmt: skip


def is_data_content_block(block: dict[str, Any]) -> bool:
    """Whether the block carries an image, audio, video, file or text document (standard or older form)."""
    if block.get("type") not in ("image", "video", "audio", "text-plain", "file"):
        return False
    return any(key in block for key in ("url", "base64", "file_id", "text", "source_type"))


def _block(kind: str, **members: Any) -> Any:
    return {"type": kind, **{key: value for key, value in members.items() if value is not None}}


def create_text_block(
    text: str,
    *,
    id: str | None = None,
    annotations: list[Annotation] | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> TextContentBlock:
    """Make a text block; further keywords go to extras."""
    return _block("text", text=text, id=id, annotations=annotations, index=index, extras=extras or None)


def create_reasoning_block(
    reasoning: str | None = None, *, id: str | None = None, index: int | str | None = None, **extras: Any
) -> ReasoningContentBlock:
    """Make a reasoning block; further keywords (signature …) go to extras."""
    return _block("reasoning", reasoning=reasoning or "", id=id, index=index, extras=extras or None)


def _create_data(kind: str, wanted: str, members: dict[str, Any], extras: dict[str, Any]) -> Any:
    if not any(members.get(key) for key in ("url", "base64", "file_id")):
        raise ValueError(f"{wanted} block needs url, base64 or file_id")
    if members.get("base64") and not members.get("mime_type") and kind != "file":
        raise ValueError(f"{wanted} block with base64 data needs its mime_type")
    return _block(kind, **members, extras=extras or None)


def create_image_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> ImageContentBlock:
    """Make an image block. Raises: ValueError without url, base64 or file_id."""
    members = {"url": url, "base64": base64, "file_id": file_id, "mime_type": mime_type, "id": id, "index": index}
    return _create_data("image", "an image", members, extras)


def create_video_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> VideoContentBlock:
    """Make a video block. Raises: ValueError without url, base64 or file_id."""
    members = {"url": url, "base64": base64, "file_id": file_id, "mime_type": mime_type, "id": id, "index": index}
    return _create_data("video", "a video", members, extras)


def create_audio_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> AudioContentBlock:
    """Make an audio block. Raises: ValueError without url, base64 or file_id."""
    members = {"url": url, "base64": base64, "file_id": file_id, "mime_type": mime_type, "id": id, "index": index}
    return _create_data("audio", "an audio", members, extras)


def create_file_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> FileContentBlock:
    """Make a file block. Raises: ValueError without url, base64 or file_id."""
    members = {"url": url, "base64": base64, "file_id": file_id, "mime_type": mime_type, "id": id, "index": index}
    return _create_data("file", "a file", members, extras)


def create_plaintext_block(
    text: str | None = None,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    title: str | None = None,
    context: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> PlainTextContentBlock:
    """Make a block for a text document; further keywords go to extras."""
    return _block(
        "text-plain",
        mime_type="text/plain",
        text=text,
        url=url,
        base64=base64,
        file_id=file_id,
        title=title,
        context=context,
        id=id,
        index=index,
        extras=extras or None,
    )


def create_citation(
    *,
    url: str | None = None,
    title: str | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    cited_text: str | None = None,
    id: str | None = None,
    **extras: Any,
) -> Citation:
    """Make a citation; further keywords go to extras."""
    return _block(
        "citation",
        url=url,
        title=title,
        start_index=start_index,
        end_index=end_index,
        cited_text=cited_text,
        id=id,
        extras=extras or None,
    )


def create_non_standard_block(
    value: dict[str, Any], *, id: str | None = None, index: int | str | None = None
) -> NonStandardContentBlock:
    """Wrap a provider's own block."""
    return _block("non_standard", value=value, id=id, index=index)
