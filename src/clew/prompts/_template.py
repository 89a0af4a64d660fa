"""Template languages, each as "text -> compiled template".

Templates may come from people who are not to be trusted with the program's objects: no language here reaches into one.
f-string fields are plain names, mustache names go through dict keys only, and jinja2 runs only for trusted sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, Literal

PromptTemplateFormat = Literal["f-string", "mustache", "jinja2"]

Render = Callable[[Mapping[str, Any]], str]


class Compiled:
    """A template that was read once.

    source: its text. variables: names it needs, in order of first use. render: values -> text; KeyError for a missing
    one.
    """

    __slots__ = ("format", "render", "source", "trusted", "variables")

    def __init__(self, source: str, format: str, trusted: bool, variables: list[str], render: Render) -> None:
        self.source = source
        self.format = format
        self.trusted = trusted
        self.variables = variables
        self.render = render


def compile_template(source: str, format: str = "f-string", *, trusted: bool = False) -> Compiled:
    """Read a template.

    trusted: the source may run code (jinja2). Raises: ValueError for a template that is broken or not allowed.
    """
    if format == "f-string":
        variables, render = _compile_fstring(source)
    elif format == "mustache":
        from clew.prompts._mustache import compile_mustache

        variables, render = compile_mustache(source)
    elif format == "jinja2":
        if not trusted:
            raise ValueError(
                "jinja2 templates can run code: pass trusted=True if this one is your own, "
                "and use template_format='f-string' or 'mustache' for any other"
            )
        from clew.prompts._jinja import compile_jinja

        variables, render = compile_jinja(source)
    else:
        raise ValueError(f"template_format must be 'f-string', 'mustache' or 'jinja2', not {format!r}")
    return Compiled(source, format, trusted, variables, render)


def _compile_fstring(source: str) -> tuple[list[str], Render]:
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        raise ValueError(f"a template is a str, not {type(source).__name__}")
    variables: dict[str, None] = {}
    try:
        fields = list(Formatter().parse(source))
    except ValueError as error:
        raise ValueError(
            f"the template is no valid f-string template ({error}); write {{{{ and }}}} for literal braces: {source!r}"
        ) from error
    for _, name, spec, _conversion in fields:
        if name is None:
            continue
        if not name or name.isdigit():
            raise ValueError(f"template fields need names, as in {{name}}: {source!r}")
        if any(char in name for char in ".[]"):
            raise ValueError(f"fields are plain names, without attributes or indexes: {{{name}}} in {source!r}")
        if spec and ("{" in spec or "}" in spec):
            raise ValueError(f"a format spec can't hold a field: {{{name}:{spec}}} in {source!r}")
        variables[name] = None
    return list(variables), source.format_map


def get_template_variables(template: str, template_format: str, *, trusted: bool = True) -> list[str]:
    """Return the names a template needs, sorted. Raises: ValueError for a broken template."""
    return sorted(compile_template(template, template_format, trusted=trusted).variables)


def check_valid_template(template: str, template_format: str, input_variables: list[str]) -> None:
    """Raise ValueError unless the template needs exactly these variables."""
    found = set(compile_template(template, template_format, trusted=True).variables)
    given = set(input_variables)
    if found != given:
        raise ValueError(
            f"the template and its input_variables differ: missing {sorted(found - given)}, "
            f"unused {sorted(given - found)}"
        )
