"""Structured output: an object of a schema, or an error; never a silent None.

One runnable holds the bound model and reads its answers. A faulty answer can be sent back with the fault (`reask`).
Streamed, it yields `Partial` dicts of what has certainly arrived, and the object last.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast

from clew._drive import awaited, drive
from clew.errors import ModelRefusalError, OutputParserException
from clew.language_models._input import messages_of
from clew.language_models._schema import Target
from clew.language_models._stream import aclosing, closing
from clew.messages.human import HumanMessage
from clew.messages.tool import ToolMessage
from clew.runnables._entry import acall_observed, call_observed
from clew.runnables._stream import astream_observed, stream_observed
from clew.runnables.base import Runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from clew.config import RunnableConfig
    from clew.language_models.chat_models import BaseChatModel
    from clew.messages.ai import AIMessage
    from clew.messages.base import BaseMessage

METHODS = ("function_calling", "json_mode", "json_schema", "prompted")
_CUT = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded")


class Partial(dict[str, Any]):
    """What has certainly arrived of an object that is still streamed; not validated."""


def structured(
    model: BaseChatModel,
    schema: Any,
    method: str | None,
    include_raw: bool,
    strict: bool | None,
    reask: int,
    kwargs: dict[str, Any],
) -> StructuredOutput:
    """See `BaseChatModel.with_structured_output`."""
    if method is None:
        method = model.structured_method if model.native_tools else "prompted"
    if method not in METHODS:
        raise ValueError(f"Unsupported method {method!r}: use one of {', '.join(METHODS)}")
    target = Target(schema, strict=strict)
    if method == "function_calling":
        more = {} if strict is None else {"strict": strict}
        tool = target.tool if isinstance(schema, dict) else schema
        bound: Any = model.bind_tools([tool], tool_choice=target.name, **more, **kwargs)
    elif method == "json_mode":
        bound = model.bind(response_format={"type": "json_object"}, **kwargs)
    else:
        form: dict[str, Any] = {"name": target.name, "schema": target.schema}
        if strict is not None:
            form["strict"] = strict
        bound = model.bind(response_format={"type": "json_schema", "json_schema": form}, **kwargs)
    return StructuredOutput(bound, target, method, include_raw, reask)


class StructuredOutput(Runnable[Any, Any]):
    """A model whose answers are objects. Made by `with_structured_output`."""

    __slots__ = ("_by_tool", "_is_raw", "_is_told", "_reask", "_target", "bound", "name")

    def __init__(self, bound: Runnable[Any, Any], target: Target, method: str, include_raw: bool, reask: int) -> None:
        if reask < 0:
            raise ValueError(f"reask must not be negative, got {reask}")
        self.bound = bound
        self.name = None
        self._target = target
        self._by_tool = method == "function_calling"
        self._is_told = method == "prompted"
        self._is_raw = include_raw
        self._reask = reask

    # -- the four faces ---------------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the object; see `with_structured_output`."""

        def body(value: Any, child: RunnableConfig, run: Any) -> Any:
            def ask(messages: list[BaseMessage]) -> Any:
                return self.bound.invoke(messages, _of(child, run), **kwargs)

            return drive(self._settle(value, awaited(ask)))

        return call_observed(self, body, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the object; see `with_structured_output`."""

        async def body(value: Any, child: RunnableConfig, run: Any) -> Any:
            return await self._settle(value, lambda messages: self.bound.ainvoke(messages, _of(child, run), **kwargs))

        return await acall_observed(self, body, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield `Partial` dicts and the object last; with include_raw only the last item."""

        def body(value: Any, child: RunnableConfig, run: Any) -> Iterator[Any]:
            talk = _Talk(self, value)
            while not talk.is_over:
                with closing(self.bound.stream(talk.messages, _of(child, run), **kwargs)) as chunks:
                    for chunk in chunks:
                        yield from talk.hear(chunk)
                talk.judge()
            yield talk.outcome

        return stream_observed(self, body, input, config)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield `Partial` dicts and the object last; with include_raw only the last item."""

        async def body(value: Any, child: RunnableConfig, run: Any) -> AsyncIterator[Any]:
            talk = _Talk(self, value)
            while not talk.is_over:
                async with aclosing(self.bound.astream(talk.messages, _of(child, run), **kwargs)) as chunks:
                    async for chunk in chunks:
                        for item in talk.hear(chunk):
                            yield item
                talk.judge()
            yield talk.outcome

        async with aclosing(astream_observed(self, body, input, config)) as items:
            async for item in items:
                yield item

    async def _settle(self, input: Any, ask: Callable[[list[BaseMessage]], Any]) -> Any:
        talk = _Talk(self, input)
        while not talk.is_over:
            talk.answer = await ask(talk.messages)
            talk.judge()
        return talk.outcome

    # -- reading an answer ------------------------------------------------------------------------------

    def opening(self, input: Any) -> list[BaseMessage]:
        """Return the messages to begin with."""
        messages = messages_of(input)
        if self._is_told:
            from clew.language_models._prompted import with_instructions

            return with_instructions(messages, instructions(self._target))
        return messages

    def read(self, message: AIMessage) -> Any:
        """Return the object in an answer.

        Raises: ModelRefusalError; OutputParserException when there is no object, more than one, or a faulty one.
        """
        refusal = refusal_of(message)
        if refusal:
            raise ModelRefusalError(refusal, partial=message)
        metadata = message.response_metadata or {}
        reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
        if reason in _CUT:
            raise OutputParserException(
                f"the answer was cut off at the token limit (finish reason {reason!r}: length): raise max_tokens",
                llm_output=message.text,
            )
        if self._by_tool:
            return self._target.read(self._called(message), message.text)
        from clew.utils.json import parse_json_markdown

        try:
            value = parse_json_markdown(message.text, parser=json.loads)
        except (ValueError, RecursionError) as error:
            raise OutputParserException(f"the answer is no JSON: {message.text!r}", llm_output=message.text) from error
        return self._target.read(value, message.text)

    def _called(self, message: AIMessage) -> dict[str, Any]:
        name = self._target.name
        calls = [call["args"] for call in message.tool_calls if call["name"] == name]
        if len(calls) == 1:
            return calls[0]
        if calls:
            text = json.dumps(calls, ensure_ascii=False, default=str)
            raise OutputParserException(
                f"the model called {name} {len(calls)} times, not once: {text}", llm_output=text
            )
        for call in message.invalid_tool_calls:
            raise OutputParserException(
                f"the arguments of {call.get('name')} are no JSON object: {call.get('args')!r}",
                llm_output=call.get("args") or "",
            )
        others = ", ".join(call["name"] for call in message.tool_calls)
        said = f"it called {others}" if others else f"it said: {message.text!r}"
        raise OutputParserException(f"the model did not call {name}; {said}", llm_output=message.text)

    def partial(self, text: str) -> Any:
        """Return what has certainly arrived of an object, or None."""
        from clew._kernel.partial_json import parse_partial_json

        start = text.find("{")
        if start < 0:
            return None
        try:
            value = parse_partial_json(text[start:])
        except ValueError:
            return None
        return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON

    @property
    def wants_raw(self) -> bool:
        """Whether the outcome holds the message too."""
        return self._is_raw

    @property
    def attempts(self) -> int:
        """How many answers are asked for at most."""
        return 1 + self._reask

    @property
    def reads_calls(self) -> bool:
        """Whether the object comes as the arguments of a tool call."""
        return self._by_tool


class _Talk:
    """The messages of one call, with the faulty answers and what was said about them."""

    def __init__(self, owner: StructuredOutput, input: Any) -> None:
        self._owner = owner
        self.messages = owner.opening(input)
        self.is_over = False
        self.outcome: Any = None
        self.answer: Any = None
        self._tries = 0
        self._texts: list[str] = []
        self._shown: Any = None
        self._read_size = 0

    def hear(self, chunk: Any) -> Iterator[Partial]:
        """Take a chunk; yield the partial object when more of it has arrived."""
        self.answer = chunk if self.answer is None else self.answer + chunk
        if self._owner.wants_raw:
            return
        text = self._fresh_text(chunk)
        if text:
            self._texts.append(text)
            whole = "".join(self._texts)
            # Reading a long text again for each of its pieces would be quadratic: look again when it grew by a part.
            if len(whole) - self._read_size < len(whole) // 64:
                return
            self._read_size = len(whole)
            value = self._owner.partial(whole)
            if value and value != self._shown:
                self._shown = value
                yield Partial(value)

    def _fresh_text(self, chunk: Any) -> str:
        if self._owner.reads_calls:
            return "".join(piece.get("args") or "" for piece in chunk.tool_call_chunks)
        return chunk.text

    def judge(self) -> None:
        """Decide on the answer: done, faulty and asked again, or failed."""
        from clew.messages._convert import message_chunk_to_message

        message = cast("AIMessage", message_chunk_to_message(self.answer))
        self.answer, self._texts, self._shown, self._read_size = None, [], None, 0
        self._tries += 1
        try:
            parsed = self._owner.read(message)
        except (OutputParserException, ModelRefusalError) as error:
            if isinstance(error, OutputParserException) and self._tries < self._owner.attempts:
                self.messages = [*self.messages, message, *feedback(message, error)]
                return
            if not self._owner.wants_raw:
                raise
            self._end({"raw": message, "parsed": None, "parsing_error": error})
        else:
            raw = {"raw": message, "parsed": parsed, "parsing_error": None}
            self._end(raw if self._owner.wants_raw else parsed)

    def _end(self, outcome: Any) -> None:
        self.outcome = outcome
        self.is_over = True


def _of(config: RunnableConfig, run: Any) -> RunnableConfig:
    from clew.runnables._entry import child_config

    return child_config(config, run)


def refusal_of(message: AIMessage) -> str | None:
    """Return the words with which the model declined, or None."""
    refusal = message.additional_kwargs.get("refusal")
    if isinstance(refusal, str) and refusal:
        return refusal
    blocks = cast("list[Any]", message.content) if isinstance(message.content, list) else []
    for block in blocks:
        parts = cast("dict[str, Any]", block) if isinstance(block, dict) else {}
        if parts.get("type") == "refusal":
            return str(parts.get("refusal") or parts.get("text") or "the model declined")
    if (message.response_metadata or {}).get("stop_reason") == "refusal":
        return message.text or "the model declined"
    return None


def feedback(message: AIMessage, error: OutputParserException) -> list[BaseMessage]:
    """Return what is said about a faulty answer: every call is answered, text gets a human message."""
    text = f"{error}\nCorrect this and answer again in the required form."
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    if not calls:
        return [HumanMessage(text)]
    status: Literal["error"] = "error"
    return [
        ToolMessage(text, tool_call_id=call.get("id") or f"call_{number}", name=call.get("name"), status=status)
        for number, call in enumerate(calls)
    ]


def instructions(target: Target) -> str:
    """Return what a model is told that has no other way to know the schema."""
    schema = json.dumps(target.schema, ensure_ascii=False)
    return f"Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
