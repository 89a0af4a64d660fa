"""The whole sequence of a call: config, callbacks, answer, and the end of each run, told exactly once.

Source: models document, diagrams 4 (invoke) and 8 (stream).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clew.callbacks._manager import AsyncCallbackManager, CallbackManager, anyone_listening
from clew.language_models._answer import aanswer, answer
from clew.language_models._facts import Facts, facts_of
from clew.language_models._input import for_tracing, messages_of
from clew.language_models._relay import as_chunk
from clew.language_models._stream import aclosing, closing
from clew.language_models._streaming import abare, arelayed, bare, is_bare, relayed
from clew.language_models._turn import Turn
from clew.outputs import LLMResult, RunInfo
from clew.runnables.config import inherit, traced

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.config import RunnableConfig
    from clew.language_models.chat_models import BaseChatModel
    from clew.messages.ai import AIMessage, AIMessageChunk
    from clew.messages.base import BaseMessage
    from clew.outputs import ChatResult


class Call(NamedTuple):
    """What a caller says about one call of `generate`."""

    stop: list[str] | None
    callbacks: Any
    tags: list[str] | None
    metadata: dict[str, Any] | None
    run_name: str | None
    run_id: Any
    kwargs: dict[str, Any]


def whole(config: RunnableConfig | None) -> RunnableConfig:
    """Return what holds for a call, its plain `configurable` values among the metadata."""
    full = inherit(config)
    configurable = full.get("configurable")
    if configurable:
        metadata = full.get("metadata") or {}
        full["metadata"] = {**metadata, **traced(configurable, metadata)}
    return full


# -- invoke -----------------------------------------------------------------------------------------------


def invoke(
    model: BaseChatModel, input: Any, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
) -> AIMessage:
    """See `BaseChatModel.invoke`."""
    full = whole(config)
    seconds = full.pop("timeout", None)
    if seconds is not None:
        from clew.runnables._timeout import within

        return within(seconds, lambda: invoke(model, input, full, stop, kwargs))
    if model.clew_hooks.is_direct:
        (turn,) = _begin(model, [messages_of(input)], _said(full, stop, kwargs))
        return _ask(turn).generations[0].message
    prompt = model._convert_input(input)  # pyright: ignore[reportPrivateUsage] - one component
    return _only(model.generate_prompt([prompt], stop=stop, **_given(full), **kwargs))


async def ainvoke(
    model: BaseChatModel, input: Any, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
) -> AIMessage:
    """See `BaseChatModel.ainvoke`."""
    full = whole(config)
    seconds = full.pop("timeout", None)
    if seconds is not None:
        from clew.runnables._timeout import awithin

        return await awithin(seconds, ainvoke(model, input, full, stop, kwargs))
    if model.clew_hooks.is_adirect:
        (turn,) = await _abegin(model, [messages_of(input)], _said(full, stop, kwargs))
        return (await _aask(turn)).generations[0].message
    prompt = model._convert_input(input)  # pyright: ignore[reportPrivateUsage] - one component
    return _only(await model.agenerate_prompt([prompt], stop=stop, **_given(full), **kwargs))


def _only(result: LLMResult) -> AIMessage:
    return cast("AIMessage", result.generations[0][0].message)


def _said(config: RunnableConfig, stop: Any, kwargs: dict[str, Any]) -> Call:
    get = config.get
    return Call(stop, get("callbacks"), get("tags"), get("metadata"), get("run_name"), get("run_id"), kwargs)


def _given(config: RunnableConfig) -> dict[str, Any]:
    return {key: config.get(key) for key in ("callbacks", "tags", "metadata", "run_name", "run_id")}


# -- generate ---------------------------------------------------------------------------------------------


def generate(model: BaseChatModel, conversations: list[list[BaseMessage]], call: Call) -> LLMResult:
    """See `BaseChatModel.generate`."""
    turns = _begin(model, conversations, call)
    results: list[ChatResult] = []
    try:
        for turn in turns:
            results.append(_ask(turn))  # noqa: PERF401 - those before a failure count
    except BaseException as error:
        for turn in turns[len(results) + 1 :]:
            if turn.run is not None:
                turn.run.on_llm_error(error)
        raise
    return _joined(model, turns, results)


async def agenerate(model: BaseChatModel, conversations: list[list[BaseMessage]], call: Call) -> LLMResult:
    """See `BaseChatModel.agenerate`."""
    turns = await _abegin(model, conversations, call)
    if len(turns) == 1:
        return _joined(model, turns, [await _aask(turns[0])])
    from clew.runnables._together import arun_together

    return _joined(model, turns, await arun_together([lambda turn=turn: _aask(turn) for turn in turns]))


def _ask(turn: Turn) -> ChatResult:
    """Return the answer of a turn, and end its run."""
    try:
        result = answer(turn)
    except BaseException as error:
        if turn.run is not None:
            turn.run.on_llm_error(error, response=_partial(error))
        raise
    if turn.run is not None:
        turn.run.on_llm_end(_report(result))
    return result


async def _aask(turn: Turn) -> ChatResult:
    """Return the answer of a turn, and end its run."""
    try:
        result = await aanswer(turn)
    except BaseException as error:
        if turn.run is not None:
            await turn.run.on_llm_error(error, response=_partial(error))
        raise
    if turn.run is not None:
        await turn.run.on_llm_end(_report(result))
    return result


def _report(result: ChatResult) -> LLMResult:
    return LLMResult(generations=[result.generations], llm_output=result.llm_output)


def _partial(error: BaseException) -> LLMResult | None:
    """Return what had come when a stream broke, as far as its error carries it."""
    whole = getattr(error, "partial", None)
    if whole is None:
        return None
    from clew.messages._convert import message_chunk_to_message
    from clew.outputs import ChatGeneration

    return LLMResult(generations=[[ChatGeneration(message=message_chunk_to_message(whole))]])


def _joined(model: BaseChatModel, turns: list[Turn], results: list[ChatResult]) -> LLMResult:
    output = model._combine_llm_outputs([result.llm_output for result in results])  # pyright: ignore[reportPrivateUsage] - a hook
    runs = [RunInfo(run_id=turn.run.run_id) for turn in turns if turn.run is not None]
    return LLMResult(generations=[result.generations for result in results], llm_output=output, run=runs or None)


# -- the begin of runs ------------------------------------------------------------------------------------


def _begin(model: BaseChatModel, conversations: list[list[BaseMessage]], call: Call) -> list[Turn]:
    runs: list[Any] = [None] * len(conversations)
    if is_heard(model, call.callbacks):
        facts = facts_of(model)
        manager: CallbackManager = _configured(CallbackManager, model, call, facts)
        shown = [for_tracing(messages) for messages in conversations]
        runs = manager.on_chat_model_start(facts.serialized, shown, **_told(model, call, facts, len(conversations)))
    return _turns(model, conversations, call, runs)


async def _abegin(model: BaseChatModel, conversations: list[list[BaseMessage]], call: Call) -> list[Turn]:
    runs: list[Any] = [None] * len(conversations)
    if is_heard(model, call.callbacks):
        facts = facts_of(model)
        manager: AsyncCallbackManager = _configured(AsyncCallbackManager, model, call, facts)
        shown = [for_tracing(messages) for messages in conversations]
        runs = await manager.on_chat_model_start(
            facts.serialized, shown, **_told(model, call, facts, len(conversations))
        )
    return _turns(model, conversations, call, runs)


def is_heard(model: Any, callbacks: Any) -> bool:
    """Whether anybody hears of a call with these callbacks."""
    return model.verbose or anyone_listening(callbacks, model.callbacks)


def _turns(model: BaseChatModel, conversations: Any, call: Call, runs: list[Any]) -> list[Turn]:
    return [
        Turn(model, list(messages), call.stop, dict(call.kwargs), run, call.run_id if position == 0 else None)
        for position, (messages, run) in enumerate(zip(conversations, runs, strict=True))
    ]


def _configured(kind: Any, model: BaseChatModel, call: Call, facts: Facts) -> Any:
    params: Any = facts.tracing
    if call.stop or call.kwargs or not model.clew_hooks.says_nothing:
        params = model._get_ls_params(stop=call.stop, **call.kwargs)  # pyright: ignore[reportPrivateUsage] - a hook
    metadata = {**call.metadata, **params} if call.metadata else params
    return kind.configure(
        call.callbacks, model.callbacks, model.verbose, call.tags, model.tags, metadata, model.metadata
    )


def _told(model: BaseChatModel, call: Call, facts: Facts, size: int) -> dict[str, Any]:
    if model.clew_hooks.says_nothing:
        params = {**facts.params, "stop": call.stop, **call.kwargs}
    else:
        params = model._get_invocation_params(stop=call.stop, **call.kwargs)  # pyright: ignore[reportPrivateUsage] - a hook
    return {
        "invocation_params": params,
        "options": {"stop": call.stop},
        "name": call.run_name or model.get_name(),
        "run_id": call.run_id,
        "batch_size": size,
    }


# -- stream -----------------------------------------------------------------------------------------------


def stream(
    model: BaseChatModel, input: Any, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
) -> Iterator[AIMessageChunk]:
    """See `BaseChatModel.stream`."""
    kwargs.pop("stream", None)
    if not model._should_stream(async_api=False, **kwargs, stream=True):  # pyright: ignore[reportPrivateUsage] - one component
        yield as_chunk(model.invoke(input, config, stop=stop, **kwargs))
        return
    full = whole(config)
    if (seconds := full.pop("timeout", None)) is not None:
        from clew.runnables._timeout import stream_within

        yield from stream_within(seconds, lambda: stream(model, input, full, stop, kwargs))
        return
    (turn,) = _begin(model, [messages_of(model._convert_input(input))], _said(full, stop, kwargs))  # pyright: ignore[reportPrivateUsage] - one component
    with closing(bare(turn) if is_bare(turn) else relayed(turn)) as chunks:
        yield from chunks


async def astream(
    model: BaseChatModel, input: Any, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
) -> AsyncIterator[AIMessageChunk]:
    """See `BaseChatModel.astream`."""
    kwargs.pop("stream", None)
    if not model._should_stream(async_api=True, **kwargs, stream=True):  # pyright: ignore[reportPrivateUsage] - one component
        yield as_chunk(await model.ainvoke(input, config, stop=stop, **kwargs))
        return
    full = whole(config)
    if (seconds := full.pop("timeout", None)) is not None:
        from clew.runnables._timeout import astream_within

        async with aclosing(astream_within(seconds, astream(model, input, full, stop, kwargs))) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    conversation = messages_of(model._convert_input(input))  # pyright: ignore[reportPrivateUsage] - one component
    (turn,) = await _abegin(model, [conversation], _said(full, stop, kwargs))
    async with aclosing(abare(turn) if is_bare(turn) else arelayed(turn)) as chunks:
        async for chunk in chunks:
            yield chunk
