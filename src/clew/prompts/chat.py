"""Templates of whole conversations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, field_validator

from clew.messages.base import BaseMessage
from clew.prompt_values import ChatPromptValue, ImageURL, PromptValue
from clew.prompts._messages import (
    AIMessagePromptTemplate,
    BaseStringMessagePromptTemplate,
    ChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    SystemMessagePromptTemplate,
)
from clew.prompts._template import PromptTemplateFormat
from clew.prompts.base import BasePromptTemplate
from clew.prompts.message import BaseMessagePromptTemplate

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseMessagePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "HumanMessagePromptTemplate",
    "ImageURL",
    "MessagesPlaceholder",
    "SystemMessagePromptTemplate",
]

_TEMPLATES: dict[str, Any] = {
    "human": HumanMessagePromptTemplate,
    "user": HumanMessagePromptTemplate,
    "ai": AIMessagePromptTemplate,
    "assistant": AIMessagePromptTemplate,
    "system": SystemMessagePromptTemplate,
    "developer": SystemMessagePromptTemplate,
}


class BaseChatPromptTemplate(BasePromptTemplate[str], ABC):
    """Base of templates that make messages."""

    @abstractmethod
    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages for these variables."""

    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages for these variables."""
        return self.format_messages(**kwargs)

    def format(self, **kwargs: Any) -> str:
        """Return the messages as text."""
        return self.format_prompt(**kwargs).to_string()

    async def aformat(self, **kwargs: Any) -> str:
        """Return the messages as text."""
        return (await self.aformat_prompt(**kwargs)).to_string()

    def format_prompt(self, **kwargs: Any) -> ChatPromptValue:
        """Return the messages as a prompt value."""
        return ChatPromptValue(messages=self.format_messages(**kwargs))

    async def aformat_prompt(self, **kwargs: Any) -> ChatPromptValue:
        """Return the messages as a prompt value."""
        return ChatPromptValue(messages=await self.aformat_messages(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template as people read it."""
        raise NotImplementedError(f"{type(self).__name__} does not define pretty_repr")

    def pretty_print(self) -> None:
        """Print `pretty_repr()`."""
        import sys

        sys.stdout.write(self.pretty_repr() + "\n")


class ChatPromptTemplate(BaseChatPromptTemplate):
    """A conversation with variables.

    messages: ("role", "text with {variables}") pairs, message templates, placeholders, other chat templates, and
    messages, which are no templates and stay as they are. ("placeholder", "{name}") is an optional MessagesPlaceholder.
    Raises: ValueError for a broken template; KeyError when a variable is missing.
    """

    messages: list[Any] = Field(default_factory=list)
    validate_template: bool = False

    def __init__(
        self,
        messages: Sequence[Any] | None = None,
        *,
        template_format: PromptTemplateFormat = "f-string",
        **kwargs: Any,
    ) -> None:
        trusted = bool(kwargs.pop("trusted", False))
        parts = [_part(message, template_format, trusted) for message in messages or ()]
        partial: dict[str, Any] = dict(kwargs.pop("partial_variables", None) or {})
        required, optional = _variables(parts)
        given = kwargs.pop("input_variables", None)
        names = [name for name in required if name not in partial]
        if kwargs.get("validate_template") and given is not None and set(given) != set(names):
            raise ValueError(f"the messages need {sorted(names)}, input_variables says {sorted(given)}")
        kwargs.pop("optional_variables", None)
        types = dict.fromkeys(optional, list[Any]) | dict(kwargs.pop("input_types", None) or {})
        members: dict[str, Any] = {
            "messages": parts,
            "input_variables": sorted(names),
            "optional_variables": sorted(name for name in optional if name not in partial),
            "partial_variables": partial,
            "input_types": types,
        }
        super().__init__(**members, **kwargs)

    @field_validator("messages")
    @classmethod
    def _check_parts(cls, parts: list[Any]) -> list[Any]:
        return [_part(part, "f-string", False) for part in parts]

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "prompts", "chat"]

    @property
    def _prompt_type(self) -> str:
        return "chat"

    @classmethod
    def from_template(cls, template: str, **kwargs: Any) -> ChatPromptTemplate:
        """Return a template of one human message."""
        return cls(messages=[HumanMessagePromptTemplate.from_template(template, **kwargs)])

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], template_format: PromptTemplateFormat = "f-string", **kwargs: Any
    ) -> ChatPromptTemplate:
        """Return a template of these messages; see the class."""
        return cls(messages, template_format=template_format, **kwargs)

    # -- formatting

    def _messages(self, values: Mapping[str, Any]) -> list[BaseMessage]:
        if self.partial_variables:
            values = self._with_partials(values)
        out: list[BaseMessage] = []
        try:
            for part in self.messages:
                if isinstance(part, BaseMessage):
                    out.append(part)
                else:
                    part._into(values, out)
        except KeyError as error:
            missing = [name for name in self.input_variables if name not in values]
            raise (self._missing(values) if missing else error) from error
        return out

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages for these variables. Raises: KeyError when one is missing."""
        return self._messages(kwargs)

    def _from_input(self, value: Any) -> PromptValue:
        if type(self) is ChatPromptTemplate and type(value) is dict:  # nothing is overridden: the short way
            return ChatPromptValue(self._messages(value))  # pyright: ignore[reportUnknownArgumentType] - names to values
        return self.format_prompt(**self._checked(value))

    def _into(self, values: Mapping[str, Any], out: list[BaseMessage]) -> None:
        """Add the messages to those of the template that holds this one."""
        out.extend(self.format_messages(**values))

    # -- more messages

    def append(self, message: Any) -> None:
        """Add a message at the end, in place."""
        self.extend([message])

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end, in place."""
        more = ChatPromptTemplate([*self.messages, *messages], partial_variables=self.partial_variables)
        self.messages = more.messages
        self.input_variables = more.input_variables
        self.optional_variables = more.optional_variables

    def __add__(self, other: Any) -> ChatPromptTemplate:
        """Return a template of these messages and more: a template, message, text, or list of them."""
        partial = dict(self.partial_variables)
        if isinstance(other, ChatPromptTemplate):
            parts = [*self.messages, *other.messages]
            partial.update(other.partial_variables)
        elif isinstance(other, (BaseMessage, BaseMessagePromptTemplate, BaseChatPromptTemplate)):
            parts = [*self.messages, other]
        elif isinstance(other, str):
            parts = [*self.messages, HumanMessagePromptTemplate.from_template(other)]
        elif isinstance(other, (list, tuple)):
            parts = [*self.messages, *cast("Sequence[Any]", other)]
        else:
            raise NotImplementedError(f"can't add {type(other).__name__} to a ChatPromptTemplate")
        return ChatPromptTemplate(parts, partial_variables=partial)

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, index: int | slice) -> Any:
        """Return a message template (int) or a shorter chat template (slice)."""
        if isinstance(index, slice):
            return ChatPromptTemplate(self.messages[index], partial_variables=self.partial_variables)
        return self.messages[index]

    def partial(self, **kwargs: Any) -> Self:
        """Return a template with some variables given."""
        return super().partial(**kwargs)

    def pretty_repr(self, html: bool = False) -> str:
        """Return all messages with their variables in braces."""
        return "\n\n".join(part.pretty_repr(html) for part in self.messages)

    def save(self, file_path: Path | str) -> None:
        """Raise NotImplementedError: chat templates are written by `clew.load.dumps`."""
        raise NotImplementedError("chat templates are saved with clew.load.dumps, not as prompt files")


