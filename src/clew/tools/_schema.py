"""Schemas from functions, for those who make their own tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew.utils._signature import Signature, build_model


def create_schema_from_function(
    model_name: str,
    func: Callable[..., Any],
    *,
    filter_args: Sequence[str] | None = None,
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = False,
    include_injected: bool = True,
) -> Any:
    """Return a pydantic model of a function's arguments.

    filter_args: arguments to leave out. include_injected: keep those that the program injects.
    Raises: ValueError for a docstring that describes unknown arguments, if asked to.
    """
    signature = Signature(func, model_name, filter_args or ())
    if parse_docstring and error_on_invalid_docstring:
        signature.check_docs()
    fields = signature.fields()
    if not include_injected:
        fields = {name: field for name, field in fields.items() if name not in signature.injected}
    return build_model(model_name, fields, signature.summary or None)
