"""Models by name, fixed or chosen per call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clew.chat_models import ConfigurableModel, init_chat_model
from clew.language_models import ScriptedChatModel
from clew.providers import _table

Call = Callable[..., Any]


class Named(ScriptedChatModel):
    """Answers with its own name and temperature."""

    temperature: float | None = None
    service: str = ""

    def _step(self, messages: Any, stop: Any, kwargs: Any) -> Any:
        super()._step(messages, stop, kwargs)
        return f"{self.service}/{self.model}/{self.temperature}/{sorted(kwargs)}"


@pytest.fixture(autouse=True)
def _every_provider_is_the_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "CLASSES", dict.fromkeys(_table.CLASSES, f"{__name__}:Named"))
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(Named=Named))


@pytest.mark.parametrize(
    ("name", "given", "service", "model"),
    [
        ("openai:gpt-4o-mini", {}, "", "gpt-4o-mini"),
        ("gpt-4o-mini", {}, "", "gpt-4o-mini"),
        ("claude-sonnet-4", {}, "", "claude-sonnet-4"),
        ("groq:llama-3.3-70b", {}, "groq", "llama-3.3-70b"),
        ("llama3:8b", {"model_provider": "ollama"}, "", "llama3:8b"),
        ("ollama:llama3:8b", {}, "", "llama3:8b"),
        ("meta/llama", {"model_provider": "openrouter"}, "openrouter", "meta/llama"),
    ],
)
def test_names_tell_provider_and_model(name: str, given: Any, service: str, model: str, call: Call) -> None:
    made = init_chat_model(name, temperature=0.5, **given)
    assert call(made, "invoke", "x").content == f"{service}/{model}/0.5/[]"


def test_a_name_that_tells_no_provider_says_what_to_write() -> None:
    with pytest.raises(ValueError, match='write "provider:mystery"'):
        init_chat_model("mystery")
    with pytest.raises(ValueError, match="unknown model provider 'nobody'"):
        init_chat_model("x", model_provider="nobody")


def test_without_a_name_the_call_chooses(call: Call) -> None:
    model = init_chat_model(temperature=0)
    assert isinstance(model, ConfigurableModel)
    config = {"configurable": {"model": "gpt-4o"}}
    assert call(model, "invoke", "x", config).content == "/gpt-4o/0.0/[]"
    assert call(model, "invoke", "x", {"configurable": {"model": "groq:l"}}).content == "groq/l/0.0/[]"
    with pytest.raises(ValueError, match="no model chosen"):
        call(model, "invoke", "x")


def test_only_the_named_fields_may_be_set(call: Call) -> None:
    model = init_chat_model("gpt-4o", configurable_fields=["temperature"], config_prefix="first", temperature=0)
    config = {"configurable": {"first_temperature": 1, "first_model": "gpt-5", "temperature": 7, "thread_id": "t"}}
    assert call(model, "invoke", "x", config).content == "/gpt-4o/1.0/[]"
    loose = init_chat_model("gpt-4o", configurable_fields="any")
    given = {"configurable": {"model": "gpt-5", "temperature": 1, "thread_id": "t"}}
    assert call(loose, "invoke", "x", given).content == "/gpt-5/1.0/[]"


def test_what_is_bound_is_bound_to_the_chosen_one(call: Call) -> None:
    def tool(q: str) -> str:
        """A tool."""
        return q

    model = init_chat_model("gpt-4o", configurable_fields=("model",)).bind_tools([tool]).bind(seed=1)
    out = call(model, "invoke", "x", {"configurable": {"model": "gpt-5"}})
    assert out.content == "/gpt-5/None/['seed', 'tools']"
    assert "".join(chunk.text for chunk in model.stream("x")) == "/gpt-4o/None/['seed', 'tools']"


def test_the_ambient_config_chooses_too() -> None:
    from clew.runnables import RunnableLambda

    model = init_chat_model("gpt-4o", configurable_fields=("model",))
    chain = RunnableLambda(lambda x: model.invoke(x).content)
    assert chain.invoke("x", {"configurable": {"model": "gpt-5"}}) == "/gpt-5/None/[]"
