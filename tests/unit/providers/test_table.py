"""The table of services, and what it makes of names, addresses and keys."""

from __future__ import annotations

import pytest

from clew import errors
from clew.chat_models import init_chat_model
from clew.providers import _table
from clew.providers.openai import AzureChatOpenAI, ChatOpenAI, OpenAIEmbeddings
from clew.testing._canned import Canned, Reply

OK = b'{"id": "c", "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}'  # noqa: E501 - wire data


@pytest.mark.parametrize("name", sorted(_table.SERVICES))
def test_every_service_makes_a_model(name: str) -> None:
    model = init_chat_model("m", model_provider=name)
    assert isinstance(model, ChatOpenAI) and model.service == name


@pytest.mark.parametrize("alias", sorted(_table.ALIASES))
def test_every_alias_leads_somewhere(alias: str) -> None:
    target, arguments = _table.find(alias)
    assert ":" in target and set(arguments) <= {"service"}


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="groq"):
        _table.find("gruq")
    with pytest.raises(ValueError, match="groq"):
        ChatOpenAI(service="gruq")


def test_names_of_models_tell_their_provider() -> None:
    assert [_table.guess(m) for m in ("gpt-5", "claude-x", "gemini-3", "grok-4", "smollm2", "zork")] == [
        "openai", "anthropic", "google_genai", "xai", "local", None,
    ]  # fmt: skip


def test_a_missing_key_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(errors.ModelAuthenticationError, match="GROQ_API_KEY"):
        ChatOpenAI(service="groq").invoke("x")


def test_a_missing_address_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_TOKEN", "k")
    with pytest.raises(errors.ModelInvalidRequestError, match="base_url"):
        ChatOpenAI(service="databricks").invoke("x")


def test_the_key_comes_from_the_services_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "from-the-environment")
    with Canned([Reply(OK)]) as server:
        assert ChatOpenAI(service="groq", base_url=server.url).invoke("x").response_metadata["model_provider"] == "groq"
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


@pytest.mark.parametrize(("options", "sent"), [
    ({"service": "mistral", "seed": 7, "max_tokens": 5}, {"random_seed": 7, "max_tokens": 5}),
    ({"service": "groq", "seed": 7, "max_tokens": 5}, {"seed": 7, "max_completion_tokens": 5}),
    ({"service": "vllm", "max_tokens": 5}, {"max_tokens": 5}),
])  # fmt: skip
def test_quirks_rename_parameters(options: dict[str, object], sent: dict[str, object]) -> None:
    with Canned([Reply(OK)]) as server:
        ChatOpenAI(model="m", base_url=server.url, api_key="k", **options).invoke("x")
    body = server.requests[0].body
    assert {k: body[k] for k in body if k not in ("model", "messages")} == sent


def test_azure_asks_its_own_addresses() -> None:
    with Canned([Reply(OK)]) as server:
        model = AzureChatOpenAI(model="gpt-x", azure_endpoint=server.url, api_key="k", api_version="2024-10-21")
        assert model.invoke("x").text == "ok"
    (request,) = server.requests
    assert request.path == "/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "k"


def test_headers_and_extra_bodies_survive_a_retry() -> None:
    with Canned([Reply(b"{}", 500, headers={"retry-after": "0.01"}), Reply(OK)]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", default_headers={"x-one": "1"})
        model.invoke("x", extra_headers={"x-two": "2"}, extra_body={"top_k": 3})
    for request in server.requests:
        assert (request.headers["x-one"], request.headers["x-two"], request.body["top_k"]) == ("1", "2", 3)
        assert "extra_body" not in request.body and "extra_headers" not in request.body


def test_more_than_one_answer_can_not_be_streamed() -> None:
    with Canned([Reply(OK)]) as server:
        with pytest.raises(errors.ModelInvalidRequestError, match="n > 1"):
            list(ChatOpenAI(base_url=server.url, api_key="k", n=2).stream("x"))
        assert server.requests == []


def test_parameters_the_responses_wire_lacks_are_refused_before_the_call() -> None:
    with Canned([Reply(OK)]) as server:
        with pytest.raises(errors.ModelInvalidRequestError, match="stop"):
            ChatOpenAI(base_url=server.url, api_key="k", use_responses_api=True).invoke("x", stop=["a"])
        assert server.requests == []


def test_embeddings_use_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOGETHER_API_KEY", raising=False)
    with pytest.raises(errors.ModelAuthenticationError, match="TOGETHER_API_KEY"):
        OpenAIEmbeddings(service="together").embed_query("x")


def test_arguments_that_are_no_field_are_sent_and_not_dropped() -> None:
    with Canned([Reply(OK)]) as server:
        model = ChatOpenAI(base_url=server.url, api_key="k", verbosity="low", model_kwargs={"user": "u"}, tags=["t"])
        model.invoke("x")
    assert (server.requests[0].body["verbosity"], server.requests[0].body["user"]) == ("low", "u")
    assert model.tags == ["t"] and "tags" not in server.requests[0].body


def test_errors_name_the_service() -> None:
    with (
        Canned([Reply(b'{"error": {"message": "busy"}}', 429)]) as server,
        pytest.raises(errors.ModelRateLimitError) as caught,
    ):
        ChatOpenAI(service="groq", base_url=server.url, api_key="k", max_retries=0).invoke("x")
    assert caught.value.provider == "groq" and str(caught.value).startswith("groq: busy")
