"""Which model a command speaks with, and what it says about it.

In order: what the user names; a model in this machine; CLEW_MODEL or OPENAI_BASE_URL; a script, labelled as
a script.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.language_models.chat_models import BaseChatModel

SCRIPTED = "a SCRIPTED text, written beforehand: no model speaks"
SCRIPT = (
    "Cats sleep for most of the day and rule the house for the rest of it. "
    "They ask for little, and they expect it at once. "
    "Whoever lives with one learns patience, and that is worth an essay."
)


@dataclass(frozen=True)
class Choice:
    """A model, what to call it, and what stood in the way of a better one.

    spec: name that `open_model` makes the same model from, in another process too.
    """

    spec: str
    label: str
    why_not_local: str | None = None

    @property
    def is_scripted(self) -> bool:
        """No model speaks, but a text written beforehand."""
        return self.spec == "scripted"


def open_model(spec: str, script: str = SCRIPT, **options: Any) -> BaseChatModel:
    """Make the model that `spec` names: "scripted", or "provider:model".

    script: what the scripted model answers. options: passed on to real models (temperature, max_tokens …).
    """
    if spec == "scripted":
        from clew.language_models import FakeListChatModel

        return FakeListChatModel(responses=[script])
    from clew.chat_models import init_chat_model

    if spec.startswith("local:"):
        options.setdefault("threads", 1)  # on cores that others use too, two threads wait for each other all the time
    made: BaseChatModel = cast("Any", init_chat_model)(spec, **options)
    return made


def _try_local() -> str | None:
    """None when the model in this machine answers, else what stands in its way."""
    try:
        open_model("local:smollm2", max_tokens=1).invoke("Hi")
    except ClewError as error:
        return f"{type(error).__name__}: {error}"
    return None


def choose(wanted: str | None = None) -> Choice:
    """Find the best model there is; `wanted` is taken as it is."""
    if wanted:
        return Choice(wanted, SCRIPTED if wanted == "scripted" else wanted)
    problem = _try_local()
    if problem is None:
        return Choice("local:smollm2", "SmolLM2-135M, a small real model running in this machine")
    if named := os.environ.get("CLEW_MODEL"):
        return Choice(named, f"{named} (named by CLEW_MODEL)", problem)
    if base := os.environ.get("OPENAI_BASE_URL"):
        name = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
        return Choice(f"openai:{name}", f"{name} at {base} (named by OPENAI_BASE_URL)", problem)
    return Choice("scripted", SCRIPTED, problem)
