"""What a model class brings: which provider hooks it defines and which arguments they take.

Found once, when the class is made; a call only reads the answers.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

DOORS = ("generate", "generate_prompt", "_generate_with_cache", "_convert_input", "_should_stream")
SAYINGS = ("_identifying_params", "_get_invocation_params", "_get_ls_params", "dict", "asdict", "lc_attributes")
ADOORS = ("agenerate", "agenerate_prompt", "_agenerate_with_cache", "_convert_input", "_should_stream")


class Hooks(NamedTuple):
    """The facts about a class.

    generates, agenerates, streams, astreams: whether the class brings the hook. *_managed: whether the hook takes a run
    manager. is_direct, is_adirect: no documented step between `invoke` and the hook is overridden, so a call that
    nobody listens to may go straight to it. says_nothing: the class leaves it to the base to say what it is.
    """

    agenerates: bool
    streams: bool
    astreams: bool
    generate_managed: bool
    agenerate_managed: bool
    stream_managed: bool
    astream_managed: bool
    is_direct: bool
    is_adirect: bool
    says_nothing: bool


def hooks_of(cls: type[Any], base: type[Any]) -> Hooks:
    """Return the facts about a class; base: the class whose own hooks are only stand-ins."""

    def brings(name: str) -> bool:
        return getattr(cls, name, None) is not getattr(base, name, None)

    return Hooks(
        agenerates=brings("_agenerate"),
        streams=brings("_stream"),
        astreams=brings("_astream"),
        generate_managed=_takes_manager(getattr(cls, "_generate", None)),
        agenerate_managed=_takes_manager(getattr(cls, "_agenerate", None)),
        stream_managed=_takes_manager(getattr(cls, "_stream", None)),
        astream_managed=_takes_manager(getattr(cls, "_astream", None)),
        is_direct=not any(brings(name) for name in DOORS),
        is_adirect=not any(brings(name) for name in ADOORS),
        says_nothing=not any(brings(name) for name in SAYINGS),
    )


def _takes_manager(hook: Any) -> bool:
    if hook is None:
        return False
    code = getattr(hook, "__code__", None)
    if code is not None and not hasattr(hook, "__wrapped__"):
        return "run_manager" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return "run_manager" in inspect.signature(hook).parameters
    except (TypeError, ValueError):
        return True
