"""What a model says about itself, for tracers and for cache keys."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping


class LangSmithParams(TypedDict, total=False):
    """Facts that tracers show under these names."""

    ls_provider: str
    ls_model_name: str
    ls_model_type: str
    ls_temperature: float | None
    ls_max_tokens: int | None
    ls_stop: list[str] | None
    ls_integration: str


class ModelProfile(TypedDict, total=False):
    """What a model can do; every key may be missing. Sizes are in tokens."""

    name: str
    status: str
    release_date: str
    last_updated: str
    open_weights: bool
    max_input_tokens: int
    max_output_tokens: int
    text_inputs: bool
    image_inputs: bool
    image_url_inputs: bool
    pdf_inputs: bool
    audio_inputs: bool
    video_inputs: bool
    image_tool_message: bool
    pdf_tool_message: bool
    text_outputs: bool
    reasoning_output: bool
    image_outputs: bool
    audio_outputs: bool
    video_outputs: bool
    tool_calling: bool
    tool_choice: bool
    structured_output: bool
    attachment: bool
    temperature: bool


ModelProfileRegistry = dict[str, ModelProfile]

_PLAIN = (str, int, float, bool, type(None), list, tuple, dict)
_serial = itertools.count()


def provider_name(cls: type[Any]) -> str:
    """Return the provider as a class name tells it: ChatOpenAI -> openai."""
    name = cls.__name__
    if name.startswith("Chat"):
        name = name.removeprefix("Chat")
    elif name.endswith("Chat"):
        name = name.removesuffix("Chat")
    elif name.endswith("LLM") and name != "LLM":
        name = name.removesuffix("LLM")
    return name.lower()


def tracing_params(model: Any, kind: str, stop: list[str] | None, kwargs: Mapping[str, Any]) -> LangSmithParams:
    """Return the facts that tracers show, from the call's keywords first and the model's fields second."""
    params: LangSmithParams = {"ls_provider": provider_name(cast("type[Any]", type(model))), "ls_model_type": kind}
    if stop:
        params["ls_stop"] = stop
    name = kwargs.get("model") or getattr(model, "model", None) or getattr(model, "model_name", None)
    if isinstance(name, str):
        params["ls_model_name"] = name
    temperature = kwargs["temperature"] if "temperature" in kwargs else getattr(model, "temperature", None)
    if isinstance(temperature, (int, float)):
        params["ls_temperature"] = temperature
    limit = kwargs["max_tokens"] if "max_tokens" in kwargs else getattr(model, "max_tokens", None)
    if isinstance(limit, int):
        params["ls_max_tokens"] = limit
    return params


def identifying(model: Any) -> dict[str, Any]:
    """Return the fields that make a model answer as it does, as far as they are plain data and no secrets."""
    fields = model.__dict__
    found = {
        name: fields[name] for name in _telling(cast("type[Any]", type(model))) if isinstance(fields.get(name), _PLAIN)
    }
    return {**found, **model.lc_attributes}


@lru_cache(maxsize=512)
def _telling(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields that tell one model of a class from another."""
    return tuple(name for name, field in cls.model_fields.items() if not field.exclude and name != "name")


def canonical(value: Any) -> Any:
    """Return a value whose repr is the same for equal values and differs for others.

    Plain data stays as it is. A class stands for its schema, so two classes of one name are told apart. Of an object
    that only has an address to show, no two are equal, not even the same one twice: what can't be compared is no hit.
    """
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return value
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        items = [canonical(item) for item in cast("list[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, (set, frozenset)):
        return sorted(repr(canonical(item)) for item in cast("set[Any]", value))
    return _canonical_object(value)


def _canonical_object(value: Any) -> Any:
    if isinstance(value, type):
        schema = getattr(value, "model_json_schema", None)
        if schema is not None:
            return {"class": value.__qualname__, "schema": schema()}
        hints = getattr(value, "__annotations__", None)
        return {"class": f"{value.__module__}.{value.__qualname__}", "fields": repr(hints)}
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return {"class": type(value).__qualname__, "fields": canonical(dump())}
    if type(value).__repr__ is object.__repr__ or callable(value):
        return f"<{type(value).__qualname__} #{next(_serial)}>"
    return value


def params_text(params: Mapping[str, Any]) -> str:
    """Return call parameters as text, sorted by name."""
    return str(sorted(((key, canonical(value)) for key, value in params.items()), key=lambda pair: pair[0]))


def llm_string(model: Any, stop: list[str] | None, kwargs: Mapping[str, Any]) -> str:
    """Return a model with all parameters of a call as text.

    Source: models document, `_get_llm_string`: the serialised model, three dashes and the sorted call parameters; for
    models that are not serialisable the sorted parameters alone.
    """
    if model.is_lc_serializable():
        from clew.load import dumps

        return dumps(model) + "---" + params_text({**kwargs, "stop": stop})
    return params_text(model._get_invocation_params(stop=stop, **kwargs))
