"""What a callback handler may listen to.

A handler overrides the events it wants; every default does nothing. Its errors are logged and do not disturb the call,
unless the handler says `raise_error = True`: then they end it (a guard).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from clew.callbacks._manager import BaseCallbackManager
    from clew.documents import Document
    from clew.messages import BaseMessage
    from clew.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

Callbacks: TypeAlias = Union["list[BaseCallbackHandler]", "BaseCallbackManager", None]


class RetrieverManagerMixin:
    """Events of a retriever after its start."""

    def on_retriever_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        """Hear that a retriever failed."""

    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        """Hear what a retriever found."""


class LLMManagerMixin:
    """Events of a model call after its start."""

    def on_llm_new_token(
        self,
        token: str,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear one streamed piece: its text, and the chunk it came in."""

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear the answer of a model."""

    def on_llm_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        """Hear that a model call failed."""


class ChainManagerMixin:
    """Events of a chain after its start."""

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear the output of a chain or one of its steps."""

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        """Hear that a chain or one of its steps failed."""

    def on_agent_action(self, action: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear what an agent is about to do."""

    def on_agent_finish(self, finish: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear that an agent is done."""


class ToolManagerMixin:
    """Events of a tool after its start."""

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear the output of a tool."""

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        """Hear that a tool failed."""


class CallbackManagerMixin:
    """The events that begin a run."""

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear that a text model is called; also a chat model, if `on_chat_model_start` is not overridden."""

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear that a chat model is called."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `on_chat_model_start`")

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear that a retriever is asked."""

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear that a chain or one of its steps begins."""

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear that a tool is called."""


class RunManagerMixin:
    """Events that may come at any time during a run."""

    def on_text(self, text: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear some text worth showing."""

    def on_retry(self, retry_state: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> Any:
        """Hear that a call is tried again."""

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Hear an event that a user's function dispatched."""


class BaseCallbackHandler(
    LLMManagerMixin, ChainManagerMixin, ToolManagerMixin, RetrieverManagerMixin, CallbackManagerMixin, RunManagerMixin
):
    """Base of handlers.

    raise_error: an exception in this handler ends the call. blocking: its methods wait (files, network), so async calls
    run them in a worker thread instead of on the event loop.
    """

    raise_error: bool = False
    run_inline: bool = False
    blocking: bool = False
    ignore_llm: bool = False
    ignore_retry: bool = False
    ignore_chain: bool = False
    ignore_agent: bool = False
    ignore_retriever: bool = False
    ignore_chat_model: bool = False
    ignore_custom_event: bool = False


class AsyncCallbackHandler(BaseCallbackHandler):
    """Base of handlers whose events are coroutines.

    In blocking calls its methods run too, as long as they do not wait for an event loop; one that does is logged as
    failed.
    """

    async def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        """Hear that a text model is called."""

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> Any:
        """Hear that a chat model is called."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `on_chat_model_start`")

    async def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        """Hear one streamed piece."""

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Hear the answer of a model."""

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Hear that a model call failed."""

    async def on_chain_start(self, serialized: dict[str, Any] | None, inputs: Any, **kwargs: Any) -> None:
        """Hear that a chain or one of its steps begins."""

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """Hear the output of a chain."""

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """Hear that a chain failed."""

    async def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
        """Hear that a tool is called."""

    async def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        """Hear the output of a tool."""

    async def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        """Hear that a tool failed."""

    async def on_text(self, text: str, **kwargs: Any) -> None:
        """Hear some text worth showing."""

    async def on_retry(self, retry_state: Any, **kwargs: Any) -> Any:
        """Hear that a call is tried again."""

    async def on_agent_action(self, action: Any, **kwargs: Any) -> None:
        """Hear what an agent is about to do."""

    async def on_agent_finish(self, finish: Any, **kwargs: Any) -> None:
        """Hear that an agent is done."""

    async def on_retriever_start(self, serialized: dict[str, Any], query: str, **kwargs: Any) -> None:
        """Hear that a retriever is asked."""

    async def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        """Hear what a retriever found."""

    async def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        """Hear that a retriever failed."""

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Hear an event that a user's function dispatched."""
