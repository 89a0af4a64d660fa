"""Make, merge and pass on the config of a call.

A config given to a call wins over the ambient one key by key; `run_name`, `run_id` and `timeout` hold for the call
they are given to and are not passed on.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast

from clew._pool import run_in_executor
from clew.callbacks._manager import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from clew.config import RunnableConfig, current_config

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from contextvars import Context

__all__ = [
    "CONFIG_KEYS",
    "DEFAULT_RECURSION_LIMIT",
    "RunnableConfig",
    "ensure_config",
    "get_async_callback_manager_for_config",
    "get_callback_manager_for_config",
    "get_config_list",
    "merge_configs",
    "patch_config",
    "run_in_executor",
    "set_config_context",
]

DEFAULT_RECURSION_LIMIT = 25
CONFIG_KEYS = [
    "tags",
    "metadata",
    "callbacks",
    "run_name",
    "max_concurrency",
    "recursion_limit",
    "configurable",
    "run_id",
    "timeout",
]
OWN_KEYS = ("run_name", "run_id", "timeout")
"""Keys of one call, not passed on."""

T = TypeVar("T")


def inherit(config: RunnableConfig | None) -> RunnableConfig:
    """Return what holds for a call: the ambient config with the given one over it; a new dict.

    The lists and dicts inside are the caller's own and must not be changed.
    """
    ambient = current_config.get()
    if ambient is None:
        if config is None or None not in config.values():
            return cast("RunnableConfig", {**(config or {})})
        return cast("RunnableConfig", {k: v for k, v in config.items() if v is not None})
    merged = {k: v for k, v in ambient.items() if k not in OWN_KEYS}
    if config:
        merged.update({k: v for k, v in config.items() if v is not None})
    return cast("RunnableConfig", merged)


def ensure_config(config: RunnableConfig | None = None) -> RunnableConfig:
    """Return a whole config: defaults, the ambient config over them, the given one over both.

    Plain values in `configurable` are also put in `metadata`, unless they are there or their name starts with two
    underscores or names a key or token.
    """
    full: dict[str, Any] = {
        "tags": [],
        "metadata": {},
        "callbacks": None,
        "recursion_limit": DEFAULT_RECURSION_LIMIT,
        "configurable": {},
    }
    for key, value in inherit(config).items():
        full[key] = value.copy() if isinstance(value, (dict, list)) else value
    full["metadata"].update(traced(full["configurable"], full["metadata"]))
    return cast("RunnableConfig", full)


def traced(configurable: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `configurable` that callbacks are told as metadata."""
    return {
        key: value
        for key, value in configurable.items()
        if not key.startswith("__")
        and isinstance(value, (str, int, float, bool))
        and key not in metadata
        and not any(word in key.lower() for word in ("api_key", "token", "secret", "password"))
    }


def merge_configs(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return one config: tags, metadata, configurable and callbacks are joined, of other keys the last value counts."""
    merged: dict[str, Any] = {}
    for config in configs:
        for key, value in (config or {}).items():
            if value is None:
                continue
            if key == "tags":
                merged["tags"] = sorted({*merged.get("tags", ()), *cast("list[str]", value)})
            elif key in ("metadata", "configurable"):
                merged[key] = {**merged.get(key, {}), **cast("dict[str, Any]", value)}
            elif key == "callbacks":
                merged["callbacks"] = _join_callbacks(merged.get("callbacks"), value)
            elif key != "recursion_limit" or value != DEFAULT_RECURSION_LIMIT or key not in merged:
                merged[key] = value
    return cast("RunnableConfig", merged)


def _join_callbacks(first: Any, second: Any) -> Any:
    if first is None:
        return second.copy()
    if isinstance(first, list):
        if isinstance(second, list):
            known = {id(handler) for handler in cast("list[Any]", first)}
            new = [handler for handler in cast("list[Any]", second) if id(handler) not in known]
            return [*cast("list[Any]", first), *new]
        first, second = second, cast("list[Any]", first)
    joined: BaseCallbackManager = first.copy()
    if isinstance(second, list):
        for handler in cast("list[Any]", second):
            joined.add_handler(handler, inherit=True)
        return joined
    return joined.merge(second)


def patch_config(
    config: RunnableConfig | None,
    *,
    callbacks: BaseCallbackManager | None = None,
    recursion_limit: int | None = None,
    max_concurrency: int | None = None,
    run_name: str | None = None,
    configurable: dict[str, Any] | None = None,
) -> RunnableConfig:
    """Return a whole config with some values replaced; with new callbacks the old run's name and id go."""
    patched = cast("dict[str, Any]", ensure_config(config))
    if callbacks is not None:
        patched["callbacks"] = callbacks
        for key in ("run_name", "run_id"):
            patched.pop(key, None)
    given = {"recursion_limit": recursion_limit, "max_concurrency": max_concurrency, "run_name": run_name}
    patched.update({key: value for key, value in given.items() if value is not None})
    if configurable is not None:
        patched["configurable"] = {**patched["configurable"], **configurable}
    return cast("RunnableConfig", patched)


def get_config_list(config: RunnableConfig | Sequence[RunnableConfig] | None, length: int) -> list[RunnableConfig]:
    """Return one config per input of a batch; a run id goes to the first only.

    Raises: ValueError if a list of another length is given.
    """
    if length < 0:
        raise ValueError(f"length must be >= 0, got {length}")
    if isinstance(config, (list, tuple)):
        configs = cast("Sequence[RunnableConfig]", config)
        if len(configs) != length:
            raise ValueError(f"config must be one dict or a list of {length}, one per input; got {len(configs)}")
        return [ensure_config(each) for each in configs]
    first = cast("RunnableConfig | None", config)
    if not length:
        return []
    rest = cast("RunnableConfig", {k: v for k, v in (first or {}).items() if k != "run_id"})
    return [ensure_config(first), *(ensure_config(rest) for _ in range(length - 1))]


def get_callback_manager_for_config(config: RunnableConfig) -> CallbackManager:
    """Return the callback manager of a blocking call."""
    return _manager(CallbackManager, config)


def get_async_callback_manager_for_config(config: RunnableConfig) -> AsyncCallbackManager:
    """Return the callback manager of an awaited call."""
    return _manager(AsyncCallbackManager, config)


def _manager(kind: Any, config: RunnableConfig) -> Any:
    metadata = config.get("metadata") or {}
    configurable = config.get("configurable")
    if configurable:
        metadata = {**metadata, **traced(configurable, metadata)}
    return kind.configure(
        inheritable_callbacks=config.get("callbacks"),
        inheritable_tags=config.get("tags"),
        inheritable_metadata=metadata,
    )


@contextmanager
def set_config_context(config: RunnableConfig) -> Generator[Context, None, None]:
    """Make a config the ambient one of a copied context; run code in it with `context.run(function)`."""
    context = copy_context()
    context.run(current_config.set, config)
    yield context
