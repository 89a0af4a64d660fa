"""Turn what people write (pairs, dicts, strings) into messages, and messages into other messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from clew.messages._model import build
from clew.messages._openai import read_tool_calls
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.base import REGISTRY, BaseMessage, BaseMessageChunk
from clew.messages.chat import ChatMessage
from clew.messages.function import FunctionMessage
from clew.messages.human import HumanMessage
from clew.messages.modifier import RemoveMessage
from clew.messages.system import SystemMessage
from clew.messages.tool import ToolMessage

if TYPE_CHECKING:
    from clew.prompt_values import PromptValue

MessageLikeRepresentation = BaseMessage | list[str] | tuple[str, str] | str | dict[str, Any]
"""What is taken for a message: a message, a (role, content) pair, a string (human), or a dict."""

ROLES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "user": HumanMessage,
    "ai": AIMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "function": FunctionMessage,
    "tool": ToolMessage,
    "remove": RemoveMessage,
}


def convert_to_messages(messages: Iterable[MessageLikeRepresentation] | PromptValue) -> list[BaseMessage]:
    """Return a list of messages.

    messages: messages (they pass as they are), ("role", content) pairs, strings (human), dicts; or a prompt value.
    Raises: ValueError for what is no message. Cost: O(n).
    """
    to_messages = getattr(messages, "to_messages", None)
    if to_messages is not None:
        return to_messages()
    return [
        message if isinstance(message, BaseMessage) else to_message(message)
        for message in cast("Iterable[Any]", messages)
    ]


def is_one_message(value: Any) -> bool:
    """Whether this is one message-like, not a sequence of them."""
    return isinstance(value, (BaseMessage, str, Mapping))


def to_message(value: Any) -> BaseMessage:
    """Return the message that a message-like describes. Raises: ValueError."""
    if isinstance(value, BaseMessage):
        return value
    if isinstance(value, str):
        return HumanMessage(value)
    if isinstance(value, (tuple, list)):
        pair = cast("Sequence[Any]", value)
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"a message pair is (role, content), not {value!r}")
        return make_message(pair[0], pair[1], {})
    if isinstance(value, Mapping):
        return _from_mapping(cast("Mapping[str, Any]", value))
    raise ValueError(f"can't turn {type(value).__name__} into a message: {value!r}")


def _from_mapping(data: Mapping[str, Any]) -> BaseMessage:
    kind = data.get("type")
    if "data" in data and kind in REGISTRY and "content" not in data:
        return message_from_dict(data)
    if kind in REGISTRY and "role" not in data:
        return build(REGISTRY[kind], data)
    rest = dict(data)
    role = rest.pop("role", None) or rest.pop("type", None)
    if role is None or ("content" not in rest and not rest.get("tool_calls")):
        raise ValueError(f"a message dict needs 'role' and 'content', this one has {sorted(data)}")
    return make_message(role, rest.pop("content", None), rest)


def make_message(role: str, content: Any, rest: dict[str, Any]) -> BaseMessage:
    """Return the message of a role.

    content: str, blocks or None. rest: further members (name, id, tool_call_id, tool_calls, additional_kwargs …);
    members that are no fields go to additional_kwargs. Raises: ValueError for an unknown role.
    """
    cls = ROLES.get(role)
    if cls is None:
        if role in REGISTRY:
            cls = REGISTRY[role]
        else:
            raise ValueError(
                f"unknown message role {role!r}: use human/user, ai/assistant, system/developer, tool or function "
                "(ChatMessage takes any role)"
            )
    if not rest:
        if cls is ToolMessage:
            raise ValueError("a tool message needs the tool_call_id of the call that it answers")
        if role == "developer":
            return SystemMessage(content, additional_kwargs={"__openai_role__": "developer"})
        if cls is RemoveMessage:
            return RemoveMessage(id=content)
        return cls(content)
    return _make_full(cls, role, content, rest)


def _make_full(cls: type[BaseMessage], role: str, content: Any, rest: dict[str, Any]) -> BaseMessage:
    rest.pop("type", None)
    extra: dict[str, Any] = dict(rest.pop("additional_kwargs", None) or {})
    members: dict[str, Any] = {}
    raw_calls = rest.pop("tool_calls", None)
    if raw_calls:
        raw_calls = cast("list[Any]", raw_calls)
        if any(isinstance(call, Mapping) and "function" in call for call in raw_calls):
            members["tool_calls"], members["invalid_tool_calls"] = read_tool_calls(raw_calls)
        else:
            members["tool_calls"] = raw_calls
    for key, value in rest.items():
        if key in cls.__struct_fields__:
            members[key] = value
        elif value is not None:
            extra[key] = value
    if role == "developer":
        extra["__openai_role__"] = "developer"
    if extra:
        members["additional_kwargs"] = extra
    if cls is RemoveMessage:
        members.setdefault("id", content)
        content = ""
    if cls is ToolMessage and "tool_call_id" not in members:
        raise ValueError("a tool message needs the tool_call_id of the call that it answers")
    return build(cls, {"content": content, **members})


def message_from_dict(data: Mapping[str, Any]) -> BaseMessage:
    """Return the message of a {"type", "data"} dict. Raises: ValueError for an unknown type or wrong members."""
    kind = data.get("type")
    members = data.get("data")
    cls = REGISTRY.get(cast("str", kind))
    if cls is None:
        raise ValueError(f"unknown message type {kind!r}")
    if not isinstance(members, Mapping):
        raise ValueError(f"a stored message is {{'type': …, 'data': {{…}}}}, this one has {sorted(data)}")
    return build(cls, cast("Mapping[str, Any]", members))


def messages_from_dict(messages: Sequence[Mapping[str, Any]]) -> list[BaseMessage]:
    """Return the messages of `messages_to_dict`. Raises: ValueError. Cost: O(n)."""
    return [message_from_dict(message) for message in messages]


def message_chunk_to_message(chunk: BaseMessage) -> BaseMessage:
    """Return the whole message that a chunk (usually a sum of chunks) amounts to.

    Tool calls whose arguments never became complete are in `invalid_tool_calls`. A message that is no chunk is
    returned as it is.
    """
    if not isinstance(chunk, BaseMessageChunk):
        return chunk
    if isinstance(chunk, AIMessageChunk):
        return _whole_ai(chunk)
    cls = REGISTRY[chunk.type.removesuffix("MessageChunk").lower()]
    return cls(**{name: getattr(chunk, name) for name in cls.__struct_fields__ if name != "type"})


def _whole_ai(chunk: AIMessageChunk) -> AIMessage:
    calls: list[Any] = chunk.tool_calls
    invalid: list[Any] = chunk.invalid_tool_calls
    if chunk.tool_call_chunks and chunk.chunk_position != "last":
        from clew._kernel.tool_calls import split_calls

        found, broken = split_calls(chunk.tool_call_chunks, is_final=True)
        if found or broken:
            calls, invalid = found, broken
    return AIMessage(
        content=chunk.content,
        additional_kwargs=chunk.additional_kwargs,
        response_metadata=chunk.response_metadata,
        name=chunk.name,
        id=chunk.id,
        model_extra=chunk.model_extra,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata=chunk.usage_metadata,
    )


def default_name(message: BaseMessage) -> str:
    """The role under which string prompts show a message: "human", "ai", … or the role of a ChatMessage."""
    if isinstance(message, ChatMessage):
        return message.role
    return message.type.removesuffix("MessageChunk").lower()
