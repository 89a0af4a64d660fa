"""What a model says about itself to those who listen, worked out once and kept until one of its fields is set.

Only for classes that leave the saying to us: where a hook such as `_identifying_params` is overridden, it is asked each
time. Nothing here goes into a cache key, since a list or dict in a field may be changed in place.
"""

from __future__ import annotations

from operator import is_
from typing import Any, NamedTuple

from clew.language_models._params import identifying, tracing_params
from clew.load import dumpd

_KEPT = "_said_facts"  # in the model's __dict__: pydantic passes over names with an underscore there


class Facts(NamedTuple):
    """values: the model's fields, as they were. serialized, params, tracing: for the start event."""

    values: tuple[Any, ...]
    serialized: dict[str, Any]
    params: dict[str, Any]
    tracing: dict[str, Any]


def facts_of(model: Any) -> Facts:
    """Return what a model says about itself."""
    fields = model.__dict__
    kept: Facts | None = fields.get(_KEPT)
    values = tuple(fields.values())
    if kept is not None and len(kept.values) == len(values) - 1 and all(map(is_, kept.values, values)):
        return kept  # what is kept was put last, so the fields are the first
    if kept is not None:
        del fields[_KEPT]
        values = tuple(fields.values())
    said = model.clew_hooks.says_nothing
    facts = Facts(
        values,
        dumpd(model),
        {**identifying(model), "_type": model._llm_type} if said else {},
        dict(tracing_params(model, "chat", None, {})) if said else {},
    )
    fields[_KEPT] = facts
    return facts


def serialized(model: Any) -> dict[str, Any]:
    """Return the model's own description, without secrets."""
    return facts_of(model).serialized
