"""What all messages share.

A message is a msgspec Struct: cheap to make, to compare and to write down. It behaves like the pydantic models that
people know (`model_dump`, `model_copy`, a schema for pydantic fields), and adds nothing per message for that. The
content is a string or a list of strings and blocks (dicts with a "type").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from clew._kernel.merge import merge_contents, merge_facts, merge_fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from clew.messages.content import ContentBlock

__all__ = [
    "BaseMessage",
    "BaseMessageChunk",
    "get_msg_title_repr",
    "merge_content",
    "message_to_dict",
    "messages_to_dict",
]

M = TypeVar("M", bound="BaseMessage")

REGISTRY: dict[str, type[BaseMessage]] = {}
"""type text -> the class that clew defines for it ("human", "AIMessageChunk", …)."""


class MessageMeta(msgspec.StructMeta):
    """Makes message classes, and refuses what would silently be wrong in them."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Make a message class. Raises: TypeError for a default that is a pydantic Field."""
        for field, value in namespace.items():
            if type(value).__name__ == "FieldInfo":
                raise TypeError(
                    f"{name}.{field}: messages are msgspec Structs; write a plain default or msgspec.field() "
                    "instead of pydantic's Field()"
                )
        return super().__new__(mcls, name, bases, namespace, **options)


class _Content(msgspec.Struct, metaclass=MessageMeta, omit_defaults=True, repr_omit_defaults=True):
    content: Any  # str | list[str | dict]; positional, the rest is keyword-only


class BaseMessage(_Content, kw_only=True, omit_defaults=True):
    """Base of all messages.

    content: str, or a list of str and block dicts. additional_kwargs: what the provider sent beside it.
    response_metadata: facts about the answer. model_extra: members that clew doesn't know, kept as they came.
    """

    additional_kwargs: dict[str, Any] = {}
    response_metadata: dict[str, Any] = {}
    type: str = ""
    name: str | None = None
    id: str | None = None
    model_extra: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            self.content = checked_content(self.content)

    # -- what it says

    @property
    def text(self) -> str:
        """The text of the content; blocks that are no text are left out."""
        content = self.content
        return content if isinstance(content, str) else text_of(content)

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks, whatever form the provider or caller gave it."""
        from clew.messages._blocks import standard_blocks

        return standard_blocks(self)

    def pretty_repr(self, html: bool = False) -> str:
        """Return a title line and the content, to be read by people."""
        from clew.messages._pretty import pretty

        return pretty(self, html=html)

    def pretty_print(self) -> None:
        """Print `pretty_repr()`."""
        import sys

        sys.stdout.write(self.pretty_repr() + "\n")

    # -- the methods people know from pydantic

    def model_dump(
        self,
        *,
        mode: Literal["python", "json"] | str = "python",
        include: Any = None,
        exclude: Any = None,
        exclude_none: bool = False,
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """Return the fields as a dict of new containers; unknown members stand beside them.

        mode: "json" turns values such as datetimes into JSON ones. exclude_unset: the same as exclude_defaults.
        """
        from clew.messages._model import dump

        return dump(self, mode, include, exclude, exclude_none, exclude_unset or exclude_defaults)

    def model_dump_json(self, *, indent: int | None = None, **kwargs: Any) -> str:
        """Return `model_dump(mode="json")` as text."""
        data = msgspec.json.encode(self.model_dump(mode="json", **kwargs))
        return (msgspec.json.format(data, indent=indent) if indent else data).decode()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with deep=True its containers are copied as well."""
        from clew.messages._model import copy_message

        return copy_message(self, update, deep)

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Return the message that a message, dict or pair describes. Raises: ValueError."""
        from clew.messages._model import validate

        return validate(cls, obj)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes, **_: Any) -> Self:
        """Return the message that JSON text describes. Raises: ValueError."""
        return cls.model_validate(msgspec.json.decode(json_data))

    @classmethod
    def model_json_schema(cls, **_: Any) -> dict[str, Any]:
        """Return a JSON Schema of the dumped message."""
        from clew.messages._model import json_schema

        return json_schema(cls)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.model_copy(deep=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from clew.messages._model import core_schema

        return core_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return cls.model_json_schema()

    # -- how the old serialised form names it

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Messages can always be written down."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which people's stored data names the message classes."""
        return ["langchain", "schema", "messages"]

    @classmethod
    def lc_id(cls) -> list[str]:
        """Namespace and class name."""
        return [*cls.get_lc_namespace(), cls.__name__]


