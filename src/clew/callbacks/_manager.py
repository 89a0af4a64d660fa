"""Callback managers: who listens to a call, and the events that begin a run.

`inheritable_*` goes on to the children of the run, the rest is for this run only. A handler hears each event once,
however often it was given (by identity).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from clew import globals as _globals
from clew.callbacks._dispatch import ahandle_event, handle_event, new_run_id
from clew.callbacks._run import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForRetrieverRun,
    AsyncCallbackManagerForToolRun,
    BaseRunManager,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
    CallbackManagerForRetrieverRun,
    CallbackManagerForToolRun,
)

if TYPE_CHECKING:
    from uuid import UUID

    from clew.callbacks.base import BaseCallbackHandler, Callbacks
    from clew.messages import BaseMessage

ambient_handlers: ContextVar[tuple[BaseCallbackHandler, ...]] = ContextVar("clew_handlers", default=())
"""Handlers that listen to every call of the current context, as `get_usage_metadata_callback` adds them."""


def anyone_listening(callbacks: Callbacks = None, own: Callbacks = None) -> bool:
    """Tell whether a call with these callbacks has to report anything.

    callbacks: from the call's config. own: of the component itself.
    Cost: below 0.3 µs; nothing is made.
    """
    if _globals.debugging or ambient_handlers.get():
        return True
    if callbacks and (callbacks.__class__ is list or handlers_of(callbacks)):
        return True
    return bool(own and (own.__class__ is list or handlers_of(own)))


def handlers_of(callbacks: Callbacks) -> list[BaseCallbackHandler]:
    """Return the handlers in a list, a manager or None."""
    if isinstance(callbacks, BaseCallbackManager):
        return callbacks.handlers
    return callbacks or []


class BaseCallbackManager:
    """Handlers, tags and metadata of a call, each apart by whether children inherit it."""

    __slots__ = (
        "handlers",
        "inheritable_handlers",
        "inheritable_metadata",
        "inheritable_tags",
        "metadata",
        "parent_run_id",
        "tags",
    )

    def __init__(
        self,
        handlers: list[BaseCallbackHandler],
        inheritable_handlers: list[BaseCallbackHandler] | None = None,
        parent_run_id: UUID | None = None,
        *,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.handlers = handlers
        self.inheritable_handlers: list[BaseCallbackHandler] = inheritable_handlers or []
        self.parent_run_id = parent_run_id
        self.tags: list[str] = tags or []
        self.inheritable_tags: list[str] = inheritable_tags or []
        self.metadata: dict[str, Any] = metadata or {}
        self.inheritable_metadata: dict[str, Any] = inheritable_metadata or {}

    @property
    def is_async(self) -> bool:
        """Whether its events are awaited."""
        return False

    def copy(self) -> Self:
        """Return a manager that can be changed without changing this one."""
        return self._copy_into(type(self))

    def _copy_into(self, kind: type[Any]) -> Any:
        copy = kind(self.handlers, self.inheritable_handlers, self.parent_run_id)
        copy.tags, copy.inheritable_tags = self.tags, self.inheritable_tags
        copy.metadata, copy.inheritable_metadata = self.metadata, self.inheritable_metadata
        return copy

    def merge(self, other: BaseCallbackManager) -> Self:
        """Return a manager with the handlers, tags and metadata of both."""
        merged = self.copy()
        merged.parent_run_id = self.parent_run_id or other.parent_run_id
        for handler in other.handlers:
            merged.add_handler(handler, inherit=False)
        for handler in other.inheritable_handlers:
            merged.add_handler(handler, inherit=True)
        merged.add_tags(other.inheritable_tags, True)
        merged.add_tags(other.tags, False)
        merged.add_metadata(other.inheritable_metadata, True)
        merged.add_metadata(other.metadata, False)
        return merged

    # Lists and dicts are replaced, never changed: copies, children and runs share them.

    def add_handler(self, handler: BaseCallbackHandler, inherit: bool = True) -> None:
        """Add a handler, unless it is there."""
        self.handlers = with_handler(self.handlers, handler)
        if inherit:
            self.inheritable_handlers = with_handler(self.inheritable_handlers, handler)

    def remove_handler(self, handler: BaseCallbackHandler) -> None:
        """Take a handler away."""
        self.handlers = [known for known in self.handlers if known is not handler]
        self.inheritable_handlers = [known for known in self.inheritable_handlers if known is not handler]

    def set_handlers(self, handlers: list[BaseCallbackHandler], inherit: bool = True) -> None:
        """Replace all handlers."""
        self.handlers, self.inheritable_handlers = [], []
        for handler in handlers:
            self.add_handler(handler, inherit=inherit)

    def set_handler(self, handler: BaseCallbackHandler, inherit: bool = True) -> None:
        """Replace all handlers by one."""
        self.set_handlers([handler], inherit=inherit)

    def add_tags(self, tags: list[str], inherit: bool = True) -> None:
        """Add tags that are not there yet."""
        self.tags = with_tags(self.tags, tags)
        if inherit:
            self.inheritable_tags = with_tags(self.inheritable_tags, tags)

    def remove_tags(self, tags: list[str]) -> None:
        """Take tags away."""
        self.tags = [tag for tag in self.tags if tag not in tags]
        self.inheritable_tags = [tag for tag in self.inheritable_tags if tag not in tags]

    def add_metadata(self, metadata: dict[str, Any], inherit: bool = True) -> None:
        """Add metadata; the newer value of a key wins."""
        if metadata:
            self.metadata = {**self.metadata, **metadata}
            if inherit:
                self.inheritable_metadata = {**self.inheritable_metadata, **metadata}

    def remove_metadata(self, keys: list[str]) -> None:
        """Take metadata away."""
        self.metadata = {key: value for key, value in self.metadata.items() if key not in keys}
        self.inheritable_metadata = {k: v for k, v in self.inheritable_metadata.items() if k not in keys}

    @classmethod
    def configure(
        cls,
        inheritable_callbacks: Callbacks = None,
        local_callbacks: Callbacks = None,
        verbose: bool = False,
        inheritable_tags: list[str] | None = None,
        local_tags: list[str] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
        local_metadata: dict[str, Any] | None = None,
    ) -> Self:
        """Return the manager of a call from what its config and the component say.

        inheritable_*: of the config. local_*: of the component. verbose: report to standard output as well.
        """
        if isinstance(inheritable_callbacks, BaseCallbackManager):
            manager = inheritable_callbacks._copy_into(cls)
        elif inheritable_callbacks and len(inheritable_callbacks) == 1:  # the usual case, without a search
            manager = cls([inheritable_callbacks[0]], [inheritable_callbacks[0]])
        else:
            manager = cls([])
            for handler in inheritable_callbacks or ():
                manager.add_handler(handler)
        if isinstance(local_callbacks, BaseCallbackManager):
            manager = manager.merge(local_callbacks)
        else:
            for handler in local_callbacks or ():
                manager.add_handler(handler, inherit=False)
        _add_ambient(manager, verbose)
        manager._describe(inheritable_tags, inheritable_metadata, True)
        manager._describe(local_tags, local_metadata, False)
        return manager

    def _describe(self, tags: list[str] | None, metadata: dict[str, Any] | None, inherit: bool) -> None:
        if tags:
            self.add_tags(tags, inherit)
        if metadata:
            self.add_metadata(metadata, inherit)

    def _run_manager(self, kind: type[Any], run_id: UUID) -> Any:
        return kind(
            run_id=run_id,
            handlers=self.handlers,
            inheritable_handlers=self.inheritable_handlers,
            parent_run_id=self.parent_run_id,
            tags=self.tags,
            inheritable_tags=self.inheritable_tags,
            metadata=self.metadata,
            inheritable_metadata=self.inheritable_metadata,
        )


def with_handler(handlers: list[BaseCallbackHandler], handler: BaseCallbackHandler) -> list[BaseCallbackHandler]:
    """Return handlers with another, if it is not among them (by identity)."""
    for known in handlers:
        if known is handler:
            return handlers
    return [*handlers, handler]


def with_tags(tags: list[str], more: list[str]) -> list[str]:
    """Return tags with those of others that are not among them, in order."""
    if not tags:
        return list(dict.fromkeys(more))
    added = [tag for tag in dict.fromkeys(more) if tag not in tags]
    return [*tags, *added] if added else tags


def _add_ambient(manager: BaseCallbackManager, verbose: bool) -> None:
    for handler in ambient_handlers.get():
        manager.add_handler(handler)
    if verbose or _globals.debugging:
        _add_printers(manager, verbose)


def _add_printers(manager: BaseCallbackManager, verbose: bool) -> None:
    from clew._lazy import resolve
    from clew.callbacks._stdout import StdOutCallbackHandler

    if _globals.debugging:
        console = resolve("clew.tracers:ConsoleCallbackHandler")
        if not any(isinstance(handler, console) for handler in manager.handlers):
            manager.add_handler(console())
    elif verbose and not any(isinstance(handler, StdOutCallbackHandler) for handler in manager.handlers):
        manager.add_handler(StdOutCallbackHandler(), False)


class CallbackManager(BaseCallbackManager):
    """Begins the runs of blocking calls."""

    __slots__ = ()

    def _begin(self, kind: type[Any], run_id: UUID | None, event: str, *args: Any, **kwargs: Any) -> Any:
        run_id = run_id or new_run_id()
        if self.handlers:
            handle_event(
                self.handlers,
                event,
                *args,
                run_id=run_id,
                parent_run_id=self.parent_run_id,
                tags=self.tags,
                metadata=self.metadata,
                **kwargs,
            )
        return self._run_manager(kind, run_id)

    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], run_id: UUID | None = None, **kwargs: Any
    ) -> list[CallbackManagerForLLMRun]:
        """Begin one run per prompt; run_id: of the first."""
        ids = [run_id, *[None] * len(prompts)]
        return [
            self._begin(CallbackManagerForLLMRun, id, "on_llm_start", serialized, [prompt], **kwargs)
            for prompt, id in zip(prompts, ids, strict=False)
        ]

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], run_id: UUID | None = None, **kwargs: Any
    ) -> list[CallbackManagerForLLMRun]:
        """Begin one run per list of messages; run_id: of the first."""
        ids = [run_id, *[None] * len(messages)]
        return [
            self._begin(CallbackManagerForLLMRun, id, "on_chat_model_start", serialized, [conversation], **kwargs)
            for conversation, id in zip(messages, ids, strict=False)
        ]

    def on_chain_start(
        self, serialized: dict[str, Any] | None, inputs: Any, run_id: UUID | None = None, **kwargs: Any
    ) -> CallbackManagerForChainRun:
        """Begin the run of a chain or step."""
        return self._begin(CallbackManagerForChainRun, run_id, "on_chain_start", serialized, inputs, **kwargs)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> CallbackManagerForToolRun:
        """Begin the run of a tool."""
        kind = CallbackManagerForToolRun
        return self._begin(kind, run_id, "on_tool_start", serialized, input_str, inputs=inputs, **kwargs)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> CallbackManagerForRetrieverRun:
        """Begin the run of a retriever."""
        kind = CallbackManagerForRetrieverRun
        return self._begin(kind, run_id, "on_retriever_start", serialized, query, **kwargs)

    def on_custom_event(self, name: str, data: Any, run_id: UUID | None = None, **kwargs: Any) -> None:
        """Tell the handlers of an event of the caller's own."""
        if self.handlers:
            id = run_id or self.parent_run_id or new_run_id()
            handle_event(
                self.handlers,
                "on_custom_event",
                name,
                data,
                run_id=id,
                tags=self.tags,
                metadata=self.metadata,
                **kwargs,
            )


