"""Which model a command speaks with."""

from __future__ import annotations

import pytest

from clew.cli import _models as models


@pytest.fixture
def no_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_try_local", lambda: "MissingDependencyError: no engine")
    for name in ("CLEW_MODEL", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_what_the_user_names_is_taken_as_it_is() -> None:
    assert models.choose("openai:gpt-4o").spec == "openai:gpt-4o"


def test_the_local_model_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_try_local", lambda: None)
    monkeypatch.setenv("CLEW_MODEL", "openai:other")
    found = models.choose()
    assert found.spec == "local:smollm2"
    assert found.why_not_local is None


@pytest.mark.usefixtures("no_local")
def test_without_a_local_model_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    found = models.choose()
    assert found.spec == "openai:gpt-4o-mini"
    assert "OPENAI_BASE_URL" in found.label
    monkeypatch.setenv("CLEW_MODEL", "ollama:llama3")
    assert models.choose().spec == "ollama:llama3"


@pytest.mark.usefixtures("no_local")
def test_without_any_model_the_script_says_that_it_is_one_and_why() -> None:
    found = models.choose()
    assert found.is_scripted
    assert "SCRIPTED" in found.label
    assert found.why_not_local == "MissingDependencyError: no engine"


def test_the_scripted_model_streams_its_text() -> None:
    chunks = list(models.open_model("scripted", "one two").stream("anything"))
    assert "".join(str(c.content) for c in chunks) == "one two"
    assert len(chunks) > 1
