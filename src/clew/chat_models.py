"""A chat model by name: "provider:model", now or at each call.

The table of providers is data (`clew.providers`); a provider's class is imported when its model is made, its SDK at the
first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from clew._lazy import resolve
from clew.runnables.base import Runnable
from clew.runnables.config import inherit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.config import RunnableConfig
    from clew.language_models import BaseChatModel
    from clew.messages import AIMessage, AIMessageChunk

__all__ = ["ConfigurableModel", "init_chat_model"]

_NAMES = ("model", "model_provider")


@overload
def init_chat_model(
    model: str,
    *,
    model_provider: str | None = None,
    configurable_fields: None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> BaseChatModel: ...
@overload
def init_chat_model(
    model: str | None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: Literal["any"] | list[str] | tuple[str, ...],
    config_prefix: str | None = None,
    **kwargs: Any,
) -> ConfigurableModel: ...
@overload
def init_chat_model(
    model: None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> ConfigurableModel: ...
def init_chat_model(
    model: str | None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: Literal["any"] | list[str] | tuple[str, ...] | None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> BaseChatModel | ConfigurableModel:
    """Return a chat model by name.

    model: "provider:model" ("openai:gpt-4o-mini", "groq:llama-3.3-70b-versatile", "local:smollm2"), or a bare name
        whose provider is given or plain from its beginning ("gpt-…", "claude-…", "gemini-…").
    configurable_fields: which arguments `config={"configurable": {…}}` may set per call: names, or "any" (then callers
        may also choose the endpoint and key: only for callers you trust). Without a model: model and model_provider.
    config_prefix: "first" makes the keys "first_model", "first_temperature" ….
    kwargs: for the constructor (temperature, max_tokens, timeout, max_retries, base_url, api_key …).
    Raises: ValueError for an unknown provider, or a name that does not tell its provider.
    """
    if model is not None and configurable_fields is None:
        return _make(model, model_provider, kwargs)
    fields = configurable_fields if configurable_fields is not None else _NAMES
    given = {"model": model, "model_provider": model_provider, **kwargs}
    defaults = {name: value for name, value in given.items() if value is not None}
    return ConfigurableModel(defaults, fields, f"{config_prefix.removesuffix('_')}_" if config_prefix else "")


def _make(model: str, provider: str | None, kwargs: dict[str, Any]) -> BaseChatModel:
    find, guess = resolve("clew.providers._table:find"), resolve("clew.providers._table:guess")
    name = model
    if provider is None and ":" in model:
        before, _, after = model.partition(":")
        try:
            find(before)
        except ValueError:
            pass  # a colon of the model's own name, as in "llama3:8b"
        else:
            provider, name = before, after
    provider = provider or guess(name)
    if provider is None:
        raise ValueError(f'the provider of {model!r} is not plain from its name: write "provider:{model}"')
    target, arguments = find(provider)
    return resolve(target)(model=name, **arguments, **kwargs)


class ConfigurableModel(Runnable[Any, Any]):
    """A chat model that is chosen at each call, from the call's `configurable` values over the defaults.

    `bind_tools`, `with_structured_output` and `bind` are remembered and done on the model that is chosen.
    """

    __slots__ = ("_defaults", "_fields", "_made", "_prefix", "_steps", "name")

    def __init__(
        self,
        defaults: dict[str, Any],
        fields: Literal["any"] | Sequence[str],
        prefix: str = "",
        steps: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (),
    ) -> None:
        self.name = None
        self._defaults = defaults
        self._fields = fields
        self._prefix = prefix
        self._steps = steps
        self._made: tuple[dict[str, Any], Any] | None = None

    def chosen(self, config: RunnableConfig | None = None) -> Any:
        """Return the model for a config, with what was bound to it.

        Raises: ValueError when neither the config nor the defaults name a model.
        """
        values = inherit(config).get("configurable") or {}
        given = {key.removeprefix(self._prefix): value for key, value in values.items() if key.startswith(self._prefix)}
        if self._fields != "any":
            given = {key: value for key, value in given.items() if key in self._fields}
        else:
            given = {key: value for key, value in given.items() if self._prefix or key not in _NOT_OURS}
        arguments = {**self._defaults, **given}
        if self._made is not None and self._made[0] == arguments:
            return self._made[1]
        wanted = dict(arguments)
        model, provider = wanted.pop("model", None), wanted.pop("model_provider", None)
        if model is None:
            raise ValueError(f"no model chosen: give configurable[{self._prefix + 'model'!r}], or a default")
        made: Any = _make(model, provider, wanted)
        for verb, args, kwargs in self._steps:
            made = getattr(made, verb)(*args, **kwargs)
        self._made = (arguments, made)
        return made

    def _then(self, verb: str, *args: Any, **kwargs: Any) -> ConfigurableModel:
        return ConfigurableModel(self._defaults, self._fields, self._prefix, (*self._steps, (verb, args, kwargs)))

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ConfigurableModel:
        """Return this with tools; see `BaseChatModel.bind_tools`."""
        return self._then("bind_tools", tools, **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> ConfigurableModel:
        """Return this with objects as answers; see `BaseChatModel.with_structured_output`."""
        return self._then("with_structured_output", schema, **kwargs)

    def bind(self, **kwargs: Any) -> ConfigurableModel:
        """Return this with keywords for every call."""
        return self._then("bind", **kwargs)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the answer of the chosen model."""
        return self.chosen(config).invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the answer of the chosen model."""
        return await self.chosen(config).ainvoke(input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[AIMessageChunk]:
        """Yield the answer of the chosen model."""
        return self.chosen(config).stream(input, config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[AIMessageChunk]:
        """Yield the answer of the chosen model."""
        return self.chosen(config).astream(input, config, **kwargs)


_NOT_OURS = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns", "session_id", "user_id"})