class BaseMessageChunk:
    """Marks the messages that are a part of a streamed one: parts of the same kind can be added."""

    __slots__ = ()

    @staticmethod
    def _add_all(chunks: list[Any]) -> Any:
        """Add a list of chunks at once, in linear time."""
        return chunks[0] + chunks[1:]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, list):
            return add_chunks(self, *other)  # pyright: ignore[reportUnknownArgumentType] - checked by add_chunks
        if isinstance(other, BaseMessage):
            return add_chunks(self, other)
        return NotImplemented


def add_chunks(first: Any, *rest: Any) -> Any:
    """Add n chunks of one kind (human, system, tool …; AI chunks have their own rules)."""
    chunks = (first, *rest)
    for chunk in rest:
        if not isinstance(chunk, BaseMessage) or not isinstance(chunk, BaseMessageChunk):
            kinds = f"{type(chunk).__name__} to {type(first).__name__}"
            raise TypeError(f"can't add {kinds}: only chunks of the same kind add up")
    out = first.model_copy()
    out.content = merge_contents(chunk.content for chunk in chunks)
    out.additional_kwargs = merge_fragments(*(chunk.additional_kwargs for chunk in chunks))
    out.response_metadata = merge_facts(*(chunk.response_metadata for chunk in chunks))
    out.id = next((chunk.id for chunk in chunks if chunk.id is not None), None)
    out.name = next((chunk.name for chunk in chunks if chunk.name is not None), None)
    return out


def checked_content(content: Any) -> str | list[Any]:
    """Return content as a str or list; None is no content. Raises: ValueError."""
    if content is None:
        return ""
    if isinstance(content, (str, list)):
        if isinstance(content, list):
            for item in content:  # pyright: ignore[reportUnknownVariableType] - being checked
                if not isinstance(item, (str, dict)):
                    raise ValueError(f"a content block must be a str or a dict, not {type(item).__name__}: {item!r}")  # pyright: ignore[reportUnknownArgumentType]
        return content  # pyright: ignore[reportUnknownVariableType] - checked above
    if isinstance(content, tuple):
        return checked_content(list(content))  # pyright: ignore[reportUnknownArgumentType]
    raise ValueError(f"message content must be a str or a list of blocks, not {type(content).__name__}: {content!r}")


def text_of(blocks: list[Any]) -> str:
    """Return the text in a list of strings and blocks, joined."""
    return "".join(
        block if isinstance(block, str) else block["text"]
        for block in blocks
        if isinstance(block, str) or (block.get("type") == "text" and isinstance(block.get("text"), str))
    )


def merge_content(first_content: str | list[Any], *contents: str | list[Any]) -> str | list[Any]:
    """Join message contents: strings to a string, anything else to a list."""
    return merge_contents((first_content, *contents))


def message_to_dict(message: BaseMessage) -> dict[str, Any]:
    """Return {"type": …, "data": {…fields}}."""
    return {"type": message.type, "data": message.model_dump()}


def messages_to_dict(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return one {"type", "data"} dict per message."""
    return [message_to_dict(message) for message in messages]


def get_msg_title_repr(title: str, *, bold: bool = False) -> str:
    """Return a title centred in 80 columns of "="."""
    padded = f" {title} "
    side = (80 - len(padded)) // 2
    line = "=" * side + padded + "=" * (side + len(padded) % 2)
    return f"\033[1m{line}\033[0m" if bold else line


def known(kind: str) -> Callable[[type[M]], type[M]]:
    """Enter a message class in the registry under its type text."""

    def enter(cls: type[M]) -> type[M]:
        REGISTRY[kind] = cls
        return cls

    return enter
