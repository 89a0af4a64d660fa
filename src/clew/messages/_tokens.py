"""Estimate tokens without a tokenizer. Nothing is ever fetched: an image is a fixed number, whatever its URL says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from clew._lazy import resolve
from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TOKENS_PER_MEDIA = 85
"""The estimate for an image, a sound, a film or a file, in tokens."""


def estimate_text(text: str, chars_per_token: float = 4.0) -> float:
    """Return the estimated tokens of a text, not rounded.

    ASCII text by its length, any other by `clew.usage.estimate_tokens`, which knows how vocabularies cut Chinese
    and other scripts. Cost: O(len(text)); ASCII costs next to nothing.
    """
    if text.isascii():
        return len(text) / chars_per_token
    return resolve("clew.usage:estimate_tokens")(text)


def count_tokens_approximately(
    messages: Iterable[Any],
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tools: Sequence[Any] | None = None,
) -> int:
    """Return an estimate of the tokens that a model would count.

    messages: message-likes. chars_per_token: for text in Latin letters. extra_tokens_per_message: what the roles cost.
    tools: schemas that are sent along. Returns: an int whose `is_estimate` is True; for exact numbers count with the
    model's tokenizer.
    Cost: O(total size), no network.
    """
    from clew.messages._convert import convert_to_messages

    total = 0.0
    for message in convert_to_messages(cast("Any", messages)):
        total += math.ceil(_estimate(message, chars_per_token, count_name)) + extra_tokens_per_message
    if tools:
        import json

        convert = resolve("clew.utils.function_calling:convert_to_openai_tool")
        total += estimate_text(json.dumps([convert(tool) for tool in tools], ensure_ascii=False), chars_per_token)
    return resolve("clew.usage:TokenCount")(math.ceil(total), is_estimate=True)


def _estimate(message: BaseMessage, chars_per_token: float, count_name: bool) -> float:
    content: Any = message.content
    if isinstance(content, str):
        total = estimate_text(content, chars_per_token)
    else:
        total = sum(_estimate_block(block, chars_per_token) for block in content)
    if isinstance(message, AIMessage):
        if message.tool_calls and not _has_calls(content):
            total += estimate_text(_compact(message.tool_calls), chars_per_token)
    elif (tool_call_id := getattr(message, "tool_call_id", None)) is not None:
        total += len(tool_call_id) / chars_per_token
    if count_name and message.name:
        total += estimate_text(message.name, chars_per_token)
    return total + len(message.type) / chars_per_token


def _has_calls(content: Any) -> bool:
    blocks: list[Any] = [] if isinstance(content, str) else content
    return any(not isinstance(block, str) and block.get("type") == "tool_use" for block in blocks)


def _estimate_block(block: Any, chars_per_token: float) -> float:
    if isinstance(block, str):
        return estimate_text(block, chars_per_token)
    kind = block.get("type")
    for key in ("text", "reasoning", "thinking", "refusal"):
        if isinstance(block.get(key), str):
            return estimate_text(block[key], chars_per_token)
    if kind in ("image", "image_url", "audio", "input_audio", "video", "file", "document", "input_image", "media"):
        return TOKENS_PER_MEDIA
    return estimate_text(_compact(block), chars_per_token)


def _compact(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
