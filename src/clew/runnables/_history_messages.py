"""What of a call's input and output are messages, and how a stored talk is made fit for the next request."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast

from clew.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    ToolMessage,
    message_chunk_to_message,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger("clew.history")
_INTERRUPTED = "no result: the call was interrupted"


def input_messages(value: Any, key: str | None) -> list[BaseMessage]:
    """Return what a person said: of a text, a message, a list of messages (or one list in a list), or a dict of these.

    key: of a dict; else its only key, else "input".
    Raises: ValueError for anything else; KeyError when the dict has no such key.
    """
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        if key is None:
            key = next(iter(given)) if len(given) == 1 else "input"
        return input_messages(given[key], None)
    if isinstance(value, str):
        return [HumanMessage(content=value)]
    if isinstance(value, BaseMessage):
        return [as_message(value)]
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        if len(items) == 1 and isinstance(items[0], list):  # how a model's own run records its input
            items = cast("Sequence[Any]", items[0])
        if all(isinstance(item, BaseMessage) for item in items):
            return [as_message(item) for item in items]
    raise ValueError(f"a text, a message or a list of messages is expected as input, not {_shown(value)}")


def output_messages(value: Any, key: str | None) -> list[BaseMessage]:
    """Return what was answered: of a text, a message, a list of messages, or a dict of these.

    key: of a dict; else its only key, else "output"; a dict with none of these is kept whole, as JSON. A raw model
    result (`generations`) is understood whatever the key.
    Raises: ValueError for anything else; KeyError when a dict has no such key.
    """
    if isinstance(value, dict):
        return _of_dict(cast("dict[str, Any]", value), key)
    if isinstance(value, str):
        return [AIMessage(content=value)]
    if isinstance(value, BaseMessage):
        return [as_message(value)]
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        if all(isinstance(item, BaseMessage) for item in items):
            return [as_message(item) for item in items]
    raise ValueError(f"a text, a message or a list of messages is expected as output, not {_shown(value)}")


def _of_dict(made: dict[str, Any], key: str | None) -> list[BaseMessage]:
    if "generations" in made and key not in made:
        first = made["generations"][0]
        generation: Any = cast("Any", first)[0] if isinstance(first, list) else first
        message: Any = cast("Any", generation)["message"] if isinstance(generation, dict) else generation.message
        return output_messages(message, None)
    if key is None:
        if len(made) != 1 and "output" not in made:
            try:
                return [AIMessage(content=json.dumps(made, ensure_ascii=False))]
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"of an output with the keys {list(made)} none is known to be the answer: set output_messages_key"
                ) from error
        key = next(iter(made)) if len(made) == 1 else "output"
    return output_messages(made[key], None)


def as_message(message: BaseMessage) -> BaseMessage:
    """Return a chunk as the message that it stands for, a message as it is."""
    return message_chunk_to_message(cast("Any", message)) if isinstance(message, BaseMessageChunk) else message


def incomplete(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return an answer that was cut short, marked as such on its last message."""
    if not messages:
        return messages
    last = messages[-1].model_copy()
    last.response_metadata = {**last.response_metadata, "status": "incomplete"}
    return [*messages[:-1], last]


def without_given(made: list[BaseMessage], given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Drop from an answer the messages that the runnable was given, when it hands all of them back first."""
    n = len(given)
    if 0 < n <= len(made) and all(_is_same(a, b) for a, b in zip(made, given, strict=False)):
        return made[n:]
    return made


def _is_same(made: BaseMessage, given: BaseMessage) -> bool:
    """Whether a message came back, perhaps with an id that it did not have."""
    if made is given or made == given:
        return True
    return (
        given.id is None
        and type(made) is type(given)
        and made.content == given.content
        and getattr(made, "tool_calls", None) == getattr(given, "tool_calls", None)
        and getattr(made, "tool_call_id", None) == getattr(given, "tool_call_id", None)
    )


def mend_tool_calls(history: list[BaseMessage], incoming: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a talk in which every tool call has its result, as every provider demands: a copy, if anything is mended.

    A call whose result is neither in the talk nor the next thing in `incoming` gets a made-up one with status "error":
    its tool was cut short by a crash. What is stored is not touched, so a late result may still come.
    """
    if not [m for m in history if type(m) is AIMessage and m.tool_calls]:  # the usual case, on every turn: one scan
        return history
    mended = list(history)
    calls = [place for place, m in enumerate(mended) if type(m) is AIMessage and m.tool_calls]
    for place in reversed(calls):
        wanted = [call["id"] for call in cast("AIMessage", mended[place]).tool_calls]
        after = place + 1
        while after < len(mended) and isinstance(result := mended[after], ToolMessage):
            if result.tool_call_id in wanted:
                wanted.remove(result.tool_call_id)
            after += 1
        if after == len(mended) and wanted:
            for message in incoming:
                if not isinstance(message, ToolMessage):
                    break
                if message.tool_call_id in wanted:
                    wanted.remove(message.tool_call_id)
        if wanted:
            _log.warning("tool calls %s have no result in the history: they are sent as interrupted", wanted)
            mended[after:after] = [
                ToolMessage(content=_INTERRUPTED, tool_call_id=call or "", status="error") for call in wanted
            ]
    return mended


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"