class AsyncCallbackManager(BaseCallbackManager):
    """Begins the runs of awaited calls."""

    __slots__ = ()

    @property
    def is_async(self) -> bool:
        """Whether its events are awaited."""
        return True

    async def _begin(self, kind: type[Any], run_id: UUID | None, event: str, *args: Any, **kwargs: Any) -> Any:
        run_id = run_id or new_run_id()
        if self.handlers:
            await ahandle_event(
                self.handlers,
                event,
                *args,
                run_id=run_id,
                parent_run_id=self.parent_run_id,
                tags=self.tags,
                metadata=self.metadata,
                **kwargs,
            )
        return self._run_manager(kind, run_id)

    async def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], run_id: UUID | None = None, **kwargs: Any
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Begin one run per prompt; run_id: of the first."""
        ids = [run_id, *[None] * len(prompts)]
        return [
            await self._begin(AsyncCallbackManagerForLLMRun, id, "on_llm_start", serialized, [prompt], **kwargs)
            for prompt, id in zip(prompts, ids, strict=False)
        ]

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], run_id: UUID | None = None, **kwargs: Any
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """Begin one run per list of messages; run_id: of the first."""
        ids = [run_id, *[None] * len(messages)]
        return [
            await self._begin(
                AsyncCallbackManagerForLLMRun, id, "on_chat_model_start", serialized, [conversation], **kwargs
            )
            for conversation, id in zip(messages, ids, strict=False)
        ]

    async def on_chain_start(
        self, serialized: dict[str, Any] | None, inputs: Any, run_id: UUID | None = None, **kwargs: Any
    ) -> AsyncCallbackManagerForChainRun:
        """Begin the run of a chain or step."""
        return await self._begin(
            AsyncCallbackManagerForChainRun, run_id, "on_chain_start", serialized, inputs, **kwargs
        )

    async def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForToolRun:
        """Begin the run of a tool."""
        kind = AsyncCallbackManagerForToolRun
        return await self._begin(kind, run_id, "on_tool_start", serialized, input_str, inputs=inputs, **kwargs)

    async def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForRetrieverRun:
        """Begin the run of a retriever."""
        kind = AsyncCallbackManagerForRetrieverRun
        return await self._begin(kind, run_id, "on_retriever_start", serialized, query, **kwargs)

    async def on_custom_event(self, name: str, data: Any, run_id: UUID | None = None, **kwargs: Any) -> None:
        """Tell the handlers of an event of the caller's own."""
        if self.handlers:
            id = run_id or self.parent_run_id or new_run_id()
            await ahandle_event(
                self.handlers,
                "on_custom_event",
                name,
                data,
                run_id=id,
                tags=self.tags,
                metadata=self.metadata,
                **kwargs,
            )


__all__ = ["AsyncCallbackManager", "BaseCallbackManager", "BaseRunManager", "CallbackManager", "anyone_listening"]
