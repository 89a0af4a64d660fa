"""Which key of a chain's inputs is the person's, which of its outputs the model's, and what messages they stand for."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

from clew.messages import AIMessage, BaseMessage, BaseMessageChunk, HumanMessage, message_chunk_to_message

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["get_prompt_input_key", "messages_of", "output_key_of", "turn_of"]


def get_prompt_input_key(inputs: Mapping[str, Any], memory_variables: list[str]) -> str:
    """Return the one key that is neither the memory's nor "stop".

    Raises: ValueError when there is none, or more than one; it names them.
    """
    keys = [key for key in inputs if key not in memory_variables and key != "stop"]
    if len(keys) != 1:
        raise ValueError(f"one input key is expected beside the memory's, but there are {keys}: set input_key")
    return keys[0]


def output_key_of(outputs: Mapping[str, Any]) -> str:
    """Return the key of the model's side: the only one, or "output" among several (with a warning).

    Raises: ValueError naming the keys when neither holds.
    """
    if len(outputs) == 1:
        return next(iter(outputs))
    if "output" in outputs:
        warnings.warn(
            f"of the output keys {list(outputs)} the memory keeps 'output': set output_key to choose", stacklevel=4
        )
        return "output"
    raise ValueError(f"one output key is expected, but there are {list(outputs)}: set output_key")


def messages_of(value: Any, as_message: type[HumanMessage] | type[AIMessage]) -> list[BaseMessage]:
    """Return a text, a message or a list of messages as messages; chunks become the messages they stand for.

    Raises: TypeError for anything else.
    """
    if isinstance(value, str):
        return [as_message(content=value)]
    if isinstance(value, BaseMessageChunk):
        return [message_chunk_to_message(cast("Any", value))]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        if all(isinstance(item, (BaseMessage, str)) for item in items):
            return [message for item in items for message in messages_of(item, as_message)]
    name = type(cast("object", value)).__name__
    raise TypeError(f"a turn is kept as a text, a message or a list of messages, not as {name}")


def turn_of(
    inputs: Any, outputs: Any, memory_variables: list[str], input_key: str | None, output_key: str | None
) -> list[BaseMessage]:
    """Return one turn as messages, the question before the answer.

    Raises: TypeError when either side is no dict; KeyError, ValueError when its key can't be told.
    """
    if not isinstance(inputs, dict) or not isinstance(outputs, dict):
        raise TypeError("a memory takes a turn as two dicts: the chain's inputs and its outputs")
    given, made = cast("dict[str, Any]", inputs), cast("dict[str, Any]", outputs)
    question = given[get_prompt_input_key(given, memory_variables) if input_key is None else input_key]
    answer = made[output_key_of(made) if output_key is None else output_key]
    return messages_of(question, HumanMessage) + messages_of(answer, AIMessage)
