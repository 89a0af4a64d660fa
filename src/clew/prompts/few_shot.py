"""Templates that show examples first."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from clew.messages.base import BaseMessage
from clew.prompts._template import PromptTemplateFormat, compile_template
from clew.prompts.chat import BaseChatPromptTemplate
from clew.prompts.message import BaseMessagePromptTemplate
from clew.prompts.prompt import PromptTemplate
from clew.prompts.string import StringPromptTemplate


def _check_source(examples: Any, selector: Any) -> None:
    if (examples is None) == (selector is None):
        raise ValueError("give either examples or an example_selector")


class FewShotPromptTemplate(StringPromptTemplate):
    """A text of prefix, formatted examples, and suffix.

    examples: dicts of the example_prompt's variables. example_selector: instead of examples; has
    `select_examples(inputs) -> list of dicts`.
    """

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    example_prompt: PromptTemplate
    suffix: str
    prefix: str = ""
    example_separator: str = "\n\n"
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False
    trusted: bool = False

    @model_validator(mode="before")
    @classmethod
    def _read_variables(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        members: dict[str, Any] = {**values}
        _check_source(members.get("examples"), members.get("example_selector"))
        names: dict[str, None] = {}
        for text in (members.get("prefix", ""), members.get("suffix", "")):
            format = members.get("template_format", "f-string")
            names.update(dict.fromkeys(compile_template(text, format, trusted=bool(members.get("trusted"))).variables))
        partial: dict[str, Any] = members.get("partial_variables") or {}
        found = [name for name in names if name not in partial]
        given: list[str] | None = members.get("input_variables")
        if members.get("validate_template") and given is not None and set(given) != set(found):
            raise ValueError(f"prefix and suffix need {sorted(found)}, input_variables says {sorted(given)}")
        members["input_variables"] = found
        return members

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Selectors are no data, so these are not written down."""
        return False

    @property
    def _prompt_type(self) -> str:
        return "few_shot"

    def format(self, **kwargs: Any) -> str:
        """Return the text for these variables. Raises: KeyError when one is missing."""
        values = dict(self._with_partials(kwargs))
        chosen = self.examples if self.examples is not None else self.example_selector.select_examples(values)
        needed = self.example_prompt.input_variables
        shown = [self.example_prompt.format(**{name: example[name] for name in needed}) for example in chosen or ()]
        prefix = compile_template(self.prefix, self.template_format, trusted=self.trusted).render(values)
        suffix = compile_template(self.suffix, self.template_format, trusted=self.trusted).render(values)
        return self.example_separator.join([part for part in (prefix, *shown, suffix) if part])


class FewShotPromptWithTemplates(StringPromptTemplate):
    """Like FewShotPromptTemplate, with templates for prefix and suffix."""

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    example_prompt: PromptTemplate
    suffix: StringPromptTemplate
    prefix: StringPromptTemplate | None = None
    example_separator: str = "\n\n"
    validate_template: bool = False

    def model_post_init(self, context: Any, /) -> None:
        """Find the variables. Raises: ValueError."""
        _check_source(self.examples, self.example_selector)
        names = dict.fromkeys([*(self.prefix.input_variables if self.prefix else ()), *self.suffix.input_variables])
        self.input_variables = [name for name in names if name not in self.partial_variables]
        super().model_post_init(context)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Selectors are no data, so these are not written down."""
        return False

    @property
    def _prompt_type(self) -> str:
        return "few_shot_with_templates"

    def format(self, **kwargs: Any) -> str:
        """Return the text for these variables."""
        values = dict(self._with_partials(kwargs))
        chosen = self.examples if self.examples is not None else self.example_selector.select_examples(values)
        shown = [self.example_prompt.format(**example) for example in chosen or ()]
        parts = [self.prefix.format(**_for(self.prefix, values)) if self.prefix else "", *shown]
        parts.append(self.suffix.format(**_for(self.suffix, values)))
        return self.example_separator.join(part for part in parts if part)


def _for(template: StringPromptTemplate, values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in template.input_variables}


class FewShotChatMessagePromptTemplate(BaseChatPromptTemplate):
    """Examples as messages, to be put into a ChatPromptTemplate.

    example_prompt: a chat or message template whose variables each example gives.
    """

    examples: list[dict[str, Any]] | None = None
    example_selector: Any = None
    input_variables: list[str] = Field(default_factory=list)
    example_prompt: BaseMessagePromptTemplate | BaseChatPromptTemplate

    def model_post_init(self, context: Any, /) -> None:
        """Check where the examples come from. Raises: ValueError."""
        _check_source(self.examples, self.example_selector)
        super().model_post_init(context)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Selectors are no data, so these are not written down."""
        return False

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """Return the messages of all examples."""
        chosen = self.examples if self.examples is not None else self.example_selector.select_examples(kwargs)
        needed = self.example_prompt.input_variables
        return [
            message
            for example in chosen or ()
            for message in self.example_prompt.format_messages(**{name: example[name] for name in needed})
        ]

    def _into(self, values: Any, out: list[BaseMessage]) -> None:
        out.extend(self.format_messages(**values))

    def pretty_repr(self, html: bool = False) -> str:
        """Return the messages of all examples, to be read."""
        return "\n\n".join(message.pretty_repr(html) for message in self.format_messages())
