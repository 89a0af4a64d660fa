"""One call of a chat model: what goes in, and how what comes out is completed."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from clew._ids import new_id
from clew.messages.ai import AIMessage, AIMessageChunk
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, ChatResult

if TYPE_CHECKING:
    from clew.language_models.chat_models import BaseChatModel

LC_ID_PREFIX = "lc_run-"
_THOUGHT = {"reasoning", "thinking", "redacted_thinking"}
NO_FINAL_TEXT = "no_final_text"
"""Set in response_metadata when the model spent its answer on reasoning and said nothing."""
_copy: Any = cast("Any", BaseMessage).__copy__


class _RunIds:
    """Ids for the runs that nobody listens to: a random part per process, and a count. No system call per id."""

    __slots__ = ("_next", "_prefix")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Take a new random part: at the start, and in a forked child."""
        h = new_id()
        self._prefix = f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-"
        self._next = count(int(h[20:26], 16)).__next__

    def new(self) -> str:
        """Return an id in the form of a UUID."""
        return f"{self._prefix}{self._next():012x}"


_run_ids = _RunIds()
os.register_at_fork(after_in_child=_run_ids.begin)
new_run_text = _run_ids.new


class Turn:
    """One list of messages on its way through a model.

    run: the run manager, or None when nobody listens. run_id: of the run, as text.
    """

    __slots__ = ("kwargs", "messages", "model", "run", "run_id", "stop")

    def __init__(
        self,
        model: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None,
        kwargs: dict[str, Any],
        run: Any,
        run_id: Any = None,
    ) -> None:
        self.model = model
        self.messages = messages
        self.stop = stop
        self.kwargs = kwargs
        self.run = run
        self.run_id: str = str(run.run_id) if run is not None else str(run_id) if run_id else new_run_text()

    def generate(self) -> ChatResult:
        """Call the model's `_generate`."""
        model = self.model
        if model.clew_hooks.generate_managed:
            return model._generate(self.messages, stop=self.stop, run_manager=blocking(self.run), **self.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
        return model._generate(self.messages, stop=self.stop, **self.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook

    async def agenerate(self) -> ChatResult:
        """Call the model's `_agenerate`."""
        model = self.model
        if model.clew_hooks.agenerate_managed:
            return await model._agenerate(self.messages, stop=self.stop, run_manager=self.run, **self.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
        return await model._agenerate(self.messages, stop=self.stop, **self.kwargs)  # pyright: ignore[reportPrivateUsage] - the hook

    def finish(self, result: ChatResult) -> ChatResult:
        """Return a result whose messages have an id, their metadata and the asked-for form of content.

        The result and messages of the provider stay as they are: it may hand out the same object twice.
        """
        generations = result.generations
        if not generations:
            raise ValueError(f"{type(self.model).__name__}._generate returned no generations")
        llm_output = result.llm_output if len(generations) == 1 else None
        done = [
            ChatGeneration(
                message=complete(self.model, each, f"{LC_ID_PREFIX}-{self.run_id}-{position}", llm_output),
                generation_info=each.generation_info,
            )
            for position, each in enumerate(generations)
        ]
        return ChatResult(generations=done, llm_output=result.llm_output)


def complete(model: BaseChatModel, generation: ChatGeneration, id: str, llm_output: dict[str, Any] | None) -> Any:
    """Return the message of a generation with its id, metadata and form of content filled in."""
    message = generation.message
    if type(message) is AIMessageChunk:
        from clew.messages._convert import message_chunk_to_message

        message = message_chunk_to_message(message)
    message = _copy(message) if type(message) is AIMessage else message.model_copy()
    if message.id is None:
        message.id = id
    info = generation.generation_info
    if info or llm_output:
        message.response_metadata = {**(llm_output or {}), **(info or {}), **message.response_metadata}
    if (type(message.content) is not str or not message.content) and is_mute(message):
        message.response_metadata = {**message.response_metadata, NO_FINAL_TEXT: True}
    if model.output_version == "v1":
        message.content = message.content_blocks
    return message


def is_mute(message: Any) -> bool:
    """Whether the model only thought: reasoning, but neither text nor a tool call."""
    if message.tool_calls or message.invalid_tool_calls or message.text.strip():
        return False
    blocks = cast("list[Any]", message.content) if isinstance(message.content, list) else []
    kinds = {cast("dict[str, Any]", block).get("type") for block in blocks if isinstance(block, dict)}
    if kinds & _THOUGHT:
        return kinds <= {*_THOUGHT, "text", "non_standard"}
    return not kinds and bool(message.additional_kwargs.get("reasoning_content"))


def blocking(run: Any) -> Any:
    """Return a run manager for blocking code."""
    return run.get_sync() if hasattr(run, "get_sync") else run
