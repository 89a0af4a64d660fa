"""What the runtime reads from a config, and the complete one that it gives to functions that ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.config import current_config
from clew.errors import MissingThreadError

if TYPE_CHECKING:
    from clew.config import RunnableConfig


def thread_of(config: RunnableConfig | None) -> tuple[str, str]:
    """Return (thread_id, checkpoint_ns); raises MissingThreadError."""
    place = config.get("configurable") if config else None
    thread_id = place.get("thread_id") if place else None
    if thread_id is None or thread_id == "":
        raise MissingThreadError(
            "this workflow saves its progress, so it needs config={'configurable': {'thread_id': ...}}: any text "
            "that names the conversation or case"
        )
    assert place is not None
    return str(thread_id), str(place.get("checkpoint_ns") or "")


def complete(config: RunnableConfig | None, thread_id: str | None, checkpoint_id: str | None) -> dict[str, Any]:
    """Return a config with every key set."""
    whole: dict[str, Any] = {"tags": [], "metadata": {}, "callbacks": None, "recursion_limit": 25, "configurable": {}}
    if config:
        whole.update({key: value for key, value in config.items() if value is not None})
    whole["tags"] = list(whole["tags"])
    whole["metadata"] = dict(whole["metadata"])
    whole["configurable"] = dict(whole["configurable"])
    if thread_id is not None:
        whole["metadata"].setdefault("thread_id", thread_id)
    return whole


def merged(config: RunnableConfig | None) -> RunnableConfig | None:
    """Return the config of a call joined with the ambient one."""
    ambient = current_config.get()
    if ambient is None:
        return config
    if config is None:
        return ambient
    from clew.runnables.config import merge_configs

    return merge_configs(ambient, config)
