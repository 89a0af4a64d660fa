"""What a prompt template makes: the input of a model, as text or as messages."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from typing_extensions import TypedDict

from clew.messages.base import BaseMessage
from clew.messages.human import HumanMessage


class PromptValue(msgspec.Struct):
    """Input for any model: text for text models, messages for chat models. Own kinds define both methods."""

    def to_string(self) -> str:
        """Return the prompt as text."""
        raise NotImplementedError(f"{type(self).__name__} does not define to_string")

    def to_messages(self) -> list[BaseMessage]:
        """Return the prompt as messages."""
        raise NotImplementedError(f"{type(self).__name__} does not define to_messages")

    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        """Return the fields as a dict, messages as dicts."""
        return {
            name: [m.model_dump(**kwargs) for m in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - messages
            for name in self.__struct_fields__
            for value in (getattr(self, name),)
        }

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Prompt values can always be written down."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names these classes."""
        return ["langchain", "schema", "prompt"]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema as cs

        return cs.is_instance_schema(
            cls, serialization=cs.plain_serializer_function_ser_schema(lambda value: value.model_dump())
        )


class StringPromptValue(PromptValue):
    """A prompt that is text; as messages it is one human message."""

    text: str
    type: str = "StringPromptValue"

    def to_string(self) -> str:
        """Return the text."""
        return self.text

    def to_messages(self) -> list[BaseMessage]:
        """Return one human message."""
        return [HumanMessage(self.text)]


class ChatPromptValue(PromptValue):
    """A prompt that is a list of messages; as text it is one "Role: content" line per message."""

    messages: list[BaseMessage]
    type: str = "ChatPromptValue"

    def __post_init__(self) -> None:
        if type(self.messages) is not list:
            self.messages = list(self.messages)

    def to_string(self) -> str:
        """Return the messages as text."""
        from clew.messages._buffer import get_buffer_string

        return get_buffer_string(self.messages)

    def to_messages(self) -> list[BaseMessage]:
        """Return the messages."""
        return list(self.messages)


class ChatPromptValueConcrete(ChatPromptValue):
    """The same, under the name that schemas of old had."""

    type: str = "ChatPromptValueConcrete"


class ImageURL(TypedDict, total=False):
    """Where an image is, and how closely to look. url: a URL, or a data: URL."""

    detail: Literal["auto", "low", "high"]
    url: str


class ImagePromptValue(PromptValue):
    """A prompt that is one image."""

    image_url: ImageURL
    type: str = "ImagePromptValue"

    def to_string(self) -> str:
        """Return the URL."""
        return self.image_url.get("url", "")

    def to_messages(self) -> list[BaseMessage]:
        """Return one human message that shows the image."""
        return [HumanMessage([{"type": "image_url", "image_url": dict(self.image_url)}])]
