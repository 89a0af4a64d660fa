"""Dispatch events of one's own from within a runnable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.callbacks._manager import AsyncCallbackManager, BaseCallbackManager, CallbackManager, anyone_listening
from clew.config import current_config
from clew.errors import OutsideWorkflowError

if TYPE_CHECKING:
    from clew.config import RunnableConfig


def dispatch_custom_event(name: str, data: Any, *, config: RunnableConfig | None = None) -> None:
    """Tell the handlers of the running call of an event: they hear `on_custom_event(name, data, run_id=…)`.

    config: of the call; needed only outside of runnables.
    Raises: OutsideWorkflowError (a RuntimeError) when it can't be told which run the event belongs to.
    """
    manager = _manager(CallbackManager, config)
    if manager is not None:
        manager.on_custom_event(name, data, run_id=manager.parent_run_id)


async def adispatch_custom_event(name: str, data: Any, *, config: RunnableConfig | None = None) -> None:
    """Tell the handlers of the running call of an event; as `dispatch_custom_event`."""
    manager = _manager(AsyncCallbackManager, config)
    if manager is not None:
        await manager.on_custom_event(name, data, run_id=manager.parent_run_id)


def _manager(kind: Any, config: RunnableConfig | None) -> Any:
    given = config if config is not None else current_config.get()
    if given is None:
        raise OutsideWorkflowError("a custom event needs a run around it: call this from within a runnable")
    callbacks = given.get("callbacks")
    if not anyone_listening(callbacks):
        return None
    manager: BaseCallbackManager = kind.configure(
        callbacks, None, False, given.get("tags"), None, given.get("metadata")
    )
    if manager.parent_run_id is None:
        raise OutsideWorkflowError("a custom event needs a run around it: call this from within a runnable")
    return manager