def _variables(parts: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Return (required names, optional names) of message templates."""
    required: dict[str, None] = {}
    optional: dict[str, None] = {}
    for part in parts:
        if isinstance(part, MessagesPlaceholder) and part.optional:
            optional[part.variable_name] = None
        elif not isinstance(part, BaseMessage):
            required.update(dict.fromkeys(part.input_variables))
            if isinstance(part, BaseChatPromptTemplate):
                optional.update(dict.fromkeys(part.optional_variables))
    return list(required), [name for name in optional if name not in required]


def _part(message: Any, format: PromptTemplateFormat, trusted: bool) -> Any:
    """Return the template for one entry of `messages`. Raises: ValueError, NotImplementedError."""
    if isinstance(message, (BaseMessage, BaseMessagePromptTemplate, BaseChatPromptTemplate)):
        return message
    if isinstance(message, str):
        return HumanMessagePromptTemplate.from_template(message, format, trusted=trusted)
    if isinstance(message, Mapping):
        members = cast("Mapping[str, Any]", message)
        if set(members) != {"role", "content"}:
            raise ValueError(f"a message template dict has the keys 'role' and 'content', not {sorted(members)}")
        return _of_role(members["role"], members["content"], format, trusted)
    if isinstance(message, (tuple, list)):
        pair = cast("Sequence[Any]", message)
        if len(pair) != 2:
            raise ValueError(f"a message template pair is (role, template), not {message!r}")
        return _of_role(pair[0], pair[1], format, trusted)
    if callable(getattr(message, "format_messages", None)):
        return message
    raise NotImplementedError(f"can't make a message template of {type(message).__name__}: {message!r}")


def _of_role(role: Any, template: Any, format: PromptTemplateFormat, trusted: bool) -> Any:
    if role == "placeholder":
        return _placeholder(template)
    if isinstance(role, type) and issubclass(role, BaseMessage):
        role = role("").type
    cls = _TEMPLATES.get(cast("str", role))
    if cls is not None and isinstance(template, BasePromptTemplate):
        return cls(prompt=template)
    if cls is None:
        known = ", ".join([*_TEMPLATES, "placeholder"])
        raise ValueError(f"unknown message role {role!r}: use {known} (ChatMessagePromptTemplate takes any role)")
    made = cls.from_template(template, format, trusted=trusted)
    if role == "developer":
        made.additional_kwargs = {"__openai_role__": "developer"}
    return made


def _placeholder(template: Any) -> MessagesPlaceholder:
    name, optional = (template, True) if isinstance(template, str) else (template[0], template[1])
    if not (isinstance(name, str) and name[:1] == "{" and name[-1:] == "}"):
        raise ValueError(f"a placeholder is written ('placeholder', '{{name}}'), not {template!r}")
    return MessagesPlaceholder(name[1:-1], optional=bool(optional))
