"""Jinja2 for templates whose source is trusted, in a sandbox all the same.

No attributes of values, no writes, no imports; loops at most three deep, `range` and repetition bounded, and the output
has a limit. A mistake in a trusted template then costs an error and not the process.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from clew._lazy import need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_OUTPUT = 1_000_000
"""Characters that a template may produce."""
MAX_ITEMS = 100_000
"""Items that all `range()` calls of one rendering may give together; also the limit of a repetition."""
MAX_LOOP_DEPTH = 3


def compile_jinja(source: str) -> tuple[list[str], Callable[[Mapping[str, Any]], str]]:
    """Return (names the template needs, render). Raises: ValueError for a broken template."""
    jinja2: Any = need("jinja2", "jinja2", "template_format='jinja2'")
    meta: Any = need("jinja2.meta", "jinja2", "template_format='jinja2'")
    environment = _environment()
    try:
        tree = environment.parse(source)
        if _loop_depth(tree) > MAX_LOOP_DEPTH:
            raise ValueError(f"the template's loops are more than {MAX_LOOP_DEPTH} deep")
        template = environment.from_string(source)
    except jinja2.TemplateError as error:
        raise ValueError(f"the template is no valid jinja2 template: {error}") from error
    variables = sorted(meta.find_undeclared_variables(tree))

    def render(values: Mapping[str, Any]) -> str:
        for name in variables:
            if name not in values:
                raise KeyError(name)
        out: list[str] = []
        size = 0
        try:
            for piece in template.generate({**values, "range": _bounded_range()}):
                size += len(piece)
                if size > MAX_OUTPUT:
                    raise ValueError(f"the template produced more than {MAX_OUTPUT:,} characters")
                out.append(piece)
        except jinja2.TemplateError as error:
            raise ValueError(f"the template can't be rendered: {error}") from error
        return "".join(out)

    return [name for name in variables if name != "range"], render


def _bounded_range() -> Callable[..., range]:
    left = MAX_ITEMS

    def bounded(*args: int) -> range:
        nonlocal left
        items = range(*args)
        left -= len(items)
        if left < 0:
            raise ValueError(f"the template's loops have more than {MAX_ITEMS:,} steps")
        return items

    return bounded


def _loop_depth(node: Any, depth: int = 0) -> int:
    depth += type(node).__name__ == "For"
    return max((_loop_depth(child, depth) for child in node.iter_child_nodes()), default=depth)


@functools.cache
def _environment() -> Any:
    sandbox: Any = need("jinja2.sandbox", "jinja2", "template_format='jinja2'")
    runtime: Any = need("jinja2.runtime", "jinja2", "template_format='jinja2'")
    own = (runtime.LoopContext, runtime.TemplateReference, runtime.Macro)
    base: Any = sandbox.ImmutableSandboxedEnvironment

    class Environment(base):
        """Values are data: keys and indexes, no attributes."""

        intercepted_binops = frozenset({"*", "**"})

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            if isinstance(obj, own):
                return base.is_safe_attribute(self, obj, attr, value)
            return isinstance(obj, dict) and attr in ("items", "keys", "values", "get")

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**" or any(
                isinstance(a, (str, list, tuple)) and isinstance(b, int) and len(a) * b > MAX_ITEMS  # pyright: ignore[reportUnknownArgumentType]
                for a, b in ((left, right), (right, left))
            ):
                raise ValueError(f"{operator} makes too much in a template")
            return base.call_binop(self, context, operator, left, right)

    jinja2: Any = need("jinja2", "jinja2", "template_format='jinja2'")
    return Environment(autoescape=False, loader=jinja2.DictLoader({}))
