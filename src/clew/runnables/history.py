"""`RunnableWithMessageHistory`: a talk that goes on, around any runnable."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from clew.runnables._binding import RunnableBindingBase
from clew.runnables._history_turn import HistoryKeys, HistoryTurn
from clew.runnables._stream import closing
from clew.runnables.base import Runnable, coerce_to_runnable
from clew.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from clew.chat_history import BaseChatMessageHistory
    from clew.config import RunnableConfig
    from clew.runnables._history_turn import OnAbort, OnSaveError

__all__ = ["GetSessionHistoryCallable", "RunnableWithMessageHistory"]

GetSessionHistoryCallable: TypeAlias = "Callable[..., BaseChatMessageHistory | Awaitable[BaseChatMessageHistory]]"
"""A function of the session's keys that returns its history, or, for awaited calls, an awaitable of it."""

_Plain = Runnable[Any, Any]
_SESSION = ConfigurableFieldSpec(
    id="session_id", annotation=str, name="Session ID", description="Which conversation this is.", default="",
    is_shared=True,
)  # fmt: skip


class RunnableWithMessageHistory(RunnableBindingBase):
    """Run a runnable with the history of a session in its input, and save each turn.

    runnable: anything that takes messages, a text or a dict. get_session_history: called with the value of
    `configurable["session_id"]`, or by keyword with the fields of `history_factory_config` where there are several; may
    be a coroutine function for awaited calls.
    input_messages_key: key of a dict input that holds the question. history_messages_key: key under which the history
    is inserted; without it the history stands before the question. output_messages_key: key of a dict output that
    holds the answer.
    on_save_error: "raise" (the store's own error reaches the caller) or "log". on_abort: what is kept of a stream that
    was closed, cancelled or failed after its first chunk: "keep" question and partial answer, marked with
    `response_metadata["status"] == "incomplete"`; the "question" alone; or "drop" both.
    Turns of one session may run at the same time: each is saved whole, in one write, in the order in which they ended.
    Raises: ValueError when the config lacks the session's keys, or input or output are no messages.
    """

    def __init__(
        self,
        runnable: Any,
        get_session_history: GetSessionHistoryCallable,
        *,
        input_messages_key: str | None = None,
        output_messages_key: str | None = None,
        history_messages_key: str | None = None,
        history_factory_config: Sequence[ConfigurableFieldSpec] | None = None,
        on_save_error: OnSaveError = "raise",
        on_abort: OnAbort = "keep",
        **kwargs: Any,
    ) -> None:
        if on_save_error not in ("raise", "log"):
            raise ValueError(f"on_save_error is 'raise' or 'log', not {on_save_error!r}")
        if on_abort not in ("keep", "question", "drop"):
            raise ValueError(f"on_abort is 'keep', 'question' or 'drop', not {on_abort!r}")
        fields = list(history_factory_config) if history_factory_config else [_SESSION]
        turn = HistoryTurn(
            coerce_to_runnable(runnable),
            HistoryKeys(input_messages_key, output_messages_key, history_messages_key),
            _identity(get_session_history),
            tuple(field.id for field in fields),
            on_save_error,
            on_abort,
        )
        super().__init__(bound=turn, **kwargs)
        self._turn = turn
        self.get_session_history = get_session_history
        self.input_messages_key = input_messages_key
        self.output_messages_key = output_messages_key
        self.history_messages_key = history_messages_key
        self.history_factory_config = fields
        self._expected = _parameters(get_session_history)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The runnable's own fields and those of the session."""
        return get_unique_config_specs([*self._turn.runnable.config_specs, *self.history_factory_config])

    # -- faces ----------------------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output for one input."""
        return self.bound.invoke(input, self._merge_configs(config), **{**self.kwargs, **kwargs})

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the output for one input. By default `invoke` runs in a worker thread."""
        return await self.bound.ainvoke(input, await self._amerge_configs(config), **{**self.kwargs, **kwargs})

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the output piece by piece. By default there is one piece."""
        return self.bound.stream(input, self._merge_configs(config), **{**self.kwargs, **kwargs})

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the output piece by piece. By default there is one piece."""
        merged = await self._amerge_configs(config)
        async with closing(self.bound.astream(input, merged, **{**self.kwargs, **kwargs})) as chunks:
            async for chunk in chunks:
                yield chunk

    # each item of a batch is a turn of its own, with its own session and its own error
    batch = _Plain.batch
    abatch = _Plain.abatch
    batch_as_completed = _Plain.batch_as_completed
    abatch_as_completed = _Plain.abatch_as_completed
    transform = _Plain.transform
    atransform = _Plain.atransform

    # -- the session ----------------------------------------------------------------------------------

    def _merge_configs(self, *configs: RunnableConfig | None) -> RunnableConfig:
        config, found = self._found(configs)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise TypeError(
                "get_session_history is a coroutine function: use ainvoke, astream or abatch, or give a plain function"
            )
        return _carrying(config, found)

    async def _amerge_configs(self, *configs: RunnableConfig | None) -> RunnableConfig:
        config, found = self._found(configs)
        return _carrying(config, await found if inspect.isawaitable(found) else found)

    def _found(self, configs: tuple[RunnableConfig | None, ...]) -> tuple[RunnableConfig, Any]:
        """Return the merged config and what the factory gave for its session."""
        config = super()._merge_configs(*configs) or {}
        ids = [field.id for field in self.history_factory_config]
        configurable = self._configurable(config)
        missing = [name for name in ids if name not in configurable]
        if missing:
            example = {"configurable": {name: f"<{name}>" for name in ids}}
            raise ValueError(
                f"the config names no session: {sorted(missing)} missing. Call it with config={example}"
            )
        config = cast("RunnableConfig", {**config, "configurable": configurable})
        if len(ids) == 1:
            return config, self.get_session_history(configurable[ids[0]])
        if self._expected is not None and set(ids) != self._expected:
            raise ValueError(
                f"get_session_history takes {sorted(self._expected)}, but the session is named by {sorted(ids)}: "
                "make the parameters and history_factory_config agree"
            )
        return config, self.get_session_history(**{name: configurable[name] for name in ids})

    def _configurable(self, config: RunnableConfig) -> dict[str, Any]:
        """Return the configurable values, those of the ambient config under the given ones."""
        from clew.config import current_config

        ambient = current_config.get()
        outer = ambient.get("configurable", {}) if ambient else {}
        return {**outer, **config.get("configurable", {})}


def _carrying(config: RunnableConfig, history: Any) -> RunnableConfig:
    configurable = {**config.get("configurable", {}), "message_history": history}
    return cast("RunnableConfig", {**config, "configurable": configurable})


def _parameters(function: Any) -> set[str] | None:
    """Return the names that a factory takes, or None when it takes any or can't be read."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters}


def _identity(function: Any) -> str:
    """Name a factory, the same for one that is made anew per request: its sessions share their locks."""
    named = cast("Any", function if hasattr(function, "__qualname__") else type(function))
    return f"{named.__module__}.{named.__qualname__}"
