"""Choose messages by what they are, and join neighbours of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew._lazy import resolve
from clew.messages._convert import convert_to_messages
from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.messages.tool import ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clew.prompt_values import PromptValue

_UNSET: Any = object()


def as_runnable(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function with its options as a step of a chain."""

    def step(messages: Any) -> Any:
        return function(messages, **options)

    step.__name__ = function.__name__
    return resolve("clew.runnables:RunnableLambda")(step)


def type_tests(types: str | type[BaseMessage] | Sequence[str | type[BaseMessage]]) -> Callable[[BaseMessage], bool]:
    """Return a test whether a message is of one of these types, given as classes or type texts ("human")."""
    given = [types] if isinstance(types, (str, type)) else list(types)
    names = frozenset(item for item in given if isinstance(item, str))
    classes = tuple(item for item in given if not isinstance(item, str))

    def matches(message: BaseMessage) -> bool:
        if classes and isinstance(message, classes):
            return True
        kind = message.type
        return kind in names or kind.removesuffix("MessageChunk").lower() in names or type(message).__name__ in names

    return matches


def filter_messages(
    messages: Iterable[Any] | PromptValue = _UNSET,
    *,
    include_names: Sequence[str] | None = None,
    exclude_names: Sequence[str] | None = None,
    include_types: Sequence[str | type[BaseMessage]] | None = None,
    exclude_types: Sequence[str | type[BaseMessage]] | None = None,
    include_ids: Sequence[str] | None = None,
    exclude_ids: Sequence[str] | None = None,
    exclude_tool_calls: Sequence[str] | bool | None = None,
) -> list[BaseMessage]:
    """Return the messages that match any include and no exclude; with no include all that no exclude matches.

    messages: message-likes; left out, a step for chains is returned instead.
    exclude_tool_calls: True for all calls and their results, or the ids of some.
    """
    if messages is _UNSET:
        options = {key: value for key, value in locals().items() if key != "messages"}
        return as_runnable(filter_messages, options)
    wanted_names, wanted_ids = frozenset(include_names or ()), frozenset(include_ids or ())
    unwanted_names, unwanted_ids = frozenset(exclude_names or ()), frozenset(exclude_ids or ())
    is_wanted_type = type_tests(include_types) if include_types else None
    is_unwanted_type = type_tests(exclude_types) if exclude_types else None
    takes_all = not (include_names or include_ids or include_types)
    out: list[BaseMessage] = []
    for message in convert_to_messages(cast("Any", messages)):
        if (unwanted_names and message.name in unwanted_names) or (unwanted_ids and message.id in unwanted_ids):
            continue
        if is_unwanted_type is not None and is_unwanted_type(message):
            continue
        if not (
            takes_all
            or (wanted_names and message.name in wanted_names)
            or (wanted_ids and message.id in wanted_ids)
            or (is_wanted_type is not None and is_wanted_type(message))
        ):
            continue
        kept = message if not exclude_tool_calls else _without_calls(message, exclude_tool_calls)
        if kept is not None:
            out.append(kept)
    return out


def _without_calls(message: BaseMessage, unwanted: Sequence[str] | bool) -> BaseMessage | None:
    if isinstance(message, ToolMessage):
        return None if unwanted is True or message.tool_call_id in cast("Any", unwanted) else message
    if not isinstance(message, AIMessage) or not message.tool_calls:
        return message
    if unwanted is True:
        return None
    ids = frozenset(cast("Sequence[str]", unwanted))
    kept = [call for call in message.tool_calls if call["id"] not in ids]
    if not kept:
        return None
    if len(kept) == len(message.tool_calls):
        return message
    content: Any = message.content
    if isinstance(content, list):
        content = [
            block
            for block in cast("list[Any]", content)
            if not (isinstance(block, dict) and "id" in block and cast("dict[str, Any]", block)["id"] in ids)
        ]
    return message.model_copy(update={"tool_calls": kept, "content": content})


def merge_message_runs(
    messages: Iterable[Any] | PromptValue = _UNSET, *, chunk_separator: str = "\n"
) -> list[BaseMessage]:
    """Join neighbours of one type into one message; tool messages stay apart.

    messages: message-likes, not mutated; left out, a step for chains is returned. chunk_separator: between two texts.
    Cost: O(total size).
    """
    if messages is _UNSET:
        return as_runnable(merge_message_runs, {"chunk_separator": chunk_separator})
    out: list[BaseMessage] = []
    run: list[BaseMessage] = []
    for message in convert_to_messages(cast("Any", messages)):
        if (
            run
            and type(run[0]) is type(message)
            and not isinstance(message, ToolMessage)
            and _same_role(run[0], message)
        ):
            run.append(message)
            continue
        if run:
            out.append(_joined(run, chunk_separator))
        run = [message]
    if run:
        out.append(_joined(run, chunk_separator))
    return out


def _same_role(first: Any, second: Any) -> bool:
    return getattr(first, "role", None) == getattr(second, "role", None) and (
        getattr(first, "status", None) == getattr(second, "status", None)
    )


def _joined(run: list[BaseMessage], separator: str) -> BaseMessage:
    from clew._kernel.merge import merge_facts, merge_fragments

    first = run[0]
    if len(run) == 1:
        return first.model_copy()
    out = first.model_copy()
    if all(isinstance(message.content, str) for message in run):
        out.content = separator.join(message.content for message in run if message.content)
    else:
        out.content = _joined_blocks(run, separator)
    out.additional_kwargs = merge_fragments(*(message.additional_kwargs for message in run))
    out.response_metadata = merge_facts(*(message.response_metadata for message in run))
    if isinstance(out, AIMessage):
        from clew.messages.ai import add_usage

        several = cast("list[AIMessage]", run)
        out.tool_calls = [call for message in several for call in message.tool_calls]
        out.invalid_tool_calls = [call for message in several for call in message.invalid_tool_calls]
        for message in several[1:]:
            if message.usage_metadata is not None:
                out.usage_metadata = add_usage(out.usage_metadata, message.usage_metadata)
    return out


def _joined_blocks(run: list[BaseMessage], separator: str) -> list[Any]:
    blocks: list[Any] = []
    pending: list[str] = []
    for message in run:
        if isinstance(message.content, str):
            if message.content:
                pending.append(message.content)
            continue
        if pending:
            blocks.append(separator.join(pending))
            pending = []
        blocks.extend(message.content)
    if pending:
        blocks.append(separator.join(pending))
    return blocks
