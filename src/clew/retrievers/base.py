"""What finds documents for a question."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from clew.callbacks import anyone_listening
from clew.documents import Document
from clew.runnables import RunnableSerializable
from clew.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    merge_configs,
    run_in_executor,
)

if TYPE_CHECKING:
    from clew.config import RunnableConfig

__all__ = ["BaseRetriever"]


class BaseRetriever(RunnableSerializable[str, list[Document]], ABC):
    """A runnable from a question to documents; a subclass gives `_get_relevant_documents`.

    tags, metadata: for callbacks. `run_manager` is None where nobody listens.
    """

    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None

    @abstractmethod
    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a question, the best first."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a question, the best first."""
        more = {"run_manager": run_manager.get_sync() if run_manager is not None else None, **kwargs}
        return await run_in_executor(None, lambda: self._get_relevant_documents(query, **more))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("_get_relevant_documents", "_aget_relevant_documents"):
            if name in cls.__dict__:
                _take_run_manager(cls, name)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a question, the best first."""
        full = self._full(config)
        if not anyone_listening(full.get("callbacks")):
            return self._get_relevant_documents(input, run_manager=None, **kwargs)
        manager = get_callback_manager_for_config(full)
        run = manager.on_retriever_start({}, input, **self._started(full))
        try:
            found = self._get_relevant_documents(input, run_manager=run, **kwargs)
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        run.on_retriever_end(found)
        return found

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a question, the best first."""
        full = self._full(config)
        if not anyone_listening(full.get("callbacks")):
            return await self._aget_relevant_documents(input, run_manager=None, **kwargs)
        manager = get_async_callback_manager_for_config(full)
        run = await manager.on_retriever_start({}, input, **self._started(full))
        try:
            found = await self._aget_relevant_documents(input, run_manager=run, **kwargs)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        await run.on_retriever_end(found)
        return found

    def _full(self, config: RunnableConfig | None) -> RunnableConfig:
        own: Any = {"tags": self.tags, "metadata": self.metadata}
        return merge_configs(own, ensure_config(config)) if self.tags or self.metadata else ensure_config(config)

    def _started(self, config: RunnableConfig) -> dict[str, Any]:
        return {"name": config.get("run_name") or self.get_name(), "run_id": config.get("run_id")}


def _take_run_manager(cls: type, name: str) -> None:
    """Let a subclass's method leave `run_manager` out of its parameters."""
    method = cls.__dict__[name]
    parameters = inspect.signature(method).parameters
    if "run_manager" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    if inspect.iscoroutinefunction(method):

        async def aplain(self: Any, query: str, *, run_manager: Any = None, **kwargs: Any) -> list[Document]:
            return await method(self, query, **kwargs)

        setattr(cls, name, aplain)
    else:

        def plain(self: Any, query: str, *, run_manager: Any = None, **kwargs: Any) -> list[Document]:
            return method(self, query, **kwargs)

        setattr(cls, name, plain)
