"""`PromptTemplate`: one text with variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import model_validator

from clew.prompt_values import PromptValue, StringPromptValue
from clew.prompts._template import Compiled, PromptTemplateFormat, check_valid_template, compile_template
from clew.prompts.string import StringPromptTemplate


class PromptTemplate(StringPromptTemplate):
    """A text with variables.

    template: "Tell a joke about {topic}". template_format: "f-string", "mustache", or "jinja2" (only if trusted).
    trusted: the template's source is yours, so it may run code. input_variables: found in the template.
    validate_template: raise if the given input_variables are others than the template's.
    Raises: ValueError for a broken template, KeyError when a variable is missing.
    """

    template: str
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False
    trusted: bool = False

    @model_validator(mode="before")
    @classmethod
    def _read_variables(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "template" not in values:
            return cast("Any", values)  # pydantic reports what is missing
        members: dict[str, Any] = {**cast("dict[str, Any]", values)}
        partial: dict[str, Any] = members.get("partial_variables") or {}
        format = members.get("template_format", "f-string")
        compiled = compile_template(members["template"], format, trusted=bool(members.get("trusted")))
        if members.get("validate_template"):
            check_valid_template(members["template"], format, [*(members.get("input_variables") or ()), *partial])
        members["partial_variables"] = partial
        members["input_variables"] = [name for name in compiled.variables if name not in partial]
        return members

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "prompts", "prompt"]

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Arguments for dumps."""
        return {"template_format": self.template_format}

    @property
    def _prompt_type(self) -> str:
        return "prompt"

    def _compiled(self) -> Compiled:
        compiled: Compiled | None = self.__dict__.get("_read")
        if (
            compiled is None
            or compiled.source is not self.template
            or compiled.format != self.template_format
            or compiled.trusted is not self.trusted
        ):
            compiled = compile_template(self.template, self.template_format, trusted=self.trusted)
            vars(self)["_read"] = compiled
        return compiled

    def _text(self, values: Mapping[str, Any]) -> str:
        """The text for these values, partial ones included."""
        if self.partial_variables:
            values = self._with_partials(values)
        try:
            return self._compiled().render(values)
        except KeyError as error:
            if error.args and error.args[0] in self.input_variables:
                raise self._missing(values) from error
            raise

    def format(self, **kwargs: Any) -> str:
        """Return the text for these variables. Raises: KeyError when one is missing."""
        return self._text(kwargs)

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the text as a prompt value."""
        return StringPromptValue(text=self.format(**kwargs))

    def __add__(self, other: Any) -> PromptTemplate:
        """Return a template of both texts; another template must be of the same format."""
        if isinstance(other, str):
            other = PromptTemplate(template=other, template_format=self.template_format, trusted=self.trusted)
        if not isinstance(other, PromptTemplate):
            raise NotImplementedError(f"can't add {type(other).__name__} to a PromptTemplate")
        if other.template_format != self.template_format:
            raise ValueError("can't add templates of different formats")
        twice = set(self.partial_variables) & set(other.partial_variables)
        if twice:
            raise ValueError(f"both templates have the partial variables {sorted(twice)}")
        return PromptTemplate(
            template=self.template + other.template,
            template_format=self.template_format,
            partial_variables={**self.partial_variables, **other.partial_variables},
            validate_template=self.validate_template and other.validate_template,
            trusted=self.trusted and other.trusted,
        )

    @classmethod
    def from_template(
        cls,
        template: str,
        *,
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> PromptTemplate:
        """Return the template for a text; see the class."""
        return cls(
            template=template, template_format=template_format, partial_variables=partial_variables or {}, **kwargs
        )

    @classmethod
    def from_file(cls, template_file: str | Path, encoding: str | None = None, **kwargs: Any) -> PromptTemplate:
        """Return the template in a file that you name (never one named by a template)."""
        return cls.from_template(Path(template_file).read_text(encoding=encoding or "utf-8"), **kwargs)

    @classmethod
    def from_examples(
        cls,
        examples: list[str],
        suffix: str,
        input_variables: list[str],
        example_separator: str = "\n\n",
        prefix: str = "",
        **kwargs: Any,
    ) -> PromptTemplate:
        """Return a template of prefix, examples and suffix."""
        return cls(
            template=example_separator.join([prefix, *examples, suffix]), input_variables=input_variables, **kwargs
        )
