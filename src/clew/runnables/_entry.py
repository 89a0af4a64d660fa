"""What happens around the body of a call: inherited config, callbacks, timeout. Nobody listening, nothing paid.

Every runnable asks `plain()` first; when it is true its body may run as if it were a bare function. Otherwise the
helpers here give the body the config for what it calls in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew import globals as _globals
from clew.callbacks._manager import ambient_handlers, anyone_listening
from clew.config import RunnableConfig, current_config
from clew.runnables.config import (
    OWN_KEYS,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    inherit,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_ambient_config = current_config.get
_ambient_handlers = ambient_handlers.get


def plain() -> bool:
    """Tell whether a call without a config has nothing to inherit and nobody to report to."""
    return _ambient_config() is None and not _ambient_handlers() and not _globals.debugging


def without_own(config: RunnableConfig) -> RunnableConfig:
    """Return the config for children: the caller's, if it holds no key of this call only."""
    for key in OWN_KEYS:
        if key in config:
            return cast("RunnableConfig", {k: v for k, v in config.items() if k not in OWN_KEYS})
    return config


def child_config(config: RunnableConfig, run: Any, tag: str | None = None) -> RunnableConfig:
    """Return the config for a child: of a run that is listened to, with a manager for the child."""
    if run is None:
        return config
    return cast("RunnableConfig", {**config, "callbacks": run.get_child(tag)})


def in_context(config: RunnableConfig, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a user's function with a config as the ambient one."""
    token = current_config.set(config)
    try:
        return function(*args, **kwargs)
    finally:
        current_config.reset(token)


async def ain_context(
    config: RunnableConfig, function: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any
) -> Any:
    """Await a user's coroutine function with a config as the ambient one."""
    token = current_config.set(config)
    try:
        return await function(*args, **kwargs)
    finally:
        current_config.reset(token)


def call_observed(
    owner: Any,
    body: Callable[[Any, RunnableConfig, Any], Any],
    input: Any,
    config: RunnableConfig | None,
    *,
    run_type: str | None = None,
    callbacks: Any = None,
) -> Any:
    """Run a body with its run reported.

    body: (input, config for what it calls, run manager or None) -> output.
    owner: the runnable, for the run's name. run_type: what tracers call it ("prompt", "parser"); default "chain".
    callbacks: the component's own.
    Raises: TimeoutError after the config's `timeout` seconds (the body goes on in its thread and is told, see
        `cancel_requested`); what the body raises.
    """
    full = inherit(config)
    seconds = full.get("timeout")
    if seconds is not None:
        from clew.runnables._timeout import within

        rest = cast("RunnableConfig", {k: v for k, v in full.items() if k != "timeout"})
        return within(seconds, lambda: _call(owner, body, input, rest, run_type, callbacks))
    return _call(owner, body, input, full, run_type, callbacks)


def _call(owner: Any, body: Any, input: Any, config: RunnableConfig, run_type: str | None, callbacks: Any) -> Any:
    if not anyone_listening(config.get("callbacks"), callbacks):
        return body(input, without_own(config), None)
    run = begin(get_callback_manager_for_config(config), owner, input, config, run_type)
    try:
        output = body(input, without_own(config), run)
    except BaseException as error:
        run.on_chain_error(error)
        raise
    run.on_chain_end(output)
    return output


async def acall_observed(
    owner: Any,
    body: Callable[[Any, RunnableConfig, Any], Awaitable[Any]],
    input: Any,
    config: RunnableConfig | None,
    *,
    run_type: str | None = None,
    callbacks: Any = None,
) -> Any:
    """Await a body with its run reported; as `call_observed`, but a timeout cancels the body."""
    full = inherit(config)
    seconds = full.get("timeout")
    if seconds is not None:
        from clew.runnables._timeout import awithin

        rest = cast("RunnableConfig", {k: v for k, v in full.items() if k != "timeout"})
        return await awithin(seconds, _acall(owner, body, input, rest, run_type, callbacks))
    return await _acall(owner, body, input, full, run_type, callbacks)


async def _acall(
    owner: Any, body: Any, input: Any, config: RunnableConfig, run_type: str | None, callbacks: Any
) -> Any:
    if not anyone_listening(config.get("callbacks"), callbacks):
        return await body(input, without_own(config), None)
    run = await begin(get_async_callback_manager_for_config(config), owner, input, config, run_type)
    try:
        output = await body(input, without_own(config), run)
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    await run.on_chain_end(output)
    return output


def begin(manager: Any, owner: Any, input: Any, config: RunnableConfig, run_type: str | None) -> Any:
    """Report the start of a run; for an awaited call the result is to be awaited."""
    more = {} if run_type is None else {"run_type": run_type}
    name = config.get("run_name") or owner.get_name()
    return manager.on_chain_start(None, input, name=name, run_id=config.get("run_id"), **more)


__all__ = [
    "acall_observed",
    "ain_context",
    "begin",
    "call_observed",
    "child_config",
    "ensure_config",
    "in_context",
    "plain",
    "without_own",
]
