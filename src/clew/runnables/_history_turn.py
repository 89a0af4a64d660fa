"""One turn of a session: load, run, save.

The session's lock is held around the load and around the append, never across the run: two turns of one session may
think at the same time, and each is then written whole, question beside answer, in the order in which they ended. What
is saved is what came in and what came out; nothing is counted off against a history that others write to meanwhile.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from clew.runnables._entry import acall_observed, call_observed, child_config
from clew.runnables._history_messages import (
    incomplete,
    input_messages,
    mend_tool_calls,
    output_messages,
    without_given,
)
from clew.runnables._session_lock import SessionLock, session_lock
from clew.runnables._stream import astream_observed, closing, joined, stream_observed
from clew.runnables.base import Runnable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from clew.chat_history import BaseChatMessageHistory
    from clew.config import RunnableConfig
    from clew.messages import BaseMessage

__all__ = ["HistoryKeys", "HistoryTurn", "OnAbort", "OnSaveError"]

OnAbort = Literal["keep", "question", "drop"]
OnSaveError = Literal["raise", "log"]
_log = logging.getLogger("clew.history")
_LOST = "a turn could not be saved to %r: it is lost, as on_save_error='log' allows"


class HistoryKeys(NamedTuple):
    """Where in dicts the messages are; None as `RunnableWithMessageHistory` says."""

    input: str | None
    output: str | None
    history: str | None

    @property
    def inserted(self) -> str | None:
        """The key of the input that the history is put under."""
        return self.history or self.input


class _Step:
    """The name of a part of the turn, as callbacks see it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_name(self) -> str:
        return self.name


_INSERT, _LOAD, _RUN = _Step("insert_history"), _Step("load_history"), _Step("check_sync_or_async")


class _Entered(NamedTuple):
    """A turn that has begun: what the runnable is given, and what of it is new."""

    value: Any
    fresh: list[BaseMessage]
    given: list[BaseMessage]


