"""`stream` and `astream` of a chat model: a generator and an async generator around one accumulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew.errors import ModelError
from clew.language_models._answer import Awaited, Blocking, charge, copies, pause, request_key
from clew.language_models._caching import is_whole, readable, resolve_cache, unless_broken
from clew.language_models._relay import Relay, set_field
from clew.language_models._stream import aclosing, astream_of, closing, stream_of
from clew.outputs import LLMResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.caches._base import BaseCache
    from clew.language_models._turn import Turn
    from clew.messages.ai import AIMessageChunk


def relayed(turn: Turn) -> Iterator[AIMessageChunk]:
    """Yield the chunks of a turn; its run, if it has one, hears each and ends exactly once.

    A stream is not shared between callers (one would wait on the other's pace), but it reads the cache, and a whole one
    is kept there.
    """
    run: Any = turn.run or _Nobody
    relay = Relay(turn, keep=True)
    try:
        found = _cache_of(turn)
        cached = None if found is None else readable(found[0].lookup(*found[1]))
        if cached is None:
            counted = drive(Blocking.acquire(turn))
            with closing(stream_of(turn)) as chunks:
                for chunk in chunks:
                    message = relay.take(chunk)
                    run.on_llm_new_token(message.content, chunk=chunk)
                    yield message
            if (chunk := relay.last()) is not None:
                run.on_llm_new_token("", chunk=chunk)
                yield chunk.message
            charge(turn, counted, relay.whole())
            if found is not None and is_whole(relay.result()):
                with unless_broken(found[0]):
                    found[0].update(*found[1], copies(relay.result()))
        else:
            chunk = relay.replay(cached)
            run.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk.message
    except GeneratorExit:
        run.on_llm_end(relay.report() or LLMResult(generations=[[]]))
        raise
    except BaseException as error:
        broken(turn, error, relay)
        run.on_llm_error(error, response=relay.report())
        raise
    run.on_llm_end(relay.report())


class _Nobody:
    """Stands for the run of a turn that nobody listens to."""

    @staticmethod
    def on_llm_new_token(*_: Any, **__: Any) -> None: ...

    @staticmethod
    def on_llm_end(*_: Any, **__: Any) -> None: ...

    @staticmethod
    def on_llm_error(*_: Any, **__: Any) -> None: ...


class _NobodyAwaited:
    """The same for an awaited turn."""

    @staticmethod
    async def on_llm_new_token(*_: Any, **__: Any) -> None: ...

    @staticmethod
    async def on_llm_end(*_: Any, **__: Any) -> None: ...

    @staticmethod
    async def on_llm_error(*_: Any, **__: Any) -> None: ...


def bare(turn: Turn) -> Iterator[AIMessageChunk]:
    """Yield the chunks of a turn that nobody listens to, with no cache or limiter; as `relayed`."""
    relay = Relay(turn, keep=False)
    id, append, is_plain = relay.id, relay.append, relay.is_plain
    try:
        with closing(stream_of(turn)) as chunks:
            for chunk in chunks:
                message = chunk.message
                if is_plain and not chunk.generation_info and message.usage_metadata is None:
                    if message.id is None:
                        set_field(message, "id", id)
                    append(message)
                    yield message
                else:
                    yield relay.take(chunk)
        if (chunk := relay.last()) is not None:
            yield chunk.message
    except BaseException as error:
        broken(turn, error, relay)
        raise


async def abare(turn: Turn) -> AsyncIterator[AIMessageChunk]:
    """Yield the chunks of a turn, awaited; as `bare`."""
    relay = Relay(turn, keep=False)
    id, append, is_plain = relay.id, relay.append, relay.is_plain
    try:
        async with aclosing(astream_of(turn)) as chunks:
            async for chunk in chunks:
                message = chunk.message
                if is_plain and not chunk.generation_info and message.usage_metadata is None:
                    if message.id is None:
                        set_field(message, "id", id)
                    append(message)
                    yield message
                else:
                    yield relay.take(chunk)
        if (chunk := relay.last()) is not None:
            yield chunk.message
    except BaseException as error:
        broken(turn, error, relay)
        raise


async def arelayed(turn: Turn) -> AsyncIterator[AIMessageChunk]:
    """Yield the chunks of a turn, awaited; as `relayed`."""
    run: Any = turn.run or _NobodyAwaited
    relay = Relay(turn, keep=True)
    try:
        found = _cache_of(turn)
        cached = None if found is None else readable(await found[0].alookup(*found[1]))
        if cached is None:
            counted = await Awaited.acquire(turn)
            async with aclosing(astream_of(turn)) as chunks:
                async for chunk in chunks:
                    message = relay.take(chunk)
                    await run.on_llm_new_token(message.content, chunk=chunk)
                    yield message
            if (chunk := relay.last()) is not None:
                await run.on_llm_new_token("", chunk=chunk)
                yield chunk.message
            charge(turn, counted, relay.whole())
            if found is not None and is_whole(relay.result()):
                with unless_broken(found[0]):
                    await found[0].aupdate(*found[1], copies(relay.result()))
        else:
            chunk = relay.replay(cached)
            await run.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk.message
    except GeneratorExit:
        await run.on_llm_end(relay.report() or LLMResult(generations=[[]]))
        raise
    except BaseException as error:
        broken(turn, error, relay)
        await run.on_llm_error(error, response=relay.report())
        raise
    await run.on_llm_end(relay.report())


def is_bare(turn: Turn) -> bool:
    """Whether nothing but the provider has to do with a stream."""
    return turn.run is None and turn.model.rate_limiter is None and not _is_cached(turn)


def _is_cached(turn: Turn) -> bool:
    return resolve_cache(turn.model.cache) is not None


def _cache_of(turn: Turn) -> tuple[BaseCache, tuple[str, str]] | None:
    cache = resolve_cache(turn.model.cache)
    return None if cache is None else (cache, request_key(cache, turn))


def broken(turn: Turn, error: BaseException, relay: Relay) -> None:
    """Let the error of a stream carry what had come, and the limiter wait as long as the provider asked."""
    if isinstance(error, ModelError):
        if error.partial is None:
            error.partial = relay.whole()
        pause(turn, error)
