"""Templates that make text."""

from __future__ import annotations

from abc import ABC
from typing import Any

from clew.prompt_values import PromptValue, StringPromptValue
from clew.prompts._template import check_valid_template, get_template_variables
from clew.prompts.base import BasePromptTemplate

__all__ = ["StringPromptTemplate", "check_valid_template", "get_template_variables"]


class StringPromptTemplate(BasePromptTemplate[str], ABC):
    """Base of templates whose `format` returns text."""

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "prompts", "base"]

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the text as a prompt value."""
        return StringPromptValue(text=self.format(**kwargs))

    async def aformat_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the text as a prompt value."""
        return StringPromptValue(text=await self.aformat(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """Return the text with its variables in braces."""
        return self.format(**{name: f"{{{name}}}" for name in self.input_variables})

    def pretty_print(self) -> None:
        """Print `pretty_repr()`."""
        import sys

        sys.stdout.write(self.pretty_repr() + "\n")
