"""Put several calls under one run of a given name."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from clew.callbacks._manager import AsyncCallbackManager, CallbackManager

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from uuid import UUID

    from clew.callbacks._run import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun


class CallbackManagerForChainGroup(CallbackManager):
    """The callbacks of a group; `on_chain_end` or `on_chain_error` ends it, else the end of the `with` block does."""

    __slots__ = ("ended", "parent_run_manager")

    def __init__(self, *args: Any, parent_run_manager: CallbackManagerForChainRun, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parent_run_manager = parent_run_manager
        self.ended = False

    def _copy_into(self, kind: type[Any]) -> Any:
        return group_copy(self, kind, CallbackManagerForChainGroup)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """End the group with an output."""
        self.ended = True
        self.parent_run_manager.on_chain_end(outputs, **kwargs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """End the group with an error."""
        self.ended = True
        self.parent_run_manager.on_chain_error(error, **kwargs)


class AsyncCallbackManagerForChainGroup(AsyncCallbackManager):
    """The callbacks of a group of awaited calls; ended as the blocking one."""

    __slots__ = ("ended", "parent_run_manager")

    def __init__(self, *args: Any, parent_run_manager: AsyncCallbackManagerForChainRun, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parent_run_manager = parent_run_manager
        self.ended = False

    def _copy_into(self, kind: type[Any]) -> Any:
        return group_copy(self, kind, AsyncCallbackManagerForChainGroup)

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """End the group with an output."""
        self.ended = True
        await self.parent_run_manager.on_chain_end(outputs, **kwargs)

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """End the group with an error."""
        self.ended = True
        await self.parent_run_manager.on_chain_error(error, **kwargs)


def group_copy(manager: Any, kind: type[Any], group: type[Any]) -> Any:
    """Return a copy of a group's manager as another kind of manager, or as a group."""
    more = {"parent_run_manager": manager.parent_run_manager} if issubclass(kind, group) else {}
    return kind(
        manager.handlers,
        manager.inheritable_handlers,
        manager.parent_run_id,
        tags=manager.tags,
        inheritable_tags=manager.inheritable_tags,
        metadata=manager.metadata,
        inheritable_metadata=manager.inheritable_metadata,
        **more,
    )


@contextmanager
def trace_as_chain_group(
    group_name: str,
    callback_manager: CallbackManager | None = None,
    *,
    inputs: dict[str, Any] | None = None,
    run_id: UUID | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> Generator[CallbackManagerForChainGroup, None, None]:
    """Yield callbacks for several calls; their runs become children of one run of that name."""
    manager = CallbackManager.configure(callback_manager, None, False, tags, None, metadata)
    run = manager.on_chain_start({"name": group_name}, inputs or {}, run_id=run_id, name=group_name)
    group: CallbackManagerForChainGroup = group_of(run, CallbackManagerForChainGroup)
    try:
        yield group
    except BaseException as error:
        if not group.ended:
            run.on_chain_error(error)
        raise
    if not group.ended:
        run.on_chain_end({})


@asynccontextmanager
async def atrace_as_chain_group(
    group_name: str,
    callback_manager: AsyncCallbackManager | None = None,
    *,
    inputs: dict[str, Any] | None = None,
    run_id: UUID | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> AsyncGenerator[AsyncCallbackManagerForChainGroup, None]:
    """Yield callbacks for several awaited calls; their runs become children of one run of that name."""
    manager = AsyncCallbackManager.configure(callback_manager, None, False, tags, None, metadata)
    run = await manager.on_chain_start({"name": group_name}, inputs or {}, run_id=run_id, name=group_name)
    group: AsyncCallbackManagerForChainGroup = group_of(run, AsyncCallbackManagerForChainGroup)
    try:
        yield group
    except BaseException as error:
        if not group.ended:
            await run.on_chain_error(error)
        raise
    if not group.ended:
        await run.on_chain_end({})


def group_of(run: Any, kind: type[Any]) -> Any:
    """Return the group's callbacks for a run that has begun."""
    child = run.get_child()
    return kind(
        child.handlers,
        child.inheritable_handlers,
        child.parent_run_id,
        tags=child.tags,
        inheritable_tags=child.inheritable_tags,
        metadata=child.metadata,
        inheritable_metadata=child.inheritable_metadata,
        parent_run_manager=run,
    )
