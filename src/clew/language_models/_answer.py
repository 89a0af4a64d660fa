"""The way to one answer: cache, limiter, provider.

The control flow is written once, as a coroutine; `Blocking` and `Awaited` are the two ways to wait. The cache is asked
before the limiter, equal requests on one cache share one call, and only whole answers are kept.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew._drive import drive
from clew.caches._base import takes_compact_prompts
from clew.caches._flight import Abandoned
from clew.callbacks._usage import ABANDONED
from clew.errors import ModelRateLimitError
from clew.language_models._caching import hit, is_whole, prompt_key, readable, resolve_cache, unless_broken
from clew.language_models._relay import Relay
from clew.language_models._stream import aclosing, astream_of, closing, stream_of
from clew.language_models._turn import blocking
from clew.outputs import ChatResult, LLMResult

if TYPE_CHECKING:
    from clew.caches._base import BaseCache
    from clew.caches._flight import Flight
    from clew.language_models._turn import Turn
    from clew.outputs import ChatGeneration


class Blocking:
    """Waits by blocking; its coroutines never suspend."""

    is_blocking = True

    @staticmethod
    async def lookup(cache: BaseCache, key: tuple[str, str]) -> Any:
        return cache.lookup(*key)

    @staticmethod
    async def update(cache: BaseCache, key: tuple[str, str], answer: list[ChatGeneration]) -> None:
        cache.update(*key, answer)

    @staticmethod
    async def join(flight: Flight) -> Any:
        return flight.wait()

    @staticmethod
    async def acquire(turn: Turn) -> int:
        limiter: Any = turn.model.rate_limiter
        if limiter is None:
            return 0
        if not limiter.limits_tokens:
            limiter.acquire(blocking=True)
            return 0
        tokens = turn.model.get_num_tokens_from_messages(turn.messages)
        limiter.acquire(blocking=True, tokens=tokens)
        return tokens

    @staticmethod
    async def generate(turn: Turn) -> ChatResult:
        return turn.finish(turn.generate())

    @staticmethod
    async def collect(turn: Turn) -> ChatResult:
        relay = Relay(turn, keep=False)
        with relay.watching(), closing(stream_of(turn)) as chunks:
            for chunk in chunks:
                relay.take(chunk)
                if turn.run is not None:
                    turn.run.on_llm_new_token(chunk.message.content, chunk=chunk)
        relay.last()
        return turn.finish(relay.result())


class Awaited:
    """Waits without blocking the event loop."""

    is_blocking = False

    @staticmethod
    async def lookup(cache: BaseCache, key: tuple[str, str]) -> Any:
        return await cache.alookup(*key)

    @staticmethod
    async def update(cache: BaseCache, key: tuple[str, str], answer: list[ChatGeneration]) -> None:
        await cache.aupdate(*key, answer)

    @staticmethod
    async def join(flight: Flight) -> Any:
        return await flight.await_end()

    @staticmethod
    async def acquire(turn: Turn) -> int:
        limiter: Any = turn.model.rate_limiter
        if limiter is None:
            return 0
        if not limiter.limits_tokens:
            await limiter.aacquire(blocking=True)
            return 0
        tokens = turn.model.get_num_tokens_from_messages(turn.messages)
        await limiter.aacquire(blocking=True, tokens=tokens)
        return tokens

    @staticmethod
    async def generate(turn: Turn) -> ChatResult:
        if turn.model.clew_hooks.agenerates:
            return turn.finish(await turn.agenerate())
        return turn.finish(await in_thread(turn))

    @staticmethod
    async def collect(turn: Turn) -> ChatResult:
        relay = Relay(turn, keep=False)
        with relay.watching():
            async with aclosing(astream_of(turn)) as chunks:
                async for chunk in chunks:
                    relay.take(chunk)
                    if turn.run is not None:
                        await turn.run.on_llm_new_token(chunk.message.content, chunk=chunk)
        relay.last()
        return turn.finish(relay.result())


Face = type[Blocking] | type[Awaited]


async def in_thread(turn: Turn) -> ChatResult:
    """Call a blocking `_generate` in a worker thread.

    A thread can't be stopped: when the caller is cancelled meanwhile, the hook may ask `cancel_requested()`, and an
    answer that comes too late is reported as the custom event "clew.abandoned", so that its cost is counted.
    """
    from clew._pool import cancel_requested, run_in_executor

    def work() -> ChatResult:
        result = turn.generate()
        if turn.run is not None and cancel_requested():
            blocking(turn.run).on_custom_event(ABANDONED, LLMResult(generations=[turn.finish(result).generations]))
        return result

    return await run_in_executor(None, work)


def answer(turn: Turn) -> ChatResult:
    """Return the answer of a turn, blocking."""
    return drive(_answer(turn, Blocking))


async def aanswer(turn: Turn) -> ChatResult:
    """Return the answer of a turn, awaited."""
    return await _answer(turn, Awaited)


async def _answer(turn: Turn, face: Face) -> ChatResult:
    cache = resolve_cache(turn.model.cache)
    if cache is None:
        return await _fresh(turn, face)
    key = request_key(cache, turn)
    while True:
        flight, leads = cache.flights.join(key)
        if leads:
            return await _lead(turn, face, cache, key, flight)
        if face.is_blocking and flight.thread == threading.get_ident():
            # It waits for this very thread: for its event loop, or for the model that called us.
            return await _fresh(turn, face)
        try:
            return turn.finish(hit(await face.join(flight)))
        except Abandoned:
            continue


async def _lead(turn: Turn, face: Face, cache: BaseCache, key: tuple[str, str], flight: Flight) -> ChatResult:
    try:
        row = readable(await face.lookup(cache, key))
        if row is not None and takes_compact_prompts(cache):
            return turn.finish(hit(row, is_ours=True))  # a copy already; who waits looks it up for himself
        if row is not None:
            flight.land(row)
            return turn.finish(hit(row))
        result = await _fresh(turn, face)
        kept = copies(result)
        flight.land(kept)
        if is_whole(result):
            with unless_broken(cache):
                await face.update(cache, key, kept)
    except Exception as error:
        flight.fail(error)
        raise
    finally:
        flight.abandon()
    return result


async def _fresh(turn: Turn, face: Face) -> ChatResult:
    """Ask the provider."""
    counted = await face.acquire(turn)
    streams = _streams(turn, is_async=not face.is_blocking)
    try:
        result = await (face.collect(turn) if streams else face.generate(turn))
    except ModelRateLimitError as error:
        pause(turn, error)
        raise
    charge(turn, counted, result.generations[0].message)
    return result


def _streams(turn: Turn, *, is_async: bool) -> bool:
    """Decide whether the provider's stream is used; the `stream` keyword is for us and goes no further."""
    model, hooks = turn.model, turn.model.clew_hooks
    stream = turn.kwargs.pop("stream", None)
    if hooks.is_direct and not hooks.streams and not (is_async and hooks.astreams):
        return False
    decide = {} if stream is None else {"stream": stream}
    return model._should_stream(async_api=is_async, run_manager=turn.run, **turn.kwargs, **decide)  # pyright: ignore[reportPrivateUsage] - one component


def pause(turn: Turn, error: BaseException) -> None:
    """Let nothing through the limiter for as long as the provider asked."""
    limiter = turn.model.rate_limiter
    if limiter is not None and isinstance(error, ModelRateLimitError) and error.retry_after:
        limiter.pause(error.retry_after)


def charge(turn: Turn, counted: int, message: Any) -> None:
    """Tell a limiter of tokens what the answer used beyond what was counted before."""
    limiter = turn.model.rate_limiter
    if limiter is not None and limiter.limits_tokens and message is not None and message.usage_metadata:
        limiter.charge(message.usage_metadata["total_tokens"] - counted)


def copies(result: ChatResult) -> list[ChatGeneration]:
    """Return the generations for a cache: the caller may change his own."""
    return [generation.model_copy(deep=True) for generation in result.generations]


def request_key(cache: BaseCache, turn: Turn) -> tuple[str, str]:
    """Return (prompt, llm_string) of a turn."""
    params = {name: value for name, value in turn.kwargs.items() if name != "stream"}
    llm_string = turn.model._get_llm_string(stop=turn.stop, **params)  # pyright: ignore[reportPrivateUsage] - one component
    return prompt_key(cache, turn.messages), llm_string
