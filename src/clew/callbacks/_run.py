"""Run managers: what a running call holds to report its events.

One class per kind of run and face. All hold the same facts; the blocking ones call handlers, the others await them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clew.callbacks._dispatch import ahandle_event, handle_event, new_run_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from clew.callbacks._manager import AsyncCallbackManager, CallbackManager
    from clew.callbacks.base import BaseCallbackHandler
    from clew.documents import Document
    from clew.outputs import ChatGenerationChunk, GenerationChunk, LLMResult


class BaseRunManager:
    """One run: its id, its parent's, who listens, and what its children inherit."""

    __slots__ = (
        "handlers",
        "inheritable_handlers",
        "inheritable_metadata",
        "inheritable_tags",
        "metadata",
        "parent_run_id",
        "run_id",
        "tags",
    )

    def __init__(
        self,
        *,
        run_id: UUID,
        handlers: list[BaseCallbackHandler],
        inheritable_handlers: list[BaseCallbackHandler],
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.run_id = run_id
        self.handlers = handlers
        self.inheritable_handlers = inheritable_handlers
        self.parent_run_id = parent_run_id
        self.tags = tags or []
        self.inheritable_tags = inheritable_tags or []
        self.metadata = metadata or {}
        self.inheritable_metadata = inheritable_metadata or {}

    @classmethod
    def get_noop_manager(cls) -> Self:
        """Return a run manager that nobody listens to."""
        return cls(run_id=new_run_id(), handlers=[], inheritable_handlers=[])

    def _into(self, kind: type[Any]) -> Any:
        return kind(
            run_id=self.run_id,
            handlers=self.handlers,
            inheritable_handlers=self.inheritable_handlers,
            parent_run_id=self.parent_run_id,
            tags=self.tags,
            inheritable_tags=self.inheritable_tags,
            metadata=self.metadata,
            inheritable_metadata=self.inheritable_metadata,
        )

    def _child_manager(self, kind: type[Any], tag: str | None) -> Any:
        manager = kind(self.inheritable_handlers, self.inheritable_handlers, self.run_id)
        manager.tags = manager.inheritable_tags = self.inheritable_tags
        manager.metadata = manager.inheritable_metadata = self.inheritable_metadata
        if tag is not None:
            manager.add_tags([tag], False)
        return manager


class RunManager(BaseRunManager):
    """A run of a blocking call."""

    __slots__ = ()

    def _tell(self, event: str, *args: Any, **kwargs: Any) -> None:
        if self.handlers:
            handle_event(
                self.handlers,
                event,
                *args,
                run_id=self.run_id,
                parent_run_id=self.parent_run_id,
                tags=self.tags,
                **kwargs,
            )

    def on_text(self, text: str, **kwargs: Any) -> None:
        """Report some text worth showing."""
        self._tell("on_text", text, **kwargs)

    def on_retry(self, retry_state: Any, **kwargs: Any) -> None:
        """Report that the call is tried again."""
        self._tell("on_retry", retry_state, **kwargs)

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Report an event of the caller's own."""
        self._tell("on_custom_event", name, data, metadata=self.metadata, **kwargs)


class AsyncRunManager(BaseRunManager):
    """A run of an awaited call."""

    __slots__ = ()

    async def _tell(self, event: str, *args: Any, **kwargs: Any) -> None:
        if self.handlers:
            await ahandle_event(
                self.handlers,
                event,
                *args,
                run_id=self.run_id,
                parent_run_id=self.parent_run_id,
                tags=self.tags,
                **kwargs,
            )

    async def on_text(self, text: str, **kwargs: Any) -> None:
        """Report some text worth showing."""
        await self._tell("on_text", text, **kwargs)

    async def on_retry(self, retry_state: Any, **kwargs: Any) -> None:
        """Report that the call is tried again."""
        await self._tell("on_retry", retry_state, **kwargs)

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Report an event of the caller's own."""
        await self._tell("on_custom_event", name, data, metadata=self.metadata, **kwargs)


class ParentRunManager(RunManager):
    """A blocking run that may have children."""

    __slots__ = ()

    def get_child(self, tag: str | None = None) -> CallbackManager:
        """Return the callback manager for a child; tag: for that child only."""
        from clew.callbacks._manager import CallbackManager

        return self._child_manager(CallbackManager, tag)


class AsyncParentRunManager(AsyncRunManager):
    """An awaited run that may have children."""

    __slots__ = ()

    def get_child(self, tag: str | None = None) -> AsyncCallbackManager:
        """Return the callback manager for a child; tag: for that child only."""
        from clew.callbacks._manager import AsyncCallbackManager

        return self._child_manager(AsyncCallbackManager, tag)


class CallbackManagerForLLMRun(RunManager):
    """A blocking model call."""

    __slots__ = ()

    def on_llm_new_token(
        self, token: str, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **kwargs: Any
    ) -> None:
        """Report one streamed piece."""
        self._tell("on_llm_new_token", token, chunk=chunk, **kwargs)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Report the answer."""
        self._tell("on_llm_end", response, **kwargs)

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that the call failed."""
        self._tell("on_llm_error", error, **kwargs)


class AsyncCallbackManagerForLLMRun(AsyncRunManager):
    """An awaited model call."""

    __slots__ = ()

    def get_sync(self) -> CallbackManagerForLLMRun:
        """Return the same run for blocking code."""
        return self._into(CallbackManagerForLLMRun)

    async def on_llm_new_token(
        self, token: str, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **kwargs: Any
    ) -> None:
        """Report one streamed piece."""
        await self._tell("on_llm_new_token", token, chunk=chunk, **kwargs)

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Report the answer."""
        await self._tell("on_llm_end", response, **kwargs)

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that the call failed."""
        await self._tell("on_llm_error", error, **kwargs)


class CallbackManagerForChainRun(ParentRunManager):
    """A blocking chain or step."""

    __slots__ = ()

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Report the output."""
        self._tell("on_chain_end", outputs, **kwargs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        self._tell("on_chain_error", error, **kwargs)

    def on_agent_action(self, action: Any, **kwargs: Any) -> None:
        """Report what an agent is about to do."""
        self._tell("on_agent_action", action, **kwargs)

    def on_agent_finish(self, finish: Any, **kwargs: Any) -> None:
        """Report that an agent is done."""
        self._tell("on_agent_finish", finish, **kwargs)


class AsyncCallbackManagerForChainRun(AsyncParentRunManager):
    """An awaited chain or step."""

    __slots__ = ()

    def get_sync(self) -> CallbackManagerForChainRun:
        """Return the same run for blocking code."""
        return self._into(CallbackManagerForChainRun)

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Report the output."""
        await self._tell("on_chain_end", outputs, **kwargs)

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        await self._tell("on_chain_error", error, **kwargs)

    async def on_agent_action(self, action: Any, **kwargs: Any) -> None:
        """Report what an agent is about to do."""
        await self._tell("on_agent_action", action, **kwargs)

    async def on_agent_finish(self, finish: Any, **kwargs: Any) -> None:
        """Report that an agent is done."""
        await self._tell("on_agent_finish", finish, **kwargs)


class CallbackManagerForToolRun(ParentRunManager):
    """A blocking tool call."""

    __slots__ = ()

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        """Report the output."""
        self._tell("on_tool_end", output, **kwargs)

    def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        self._tell("on_tool_error", error, **kwargs)


class AsyncCallbackManagerForToolRun(AsyncParentRunManager):
    """An awaited tool call."""

    __slots__ = ()

    def get_sync(self) -> CallbackManagerForToolRun:
        """Return the same run for blocking code."""
        return self._into(CallbackManagerForToolRun)

    async def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        """Report the output."""
        await self._tell("on_tool_end", output, **kwargs)

    async def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        await self._tell("on_tool_error", error, **kwargs)


class CallbackManagerForRetrieverRun(ParentRunManager):
    """A blocking retriever call."""

    __slots__ = ()

    def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        """Report what was found."""
        self._tell("on_retriever_end", documents, **kwargs)

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        self._tell("on_retriever_error", error, **kwargs)


class AsyncCallbackManagerForRetrieverRun(AsyncParentRunManager):
    """An awaited retriever call."""

    __slots__ = ()

    def get_sync(self) -> CallbackManagerForRetrieverRun:
        """Return the same run for blocking code."""
        return self._into(CallbackManagerForRetrieverRun)

    async def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        """Report what was found."""
        await self._tell("on_retriever_end", documents, **kwargs)

    async def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        """Report that it failed."""
        await self._tell("on_retriever_error", error, **kwargs)