class HistoryTurn(Runnable[Any, Any]):
    """Runs a runnable with the history that the config carries under `configurable["message_history"]`."""

    __slots__ = ("_factory", "_keys", "_on_abort", "_on_save_error", "_session_keys", "name", "runnable")

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        keys: HistoryKeys,
        factory: str,
        session_keys: tuple[str, ...],
        on_save_error: OnSaveError,
        on_abort: OnAbort,
    ) -> None:
        self.name = "RunnableWithMessageHistory"
        self.runnable = runnable
        self._keys = keys
        self._factory = factory
        self._session_keys = session_keys
        self._on_save_error = on_save_error
        self._on_abort = on_abort

    # -- faces ----------------------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return call_observed(self, lambda value, inner, run: self._call(value, inner, run, kwargs), input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await acall_observed(
            self, lambda value, inner, run: self._acall(value, inner, run, kwargs), input, config
        )

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        return stream_observed(self, lambda value, inner, run: self._stream(value, inner, run, kwargs), input, config)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        stream = astream_observed(
            self, lambda value, inner, run: self._astream(value, inner, run, kwargs), input, config
        )
        async with closing(stream):
            async for chunk in stream:
                yield chunk

    # -- the turn, blocking ---------------------------------------------------------------------------

    def _call(self, value: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]) -> Any:
        history, lock = self._session(config)
        entered = self._enter(value, config, run, history, lock)
        if run is None:
            output = self.runnable.invoke(entered.value, config, **kwargs)
        else:
            def body(given: Any, inner: RunnableConfig, step: Any) -> Any:
                return self.runnable.invoke(given, child_config(inner, step), **kwargs)

            output = call_observed(_RUN, body, entered.value, child_config(config, run))
        self._save(history, lock, self._turn(entered, output))
        return output

    def _stream(self, value: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]) -> Iterator[Any]:
        history, lock = self._session(config)
        entered = self._enter(value, config, run, history, lock)
        if run is None:
            stream = self.runnable.stream(entered.value, config, **kwargs)
        else:
            def body(given: Any, inner: RunnableConfig, step: Any) -> Any:
                return self.runnable.stream(given, child_config(inner, step), **kwargs)

            stream = stream_observed(_RUN, body, entered.value, child_config(config, run))
        chunks: list[Any] = []
        try:
            with closing(stream):
                for chunk in stream:
                    chunks.append(chunk)
                    yield chunk
        except GeneratorExit:
            self._save(history, lock, self._partial(entered, chunks))
            raise
        except BaseException as error:
            try:
                self._save(history, lock, self._partial(entered, chunks))
            except Exception as failed:
                error.add_note(f"and the part that had come could not be saved: {failed!r}")
            raise
        self._save(history, lock, self._turn(entered, joined(chunks)) if chunks else entered.fresh)

    def _enter(
        self, value: Any, config: RunnableConfig, run: Any, history: BaseChatMessageHistory, lock: SessionLock
    ) -> _Entered:
        fresh = self._fresh(value)

        def load(_: Any, __: Any = None, ___: Any = None) -> list[BaseMessage]:
            with lock:
                stored = list(history.messages)
            return self._request(stored, fresh)

        def insert(given: Any, inner: Any, step: Any) -> Any:
            return self._inserted(given, call_observed(_LOAD, load, given, child_config(inner, step)))

        if run is None:
            given = load(value)
            return _Entered(self._inserted(value, given), fresh, given)
        return self._entered(
            call_observed(*self._visible(insert, load), value, child_config(config, run)), fresh
        )

    def _save(self, history: BaseChatMessageHistory, lock: SessionLock, messages: list[BaseMessage]) -> None:
        if not messages:
            return
        try:
            with lock:
                history.add_messages(messages)
        except Exception:
            if self._on_save_error == "raise":
                raise
            _log.exception(_LOST, history)

    # -- the turn, awaited ----------------------------------------------------------------------------

    async def _acall(self, value: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]) -> Any:
        history, lock = self._session(config)
        entered = await self._aenter(value, config, run, history, lock)
        if run is None:
            output = await self.runnable.ainvoke(entered.value, config, **kwargs)
        else:
            def body(given: Any, inner: RunnableConfig, step: Any) -> Any:
                return self.runnable.ainvoke(given, child_config(inner, step), **kwargs)

            output = await acall_observed(_RUN, body, entered.value, child_config(config, run))
        await self._asave(history, lock, self._turn(entered, output))
        return output

    async def _astream(
        self, value: Any, config: RunnableConfig, run: Any, kwargs: dict[str, Any]
    ) -> AsyncIterator[Any]:
        history, lock = self._session(config)
        entered = await self._aenter(value, config, run, history, lock)
        if run is None:
            stream = self.runnable.astream(entered.value, config, **kwargs)
        else:
            def body(given: Any, inner: RunnableConfig, step: Any) -> Any:
                return self.runnable.astream(given, child_config(inner, step), **kwargs)

            stream = astream_observed(_RUN, body, entered.value, child_config(config, run))
        chunks: list[Any] = []
        try:
            async with closing(stream):
                async for chunk in stream:
                    chunks.append(chunk)
                    yield chunk
        except GeneratorExit:
            await self._asave_at_last(history, lock, self._partial(entered, chunks))
            raise
        except BaseException as error:
            try:
                await self._asave_at_last(history, lock, self._partial(entered, chunks))
            except Exception as failed:
                error.add_note(f"and the part that had come could not be saved: {failed!r}")
            raise
        await self._asave(history, lock, self._turn(entered, joined(chunks)) if chunks else entered.fresh)

    async def _aenter(
        self, value: Any, config: RunnableConfig, run: Any, history: BaseChatMessageHistory, lock: SessionLock
    ) -> _Entered:
        fresh = self._fresh(value)

        async def load(_: Any, __: Any = None, ___: Any = None) -> list[BaseMessage]:
            async with lock:
                stored = list(await history.aget_messages())
            return self._request(stored, fresh)

        async def insert(given: Any, inner: Any, step: Any) -> Any:
            return self._inserted(given, await acall_observed(_LOAD, load, given, child_config(inner, step)))

        if run is None:
            given = await load(value)
            return _Entered(self._inserted(value, given), fresh, given)
        return self._entered(
            await acall_observed(*self._visible(insert, load), value, child_config(config, run)), fresh
        )

    async def _asave(self, history: BaseChatMessageHistory, lock: SessionLock, messages: list[BaseMessage]) -> None:
        if not messages:
            return
        try:
            async with lock:
                await history.aadd_messages(messages)
        except Exception:
            if self._on_save_error == "raise":
                raise
            _log.exception(_LOST, history)

    async def _asave_at_last(
        self, history: BaseChatMessageHistory, lock: SessionLock, messages: list[BaseMessage]
    ) -> None:
        """Save what a cancelled or closed stream leaves; a second cancellation ends the wait, not the save."""
        import asyncio

        await asyncio.shield(asyncio.ensure_future(self._asave(history, lock, messages)))

    # -- decisions, without waiting -------------------------------------------------------------------

    def _session(self, config: RunnableConfig) -> tuple[BaseChatMessageHistory, SessionLock]:
        configurable = config.get("configurable", {})
        values = tuple(configurable.get(key) for key in self._session_keys)
        try:
            lock = session_lock((self._factory, values))
        except TypeError:  # a session named by something unhashable
            lock = session_lock((self._factory, repr(values)))
        return configurable["message_history"], lock

    def _fresh(self, value: Any) -> list[BaseMessage]:
        return input_messages(value[self._keys.input] if self._keys.input else value, None)

    def _request(self, stored: list[BaseMessage], fresh: list[BaseMessage]) -> list[BaseMessage]:
        """Return what is put in front of the runnable: the talk so far and, without a key of its own, the input."""
        mended = mend_tool_calls(stored, fresh)
        return mended if self._keys.history else mended + fresh

    def _inserted(self, value: Any, messages: list[BaseMessage]) -> Any:
        key = self._keys.inserted
        return messages if key is None else {**value, key: messages}

    def _visible(self, insert: Any, load: Any) -> tuple[_Step, Any]:
        return (_LOAD, load) if self._keys.inserted is None else (_INSERT, insert)

    def _entered(self, value: Any, fresh: list[BaseMessage]) -> _Entered:
        key = self._keys.inserted
        return _Entered(value, fresh, cast("list[BaseMessage]", value if key is None else value[key]))

    def _turn(self, entered: _Entered, output: Any) -> list[BaseMessage]:
        made = output_messages(output, self._keys.output)
        if not isinstance(output, str) and len(made) > 1:
            given = entered.given + entered.fresh if self._keys.history else entered.given
            rest = without_given(made, given)
            made = rest if rest is not made else without_given(made, entered.fresh)
        return entered.fresh + made

    def _partial(self, entered: _Entered, chunks: list[Any]) -> list[BaseMessage]:
        """Return what is kept of a stream that ended early: nothing was seen, nothing is kept, as for a failed call."""
        if not chunks or self._on_abort == "drop":
            return []
        if self._on_abort == "question":
            return entered.fresh
        try:
            return incomplete(self._turn(entered, joined(chunks)))
        except (ValueError, KeyError):
            _log.warning("the part of a stream that had come is no message: only the question is kept", exc_info=True)
            return entered.fresh
