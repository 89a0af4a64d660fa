"""Turn what a call tree reports into a stream of event dicts (`astream_events`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clew.callbacks.base import BaseCallbackHandler
from clew.tracers._streaming import _StreamingCallbackHandler  # pyright: ignore[reportPrivateUsage] - its documented name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from uuid import UUID


class Started(NamedTuple):
    """What later events of a run repeat."""

    kind: str
    name: str
    tags: list[str]
    metadata: dict[str, Any]
    parents: list[str]
    inputs: Any
    run_id: str
    wanted: bool


class EventHandler(_StreamingCallbackHandler, BaseCallbackHandler):
    """Gives each event of a call tree, as a dict, to a function; runs in the thread of the call."""

    run_inline = True

    def __init__(self, send: Callable[[dict[str, Any]], None], wanted: Callable[[str, str, list[str]], bool]) -> None:
        """wanted: (name, kind, tags) -> whether a run's events are given."""
        self._send = send
        self._wanted = wanted
        self._runs: dict[UUID, Started] = {}
        self._tapped: set[UUID] = set()

    def _event(self, run_id: UUID, stage: str, data: dict[str, Any]) -> None:
        run = self._runs[run_id]
        if run.wanted:
            self._send(
                {
                    "event": f"on_{run.kind}_{stage}",
                    "name": run.name,
                    "run_id": run.run_id,
                    "parent_ids": run.parents,
                    "tags": run.tags,
                    "metadata": run.metadata,
                    "data": data,
                }
            )

    def _begin(
        self,
        kind: str,
        serialized: Any,
        inputs: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        parent = self._runs.get(parent_run_id) if parent_run_id is not None else None
        parents = [*parent.parents, parent.run_id] if parent is not None else []
        about = cast("dict[str, Any]", serialized or {})
        named: str = name or about.get("name") or (about.get("id") or ["Unnamed"])[-1]
        labels, wanted = list(tags or ()), self._wanted(named, kind, list(tags or ()))
        self._runs[run_id] = Started(kind, named, labels, dict(metadata or {}), parents, inputs, str(run_id), wanted)
        streamed = kind == "chain" and inputs == {"input": ""}
        self._event(run_id, "start", {} if streamed else {"input": inputs})

    def _finish(self, run_id: UUID, stage: str, data: dict[str, Any], inputs: Any = None) -> None:
        run = self._runs.get(run_id)
        if run is None:
            return
        given = inputs if inputs is not None else run.inputs
        self._event(run_id, stage, data if given == {"input": ""} else {**data, "input": given})
        del self._runs[run_id]
        self._tapped.discard(run_id)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_chat_model_start."""
        self._begin("chat_model", serialized, {"messages": messages}, run_id, **kwargs)

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_llm_start."""
        self._begin("llm", serialized, {"prompts": prompts}, run_id, **kwargs)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_chain_start, on_prompt_start or on_parser_start."""
        self._begin(kwargs.pop("run_type", None) or "chain", serialized, inputs, run_id, **kwargs)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_tool_start."""
        inputs = kwargs.pop("inputs", None)
        self._begin("tool", serialized, input_str if inputs is None else inputs, run_id, **kwargs)

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_retriever_start."""
        self._begin("retriever", serialized, {"query": query}, run_id, **kwargs)

    def on_llm_new_token(self, token: str, *, run_id: UUID, chunk: Any = None, **kwargs: Any) -> None:
        """Give on_chat_model_stream or on_llm_stream."""
        run = self._runs.get(run_id)
        if run is not None and run_id not in self._tapped:
            piece = getattr(chunk, "message", None) if run.kind == "chat_model" else chunk
            self._event(run_id, "stream", {"chunk": token if piece is None else piece})

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_chat_model_end or on_llm_end."""
        run = self._runs.get(run_id)
        is_chat = run is not None and run.kind == "chat_model"
        first = response.generations[0][0] if response.generations and response.generations[0] else None
        self._finish(run_id, "end", {"output": getattr(first, "message", None) if is_chat else response})

    def on_chain_end(self, outputs: Any, *, run_id: UUID, inputs: Any = None, **kwargs: Any) -> None:
        """Give on_chain_end, on_prompt_end or on_parser_end."""
        self._finish(run_id, "end", {"output": outputs}, inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_tool_end."""
        self._finish(run_id, "end", {"output": output})

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_retriever_end."""
        self._finish(run_id, "end", {"output": documents})

    def _fail(self, error: BaseException, *, run_id: UUID, inputs: Any = None, **kwargs: Any) -> None:
        self._finish(run_id, "error", {"error": error}, inputs)

    on_llm_error = on_chain_error = on_tool_error = on_retriever_error = _fail  # pyright: ignore[reportAssignmentType] - one form fits all

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Give on_custom_event."""
        run = self._runs.get(run_id)
        tags: list[str] = list(kwargs.get("tags") or ())
        metadata: dict[str, Any] = dict(kwargs.get("metadata") or {})
        if self._wanted(name, "custom_event", tags):
            parents = [*run.parents, str(run_id)] if run is not None else []
            self._send(
                {
                    "event": "on_custom_event",
                    "name": name,
                    "run_id": str(run_id),
                    "parent_ids": parents,
                    "tags": tags,
                    "metadata": metadata,
                    "data": data,
                }
            )

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        """Give the stream events of a run as its chunks pass."""
        self._tapped.add(run_id)
        for chunk in output:
            if run_id in self._runs:
                self._event(run_id, "stream", {"chunk": chunk})
            yield chunk

    async def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Give the stream events of a run as its chunks pass."""
        self._tapped.add(run_id)
        async for chunk in output:
            if run_id in self._runs:
                self._event(run_id, "stream", {"chunk": chunk})
            yield chunk
