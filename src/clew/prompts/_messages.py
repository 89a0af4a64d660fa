"""Templates of human, AI, system and other messages, and the place for a list of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field

from clew.messages._convert import convert_to_messages
from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.messages.chat import ChatMessage
from clew.messages.human import HumanMessage
from clew.messages.system import SystemMessage
from clew.prompts._template import PromptTemplateFormat
from clew.prompts.dict import Build, compile_data
from clew.prompts.message import BaseMessagePromptTemplate
from clew.prompts.prompt import PromptTemplate
from clew.prompts.string import StringPromptTemplate

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


class MessagesPlaceholder(BaseMessagePromptTemplate):
    """A place for a list of messages, given as the variable `variable_name`.

    optional: nothing is put there when the variable isn't given. n_messages: only the last n.
    Raises: ValueError if the value is no list of messages.
    """

    variable_name: str
    optional: bool = False
    n_messages: int | None = Field(default=None, gt=0)

    def __init__(self, variable_name: str, *, optional: bool = False, **kwargs: Any) -> None:
        super().__init__(**{"variable_name": variable_name, "optional": optional, **kwargs})

    @property
    def input_variables(self) -> list[str]:
        """The variable, unless it is optional."""
        return [] if self.optional else [self.variable_name]

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages that were given."""
        out: list[BaseMessage] = []
        self._into(kwargs, out)
        return out

    def _into(self, values: Mapping[str, Any], out: list[BaseMessage]) -> None:
        given: Any = values.get(self.variable_name, []) if self.optional else values[self.variable_name]
        if isinstance(given, (str, BaseMessage, Mapping)) or not isinstance(given, Sequence):
            kind = type(cast("object", given)).__name__
            raise ValueError(f"the variable {self.variable_name!r} should be a list of messages, not {kind}: {given!r}")
        messages = convert_to_messages(cast("Sequence[Any]", given))
        out.extend(messages if self.n_messages is None else messages[-self.n_messages :])

    def pretty_repr(self, html: bool = False) -> str:
        """Return the place as people read it."""
        from clew.messages.base import get_msg_title_repr

        return f"{get_msg_title_repr('Messages Placeholder', bold=html)}\n\n{{{self.variable_name}}}"


