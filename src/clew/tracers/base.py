"""Tracers: handlers that build the tree of runs and keep each whole tree when its root ends."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from clew.callbacks.base import BaseCallbackHandler
from clew.tracers.schemas import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from clew.documents import Document
    from clew.outputs import LLMResult

__all__ = ["BaseTracer"]


class BaseTracer(BaseCallbackHandler, ABC):
    """Base of tracers: override `_persist_run`, which gets each root run with its whole tree, once, when it ends.

    `_on_run_create`, `_on_run_update` and the hooks per kind (`_on_llm_start` … `_on_retriever_error`) are called
    on the way. One tracer may listen to many calls, in many threads, at the same time.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        self.run_map: dict[str, Run] = {}
        self._tree_lock = threading.Lock()

    @abstractmethod
    def _persist_run(self, run: Run) -> None:
        """Keep a root run that has ended."""

    def _on_run_create(self, run: Run) -> None:
        """Hear that a run began."""

    def _on_run_update(self, run: Run) -> None:
        """Hear that a run ended."""

    # -- begin ------------------------------------------------------------------------------------------

    def _start(
        self,
        run_type: str,
        serialized: dict[str, Any] | None,
        inputs: dict[str, Any],
        run_id: UUID,
        parent_run_id: UUID | None,
        tags: list[str] | None,
        metadata: dict[str, Any] | None,
        name: str | None,
        more: dict[str, Any],
    ) -> Run:
        now = datetime.now(UTC)
        extra = dict(more)
        if metadata:
            extra["metadata"] = dict(metadata)
        run = Run(
            id=run_id,
            name=name or _name(serialized) or "Unnamed",
            run_type=run_type,
            start_time=now,
            inputs=inputs,
            parent_run_id=parent_run_id,
            tags=list(tags or ()),
            extra=extra,
            serialized=serialized,
            events=[{"name": "start", "time": now}],
        )
        stamp = f"{now:%Y%m%dT%H%M%S%f}Z{run_id}"
        with self._tree_lock:
            parent = self.run_map.get(str(parent_run_id)) if parent_run_id is not None else None
            if parent is not None:
                parent.child_runs.append(run)
                run.trace_id, run.dotted_order = parent.trace_id, f"{parent.dotted_order}.{stamp}"
            else:
                run.trace_id, run.dotted_order = run_id, stamp
            self.run_map[str(run_id)] = run
        self._on_run_create(run)
        self._hook(run, "start")
        return run

    def _hook(self, run: Run, event: str) -> None:
        hook = getattr(self, f"_on_{run.run_type}_{event}", None)
        if hook is not None:
            hook(run)

    # -- end --------------------------------------------------------------------------------------------

    def _end(
        self, run_id: UUID, outputs: dict[str, Any] | None, error: BaseException | None, inputs: Any = None
    ) -> Run | None:
        run = self.run_map.get(str(run_id))
        if run is None:
            return None
        run.end_time = datetime.now(UTC)
        if inputs is not None:
            run.inputs = _as_dict(inputs, "input")
        if error is None:
            run.outputs = outputs
            run.events.append({"name": "end", "time": run.end_time})
        else:
            run.error = repr(error)
            run.events.append({"name": "error", "time": run.end_time})
        self._on_run_update(run)
        self._hook(run, "end" if error is None else "error")
        with self._tree_lock:
            self.run_map.pop(str(run_id), None)
            is_root = run.parent_run_id is None or str(run.parent_run_id) not in self.run_map
        if is_root:
            self._persist_run(run)
        return run

    def _note(self, run_id: UUID, name: str, **data: Any) -> Run | None:
        run = self.run_map.get(str(run_id))
        if run is not None:
            run.events.append({"name": name, "time": datetime.now(UTC), **data})
        return run

    # -- events -----------------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begin the run of a chat model."""
        from clew.load import dumpd

        inputs = {"messages": [[dumpd(message) for message in conversation] for conversation in messages]}
        return self._start("chat_model", serialized, inputs, run_id, parent_run_id, tags, metadata, name, kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begin the run of a text model."""
        return self._start("llm", serialized, {"prompts": prompts}, run_id, parent_run_id, tags, metadata, name, kwargs)

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_type: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begin the run of a chain or step."""
        kind, given = run_type or "chain", _as_dict(inputs, "input")
        return self._start(kind, serialized, given, run_id, parent_run_id, tags, metadata, name, kwargs)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begin the run of a tool."""
        given = inputs if inputs is not None else {"input": input_str}
        return self._start("tool", serialized, given, run_id, parent_run_id, tags, metadata, name, kwargs)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begin the run of a retriever."""
        return self._start(
            "retriever", serialized, {"query": query}, run_id, parent_run_id, tags, metadata, name, kwargs
        )

    def on_llm_new_token(self, token: str, *, run_id: UUID, chunk: Any = None, **kwargs: Any) -> Any:
        """Note one streamed piece."""
        return self._note(run_id, "new_token", kwargs={"token": token})

    def on_retry(self, retry_state: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """Note that the call is tried again."""
        error = getattr(retry_state, "error", None)
        return self._note(
            run_id, "retry", kwargs={"attempt": getattr(retry_state, "attempt_number", None), "error": repr(error)}
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a model."""
        return self._end(run_id, llm_outputs(response), None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a model that failed."""
        return self._end(run_id, None, error)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, inputs: Any = None, **kwargs: Any) -> Any:
        """End the run of a chain or step."""
        return self._end(run_id, _as_dict(outputs, "output"), None, inputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, inputs: Any = None, **kwargs: Any) -> Any:
        """End the run of a chain or step that failed."""
        return self._end(run_id, None, error, inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a tool."""
        return self._end(run_id, {"output": output}, None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a tool that failed."""
        return self._end(run_id, None, error)

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a retriever."""
        return self._end(run_id, {"documents": list(documents)}, None)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the run of a retriever that failed."""
        return self._end(run_id, None, error)


def _as_dict(value: Any, key: str) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {key: value}


def _name(serialized: dict[str, Any] | None) -> str | None:
    if not serialized:
        return None
    return serialized.get("name") or (serialized.get("id") or [None])[-1]


def llm_outputs(response: LLMResult) -> dict[str, Any]:
    """Return a model's result as a dict; messages are dumped."""
    from clew.load import dumpd

    generations: list[list[dict[str, Any]]] = []
    for row in response.generations:
        generations.append([])
        for each in row:
            made: dict[str, Any] = {"text": each.text, "generation_info": each.generation_info, "type": each.type}
            message = getattr(each, "message", None)
            if message is not None:
                made["message"] = dumpd(message)
            generations[-1].append(made)
    return {"generations": generations, "llm_output": response.llm_output, "run": None}
