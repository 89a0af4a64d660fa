"""The `messages` stream: tokens of every model that a run calls, as they come, wherever it calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._run import current
from clew.callbacks import BaseCallbackHandler
from clew.tracers import _StreamingCallbackHandler

if TYPE_CHECKING:
    from uuid import UUID

    from clew.pregel._root import Root
    from clew.pregel._stream import Sink


class StreamMessages(BaseCallbackHandler, _StreamingCallbackHandler):
    """Sends (message chunk, metadata) to the stream; whole messages of models that did not stream."""

    run_inline = True

    def __init__(self, sink: Sink, root: Root) -> None:
        self.sink = sink
        self.root = root
        self.told: set[UUID] = set()
        self.models: dict[UUID, dict[str, Any]] = {}

    def _about(self, run_id: UUID) -> tuple[dict[str, Any], tuple[str, ...]]:
        frame: Any = current.get()
        while frame is not None and frame.parent is not None and frame.future is not None and frame.future.spec.hidden:
            frame = frame.parent
        about = dict(self.models.get(run_id) or {})
        about["thread_id"] = self.root.thread_id
        namespace: tuple[str, ...] = ()
        if frame is not None:
            about["langgraph_node"] = frame.name
            namespace = frame.namespace
            about["langgraph_step"] = self.root.step
            about["langgraph_path"] = frame.path
        about["checkpoint_ns"] = about["langgraph_checkpoint_ns"] = "|".join(namespace)
        return about, namespace

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        tags: Any = None,
        **_: Any,
    ) -> None:
        """Keep what is known about the call."""
        self.models[run_id] = {**(metadata or {}), "tags": list(tags or [])}

    def on_llm_new_token(self, token: str, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        """Pass a token on."""
        message = getattr(chunk, "message", None)
        if message is None:
            return
        self.told.add(run_id)
        about, namespace = self._about(run_id)
        if "nostream" not in about.get("tags", ()):
            self.sink.emit("messages", (message, about), namespace)

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """Pass the whole message on when its tokens were not."""
        if run_id not in self.told:
            about, namespace = self._about(run_id)
            for row in response.generations:
                for generation in row:
                    message = getattr(generation, "message", None)
                    if message is not None and "nostream" not in about.get("tags", ()):
                        self.sink.emit("messages", (message, about), namespace)
        self.told.discard(run_id)
        self.models.pop(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Forget the call."""
        self.told.discard(run_id)
        self.models.pop(run_id, None)
