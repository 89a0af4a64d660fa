"""Templates of structured data: every string in them is a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from clew.prompts._template import PromptTemplateFormat, compile_template
from clew.runnables.base import RunnableSerializable

__all__ = [
    "DictPromptTemplate",
]

Build = Callable[[Mapping[str, Any]], Any]


def compile_data(value: Any, format: str, trusted: bool = False) -> tuple[list[str], Build]:
    """Return (names, build) of data whose strings are templates. Keys and other values stay as they are.

    Raises: ValueError for a broken template, or one that names a file.
    """
    if isinstance(value, str):
        compiled = compile_template(value, format, trusted=trusted)
        if not compiled.variables and compiled.render({}) == value:
            return [], lambda values: value
        return compiled.variables, compiled.render
    names: dict[str, None] = {}
    if isinstance(value, dict):
        members: list[tuple[Any, Build]] = []
        for key, item in cast("dict[Any, Any]", value).items():
            if key == "image_url" and isinstance(item, dict) and "path" in item:
                raise ValueError("an image in a prompt is given by url, not by path: load the file yourself")
            found, build = compile_data(item, format, trusted)
            names.update(dict.fromkeys(found))
            members.append((key, build))
        return list(names), lambda values: {key: build(values) for key, build in members}
    if isinstance(value, list):
        parts: list[Build] = []
        for item in cast("list[Any]", value):
            found, build = compile_data(item, format, trusted)
            names.update(dict.fromkeys(found))
            parts.append(build)
        return list(names), lambda values: [build(values) for build in parts]
    return [], lambda values: value


class DictPromptTemplate(RunnableSerializable[Any, Any]):
    """A dict whose strings are templates, at any depth."""

    template: dict[str, Any]
    template_format: PromptTemplateFormat = "f-string"

    def model_post_init(self, context: Any, /) -> None:
        """Read the template. Raises: ValueError."""
        compile_data(self.template, self.template_format)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Described by its arguments."""
        return True

    @property
    def input_variables(self) -> list[str]:
        """Names of the variables."""
        return compile_data(self.template, self.template_format)[0]

    def format(self, **kwargs: Any) -> dict[str, Any]:
        """Return the dict for these variables."""
        return compile_data(self.template, self.template_format)[1](kwargs)

    async def aformat(self, **kwargs: Any) -> dict[str, Any]:
        """Return the dict for these variables."""
        return self.format(**kwargs)

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Return the dict for these variables."""

        def body(values: dict[str, Any]) -> dict[str, Any]:
            return self.format(**values)

        return self._call_with_config(body, input, config, run_type="prompt")
