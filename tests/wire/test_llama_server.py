"""Our adapters against a real server that speaks three wires: llama.cpp's, with a small model in this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew import errors
from clew.messages import AIMessage, HumanMessage, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.providers import _local_engine
from clew.providers.anthropic import ChatAnthropic
from clew.providers.openai import ChatOpenAI

ADAPTERS: dict[str, Callable[[Any], Any]] = {
    "chat": lambda s: ChatOpenAI(model="smollm2", base_url=s.url + "/v1", api_key=s.key, temperature=0, max_tokens=40),
    "responses": lambda s: ChatOpenAI(
        model="smollm2", base_url=s.url + "/v1", api_key=s.key, temperature=0, max_tokens=40, use_responses_api=True
    ),
    "anthropic": lambda s: ChatAnthropic(model="smollm2", base_url=s.url, api_key=s.key, temperature=0, max_tokens=40),
    "service": lambda s: ChatOpenAI(model="smollm2", service="llama-server", base_url=s.url + "/v1", api_key=s.key, max_tokens=40),  # noqa: E501 - wire data
}  # fmt: skip
ADAPTERS["service responses"] = lambda s: ChatOpenAI(
    model="smollm2",
    service="llama-server",
    base_url=s.url + "/v1",
    api_key=s.key,
    max_tokens=40,
    use_responses_api=True,
)
SCHEMA = {
    "title": "Person", "type": "object", "required": ["name", "age"],
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A running llama.cpp server with the small model."""
    try:
        yield _local_engine.server_for("smollm2", context=4096)
    except errors.MissingDependencyError as error:
        pytest.skip(f"needs a local model: {error}")
    _local_engine.close_all()


@pytest.fixture(params=list(ADAPTERS))
def model(request: pytest.FixtureRequest, server: Any) -> Any:
    return ADAPTERS[request.param](server)


def test_two_turns_stream_with_usage(model: Any, call: Any) -> None:
    history: list[Any] = [HumanMessage("My name is Bob and I am 42. Say hello to me.")]
    used = 0
    for _ in range(2):
        chunks = list(call(model, "stream", history))
        answer = message_chunk_to_message(add_ai_message_chunks(*chunks))
        assert isinstance(answer, AIMessage) and answer.text and answer.usage_metadata is not None
        usage = answer.usage_metadata
        assert usage["input_tokens"] > used and 0 < usage["output_tokens"] <= 40
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert sum(bool(c.text) for c in chunks) > 3
        used = usage["input_tokens"]
        history += [answer, HumanMessage("What did I tell you about me?")]


def test_a_whole_answer_says_the_same(server: Any, call: Any) -> None:
    for name in ("chat", "responses", "anthropic"):
        model = ADAPTERS[name](server)
        streamed = message_chunk_to_message(add_ai_message_chunks(*model.stream("Bob is 42. Say so.")))
        assert call(model, "invoke", "Bob is 42. Say so.").text == streamed.text


@pytest.mark.parametrize("name", ["chat", "service", "service responses"])
def test_answers_follow_a_schema(server: Any, call: Any, name: str) -> None:
    model = ADAPTERS[name](server).with_structured_output(SCHEMA, method="json_schema")
    person = call(model, "invoke", "Bob is 42 years old. Give his name and age as JSON.")
    assert set(person) == {"name", "age"} and isinstance(person["age"], int)


EXAMPLES = [
    ("user", "Alice is 30. Give the JSON."), ("ai", '{"name": "Alice", "age": 30}'),
    ("user", "Eve is 7. Give the JSON."), ("ai", '{"name": "Eve", "age": 7}'), ("user", "Bob is 42. Give the JSON."),
]  # fmt: skip


@pytest.mark.parametrize("method", ["prompted", "json_mode"])
def test_anthropics_wire_gives_objects_that_are_asked_for_in_words(server: Any, call: Any, method: str) -> None:
    """This server's Anthropic endpoint takes no schema (it ignores output_config), so examples show the form."""
    model = ADAPTERS["anthropic"](server).with_structured_output(SCHEMA, method=method, reask=2)
    assert call(model, "invoke", EXAMPLES) == {"name": "Bob", "age": 42}


def test_a_wrong_key_is_told_so(server: Any, call: Any) -> None:
    for make in (
        lambda: ChatOpenAI(model="m", base_url=server.url + "/v1", api_key="wrong"),
        lambda: ChatAnthropic(model="m", base_url=server.url, api_key="wrong"),
    ):
        with pytest.raises(errors.ModelAuthenticationError):
            call(make(), "invoke", "x")


def test_a_prompt_that_is_too_long_is_told_so(server: Any) -> None:
    for name in ("chat", "responses", "anthropic"):
        with pytest.raises(errors.ContextOverflowError):
            ADAPTERS[name](server).invoke("cat " * 5000)