class BaseStringMessagePromptTemplate(BaseMessagePromptTemplate):
    """A message whose content is one text template."""

    prompt: StringPromptTemplate
    additional_kwargs: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_template(
        cls,
        template: str,
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return the message template for a text."""
        trusted = bool(kwargs.pop("trusted", False))
        prompt = PromptTemplate(
            template=template,
            template_format=template_format,
            partial_variables=partial_variables or {},
            trusted=trusted,
        )
        return cls(prompt=prompt, **kwargs)

    @classmethod
    def from_template_file(cls, template_file: str | Path, **kwargs: Any) -> Self:
        """Return the message template for a file that you name."""
        return cls(prompt=PromptTemplate.from_file(template_file), **kwargs)

    def format(self, **kwargs: Any) -> BaseMessage:
        """Return the message for these variables."""
        raise NotImplementedError(f"{type(self).__name__} does not define format")

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the message in a list."""
        return [self.format(**kwargs)]

    @property
    def input_variables(self) -> list[str]:
        """Names of the variables."""
        return self.prompt.input_variables

    def pretty_repr(self, html: bool = False) -> str:
        """Return the message with its variables in braces."""
        return self.format(**{name: f"{{{name}}}" for name in self.input_variables}).pretty_repr(html)


class ChatMessagePromptTemplate(BaseStringMessagePromptTemplate):
    """A message of any role."""

    role: str

    def format(self, **kwargs: Any) -> BaseMessage:
        """Return the message for these variables."""
        return ChatMessage(self.prompt.format(**kwargs), role=self.role, additional_kwargs=dict(self.additional_kwargs))


class _RoleTemplate(BaseMessagePromptTemplate):
    """A human, AI or system message: one text, or a list of blocks whose strings are templates."""

    prompt: StringPromptTemplate | list[Any]
    additional_kwargs: dict[str, Any] = Field(default_factory=dict)
    template_format: PromptTemplateFormat = "f-string"
    _message_class: ClassVar[type[BaseMessage]] = BaseMessage

    @classmethod
    def from_template(
        cls,
        template: str | list[Any] | dict[str, Any],
        template_format: PromptTemplateFormat = "f-string",
        *,
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return the message template for a text or for blocks.

        template: a text, or a list of texts and block dicts. partial_variables: for a text only.
        """
        trusted = bool(kwargs.pop("trusted", False))
        if isinstance(template, str):
            prompt = PromptTemplate(
                template=template,
                template_format=template_format,
                partial_variables=partial_variables or {},
                trusted=trusted,
            )
            return cls(prompt=prompt, **kwargs)
        if partial_variables:
            raise ValueError("partial_variables go with a text template, not with a list of blocks")
        blocks = [template] if isinstance(template, dict) else list(template)
        blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in blocks]
        return cls(prompt=[_with_type(item) for item in blocks], template_format=template_format, **kwargs)

    @classmethod
    def from_template_file(cls, template_file: str | Path, input_variables: list[str], **kwargs: Any) -> Self:
        """Return the message template for a file that you name."""
        return cls(prompt=PromptTemplate.from_file(template_file), **kwargs)

    def model_post_init(self, context: Any, /) -> None:
        """Read the blocks. Raises: ValueError."""
        if isinstance(self.prompt, list):
            self._blocks()

    def _blocks(self) -> tuple[list[str], Build]:
        cached = self.__dict__.get("_read")
        if cached is None or cached[0] is not self.prompt:
            data = [_as_data(part) for part in cast("list[Any]", self.prompt)]
            cached = vars(self)["_read"] = (self.prompt, compile_data(data, self.template_format))
        return cached[1]

    @property
    def input_variables(self) -> list[str]:
        """Names of the variables."""
        return self._blocks()[0] if isinstance(self.prompt, list) else self.prompt.input_variables

    def _content(self, values: Mapping[str, Any]) -> Any:
        prompt = self.prompt
        if isinstance(prompt, PromptTemplate):
            return prompt._text(values)
        if isinstance(prompt, list):
            return self._blocks()[1](values)
        return prompt.format(**values)

    def _into(self, values: Mapping[str, Any], out: list[BaseMessage]) -> None:
        if self.additional_kwargs:
            out.append(self._message_class(self._content(values), additional_kwargs=dict(self.additional_kwargs)))
        else:
            out.append(self._message_class(self._content(values)))

    def format(self, **kwargs: Any) -> BaseMessage:
        """Return the message for these variables."""
        return self.format_messages(**kwargs)[0]

    async def aformat(self, **kwargs: Any) -> BaseMessage:
        """Return the message for these variables."""
        return self.format(**kwargs)

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the message in a list."""
        out: list[BaseMessage] = []
        self._into(kwargs, out)
        return out

    def pretty_repr(self, html: bool = False) -> str:
        """Return the message with its variables in braces."""
        return self.format(**{name: f"{{{name}}}" for name in self.input_variables}).pretty_repr(html)


def _with_type(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    members = cast("dict[str, Any]", block)
    kind = members.get("type") or ("text" if "text" in members else "image_url" if "image_url" in members else None)
    if kind is not None:
        members = {"type": kind, **members}
    if kind == "image_url" and isinstance(members.get("image_url"), str):
        members = {**members, "image_url": {"url": members["image_url"]}}
    return members


def _as_data(part: Any) -> Any:
    """A block template object (as people build them by hand) as the data it stands for."""
    if isinstance(part, PromptTemplate):
        return {"type": "text", "text": part.template}
    template = getattr(part, "template", None)
    if isinstance(template, dict):
        image = type(part).__name__ == "ImagePromptTemplate"
        return {"type": "image_url", "image_url": template} if image else template  # pyright: ignore[reportUnknownVariableType]
    return part


class HumanMessagePromptTemplate(_RoleTemplate):
    """Template of a human message."""

    _message_class: ClassVar[type[BaseMessage]] = HumanMessage


class AIMessagePromptTemplate(_RoleTemplate):
    """Template of an AI message."""

    _message_class: ClassVar[type[BaseMessage]] = AIMessage


class SystemMessagePromptTemplate(_RoleTemplate):
    """Template of a system message."""

    _message_class: ClassVar[type[BaseMessage]] = SystemMessage
