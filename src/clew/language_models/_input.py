"""Any form of input as messages, and messages as tracers show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.messages.human import HumanMessage
from clew.messages.system import SystemMessage
from clew.messages.tool import ToolMessage
from clew.prompt_values import ChatPromptValue, PromptValue, StringPromptValue

if TYPE_CHECKING:
    from collections.abc import Sequence


USUAL = frozenset({HumanMessage, AIMessage, SystemMessage, ToolMessage})


def messages_of(input: Any) -> list[BaseMessage]:
    """Return the input of a chat model as a new list of messages.

    Raises: ValueError for anything that is no text, prompt value or sequence.
    Cost: one pass over the messages.
    """
    if type(input) is str:
        return [HumanMessage(input)]
    if type(input) is list:
        messages = cast("list[BaseMessage]", input)
        if USUAL.issuperset(map(type, messages)):
            return messages[:]
    return prompt_of(input).to_messages()


def prompt_of(input: Any) -> PromptValue:
    """Return any form of input as a prompt value. Raises: ValueError for other types."""
    if isinstance(input, PromptValue):
        return input
    if isinstance(input, str):
        return StringPromptValue(text=input)
    if isinstance(input, (list, tuple)) or _is_sequence(input):
        from clew.messages import convert_to_messages

        return ChatPromptValue(messages=convert_to_messages(cast("Any", input)))
    if hasattr(input, "to_messages"):
        return input
    raise ValueError(f"Invalid input type {type(input)}: a chat model takes a PromptValue, a str or a list of messages")


def _is_sequence(input: Any) -> bool:
    from collections.abc import Sequence

    return isinstance(input, Sequence) and not isinstance(input, (bytes, bytearray))


def for_tracing(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return messages as tracers show them: media blocks in OpenAI's form, every block with a type.

    A message that needs no change is the same object; the others are copies.
    """
    return [_traced(message) if type(message.content) is list else message for message in messages]


def _traced(message: BaseMessage) -> BaseMessage:
    content = message.content
    shown = [_shown(block) for block in content]
    if all(new is old for new, old in zip(shown, content, strict=True)):
        return message
    copy = message.model_copy()
    copy.content = shown
    return copy


def _shown(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    block = cast("dict[str, Any]", found)
    kind = block.get("type")
    if kind is None and len(block) == 1:
        (name,) = block
        return {**block, "type": name}
    if kind in ("image", "audio", "video") or (kind == "file" and "file" not in block):
        from clew.messages._openai_blocks import to_openai_block

        try:
            return to_openai_block(block)
        except (ValueError, KeyError):
            return block  # shown as it is
    return block
