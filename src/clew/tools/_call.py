"""A tool call with somebody listening, a config, or a time limit."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from clew._drive import drive
from clew.callbacks._manager import AsyncCallbackManager, CallbackManager, anyone_listening
from clew.config import current_config
from clew.errors import ToolException, ToolTimeoutError
from clew.runnables._entry import without_own
from clew.runnables.config import ensure_config, inherit, merge_configs, traced
from clew.tools._outcome import answer, told
from clew.tools._result import to_json

if TYPE_CHECKING:
    from clew.config import RunnableConfig
    from clew.tools.base import BaseTool


def run_config(config: Any, callbacks: Any, tags: Any, metadata: Any, run_name: Any, run_id: Any) -> RunnableConfig:
    """Return the config that the separate arguments of `run` amount to."""
    given = {"callbacks": callbacks, "tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
    return merge_configs(config, cast("Any", {key: value for key, value in given.items() if value is not None}))


def call_sync(
    tool: BaseTool,
    input: Any,
    config: RunnableConfig | None,
    kwargs: dict[str, Any],
    *,
    tool_call_id: str | None = None,
    verbose: bool | None = None,
) -> Any:
    """Run a tool, with its run reported."""

    async def work(arguments: dict[str, Any]) -> Any:
        return tool._work(arguments)  # pyright: ignore[reportPrivateUsage] - same package

    return drive(_call(tool, input, config, kwargs, tool_call_id, verbose, CallbackManager, work))


async def call_async(
    tool: BaseTool,
    input: Any,
    config: RunnableConfig | None,
    kwargs: dict[str, Any],
    *,
    tool_call_id: str | None = None,
    verbose: bool | None = None,
) -> Any:
    """Run a tool, with its run reported."""
    work = tool._awork  # pyright: ignore[reportPrivateUsage] - same package
    return await _call(tool, input, config, kwargs, tool_call_id, verbose, AsyncCallbackManager, work)


async def _call(
    tool: Any,
    input: Any,
    config: RunnableConfig | None,
    kwargs: dict[str, Any],
    call_id: str | None,
    verbose: bool | None,
    manager_class: Any,
    work: Any,
) -> Any:
    """The body of both faces: begin, check, work, end. kwargs: further arguments of the function."""
    full = inherit(config)
    plan = tool._plan()
    args, found_id = tool._taken_apart(plan, input)
    call_id = call_id if call_id is not None else found_id
    run = None
    if verbose or tool.verbose or anyone_listening(full.get("callbacks"), tool.callbacks):
        run = await _begin(tool, args, full, plan, call_id, bool(verbose or tool.verbose), manager_class)
    child = without_own(full)
    if run is not None:
        child = cast("RunnableConfig", {**child, "callbacks": run.get_child()})
    token = current_config.set(child)
    try:
        arguments = {**plan.arguments(args, call_id), **kwargs}
        if plan.config is not None:
            arguments[plan.config] = ensure_config(child)
        if run is not None and plan.run_manager is not None:
            arguments[plan.run_manager] = run if plan.run_manager == "run_manager" else run.get_child()
        result = answer(tool, await work(arguments), call_id)
    except BaseException as error:
        handled, result = _told(tool, error, call_id)
        if not handled:
            if run is not None:
                await _settled(run.on_tool_error(error, tool_call_id=call_id))
            raise
    finally:
        current_config.reset(token)
    if run is not None:
        await _settled(run.on_tool_end(result, name=tool.name))
    return result


def _told(tool: Any, error: BaseException, call_id: str | None) -> tuple[bool, Any]:
    """(whether the model is told, what) for an error; True as the first means that it is not raised."""
    if not isinstance(error, (ToolException, ValidationError)):
        return False, None
    try:
        return True, told(tool, error, call_id)
    except (ToolException, ValidationError):
        return False, None


async def _begin(
    tool: Any, args: Any, full: RunnableConfig, plan: Any, call_id: str | None, verbose: bool, manager_class: Any
) -> Any:
    configurable = full.get("configurable") or {}
    metadata = full.get("metadata") or {}
    manager = manager_class.configure(
        inheritable_callbacks=full.get("callbacks"),
        local_callbacks=tool.callbacks,
        verbose=verbose,
        inheritable_tags=full.get("tags"),
        local_tags=tool.tags,
        inheritable_metadata={**metadata, **traced(configurable, metadata)},
        local_metadata=tool.metadata,
    )
    shown = {key: value for key, value in args.items() if key not in plan.hidden}
    text = shown[plan.single] if plan.single in shown and len(shown) == 1 else None
    return await _settled(
        manager.on_tool_start(
            {"name": tool.name, "description": tool.description},
            text if isinstance(text, str) else to_json(shown),
            run_id=full.get("run_id"),
            inputs=shown,
            name=full.get("run_name") or tool.name,
            tool_call_id=call_id,
        )
    )


async def _settled(value: Any) -> Any:
    return await cast("Awaitable[Any]", value) if hasattr(value, "__await__") else value


def expired(tool: BaseTool) -> ToolTimeoutError:
    """Return the error of a call that took too long."""
    return ToolTimeoutError(f"the tool {tool.name!r} did not finish within {tool.timeout} s", tool=tool.name)


def limited(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    """Run a tool's function in a worker and wait for it as long as its timeout says. Raises: ToolTimeoutError."""
    from clew.runnables._timeout import attempt

    assert tool.timeout is not None  # the caller asked
    outcome = attempt(tool.timeout, lambda: tool._run(**arguments))  # pyright: ignore[reportPrivateUsage] - same package
    if outcome is None:
        raise expired(tool)
    result, error = outcome
    if error is not None:
        raise error
    return result


async def alimited(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    """Await a tool's function as long as its timeout says, then cancel it. Raises: ToolTimeoutError."""
    import asyncio

    clock = asyncio.timeout(tool.timeout)
    try:
        async with clock:
            return await tool._arun(**arguments)  # pyright: ignore[reportPrivateUsage] - same package
    except TimeoutError:
        if clock.expired():
            raise expired(tool) from None
        raise
