"""What every chat model over a wire must do, as tests to inherit.

    class MyWire(ProviderWire):
        def make(self, url, **options): return ChatMine(base_url=url, api_key="k", **options)
        def whole(self, said): ...          # the provider's reply that says it
        def stream(self, said, *, end=True): ...
        def error(self, status, text, headers): ...
        ...

    class TestMine(ProviderConformance):
        wire = MyWire()

Replies come from a server on 127.0.0.1, so no key and no network are needed. Each test runs on both faces. What a
provider has no notion of (`reasoning`, `tool_choice` …) is left out of `wire.can`, and its tests are skipped.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from clew import errors
from clew.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.testing._canned import Canned, Reply, Request
from clew.testing._faces import Face

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Canned", "ProviderConformance", "ProviderWire", "Reply", "Request", "Said", "Sent"]


@dataclass
class Said:
    """What a provider is to say. texts: pieces of the answer. calls: (id, name, arguments). usage: (in, out) tokens."""

    texts: tuple[str, ...] = ("ok",)
    reasoning: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    usage: tuple[int, int] = (21, 9)


@dataclass
class Sent:
    """What a request asks. turns: (role, text), roles "system", "user", "assistant". tools: name -> JSON schema."""

    turns: list[tuple[str, str]] = field(default_factory=list)
    tools: dict[str, Any] = field(default_factory=dict)
    stop: list[str] | None = None
    temperature: float | None = None
    key: str = ""


class ProviderWire:
    """A provider's wire, as the tests need it. can: what it has a notion of."""

    provider: str = ""
    can: frozenset[str] = frozenset(
        {"reasoning", "tools", "tool_choice", "json_schema", "stop", "key", "images", "call_ids"}
    )

    def make(self, url: str, **options: Any) -> Any:
        """Return the chat model, talking to url. options: temperature, max_retries, timeout, api_key."""
        raise NotImplementedError

    def asks_stream(self, request: Request) -> bool:
        """Tell whether a request wants a stream."""
        raise NotImplementedError

    def whole(self, said: Said) -> Reply:
        """Return the reply that says it at once."""
        raise NotImplementedError

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        """Return the reply that says it piece by piece; with end=False without whatever closes the answer."""
        raise NotImplementedError

    def error(self, status: int, text: str, headers: dict[str, str]) -> Reply:
        """Return an error reply."""
        raise NotImplementedError

    def sent(self, request: Request) -> Sent:
        """Return what a request asks."""
        raise NotImplementedError

    def saying(self, said: Said) -> Callable[[Request], Reply]:
        """Return a reply that suits the way of asking."""
        return lambda request: self.stream(said) if self.asks_stream(request) else self.whole(said)


WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}
JOKE: dict[str, Any] = {
    "title": "Joke", "description": "A joke.", "type": "object", "required": ["setup"],
    "properties": {"setup": {"type": "string"}, "rating": {"type": "integer"}},
}  # fmt: skip
TEXTS = ("从前", "有座🏔️山", "\n\ndata: x", " end")
CALLS = (("c1", "get_weather", {"place": "北京"}), ("c2", "get_weather", {"place": 'a"b'}))


class _Base:
    wire: ClassVar[ProviderWire]
    faces: ClassVar[tuple[str, ...]] = ("blocking", "awaited")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test once per face."""
        if "face" in metafunc.fixturenames:
            metafunc.parametrize("face", self.faces, indirect=True)

    @pytest.fixture
    def face(self, request: pytest.FixtureRequest) -> Iterator[Face]:
        """Give a way of calling."""
        face = Face(request.param)
        yield face
        face.close()

    def needs(self, *what: str) -> None:
        """Skip when the wire has no notion of it."""
        for one in what:
            if one not in self.wire.can:
                pytest.skip(f"{self.wire.provider} has no notion of {one}")

    def ask(self, face: Face, said: Said | None = None, prompt: Any = "q", /, **options: Any) -> tuple[AIMessage, Sent]:
        """Return the answer to a prompt, and what was sent for it."""
        with Canned([self.wire.saying(said or Said())]) as server:
            message = face(self.wire.make(server.url, max_retries=0, **options), "invoke", prompt)
        assert len(server.requests) == 1
        return message, self.wire.sent(server.requests[0])

    def chunks(self, face: Face, said: Said, *, bind: Any = None, **reply: Any) -> list[AIMessageChunk]:
        """Return the chunks of a streamed answer."""
        prepared = self.wire.stream(said)
        for name, value in reply.items():
            setattr(prepared, name, value)
        with Canned([prepared]) as server:
            model = self.wire.make(server.url, max_retries=0)
            return face(model.bind_tools(bind) if bind else model, "stream", "q")

    def fails(self, face: Face, reply: Reply, method: str = "invoke", **options: Any) -> errors.ModelError:
        """Return the error of a call."""
        with (
            Canned([reply]) as server,
            pytest.raises(errors.ModelError) as caught,
        ):
            face(self.wire.make(server.url, **{"max_retries": 0, **options}), method, "q")
        return caught.value


def total(chunks: list[AIMessageChunk]) -> AIMessage:
    """Return the message that chunks add up to."""
    message = message_chunk_to_message(add_ai_message_chunks(*chunks))
    assert isinstance(message, AIMessage)
    return message


def thoughts(message: AIMessage) -> str:
    """Return the reasoning in a message."""
    blocks: Any = message.content_blocks
    return "".join(str(b.get("reasoning", "")) for b in blocks if b["type"] == "reasoning")


class AnswerConformance(_Base):
    """Whole answers: text, usage, metadata, and what the request carries."""

    def test_an_answer_is_an_ai_message(self, face: Face) -> None:
        message, _ = self.ask(face, Said(("hello",)))
        assert type(message) is AIMessage and message.content == "hello" and message.tool_calls == []

    def test_any_text_comes_through(self, face: Face) -> None:
        message, _ = self.ask(face, Said(("你好, 世界 🌍\u2028\x7f \\ \" '",)))
        assert message.text == "你好, 世界 🌍\u2028\x7f \\ \" '"

    def test_an_empty_answer_is_empty_text(self, face: Face) -> None:
        message, _ = self.ask(face, Said(("",)))
        assert message.text == "" and message.tool_calls == []

    def test_usage_is_counted(self, face: Face) -> None:
        usage = self.ask(face, Said(usage=(21, 9)))[0].usage_metadata
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (21, 9, 30)

    def test_metadata_names_model_provider_and_reason(self, face: Face) -> None:
        facts = self.ask(face)[0].response_metadata
        assert facts["model"] and facts["finish_reason"] and facts["model_provider"]

    def test_roles_keep_their_order(self, face: Face) -> None:
        _, sent = self.ask(face, None, [("user", "a"), ("ai", "b"), ("user", "c")])
        assert sent.turns == [("user", "a"), ("assistant", "b"), ("user", "c")]

    def test_a_system_message_is_sent_as_one(self, face: Face) -> None:
        _, sent = self.ask(face, None, [SystemMessage("be kind"), HumanMessage("hi")])
        assert sent.turns == [("system", "be kind"), ("user", "hi")]

    def test_blocks_of_text_are_sent(self, face: Face) -> None:
        _, sent = self.ask(face, None, [HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])])
        assert sent.turns == [("user", "ab")]

    def test_parameters_of_the_constructor_are_sent(self, face: Face) -> None:
        assert self.ask(face, temperature=0.25)[1].temperature == 0.25

    def test_zero_is_a_value(self, face: Face) -> None:
        assert self.ask(face, temperature=0)[1].temperature == 0

    def test_what_is_unset_is_not_sent(self, face: Face) -> None:
        assert self.ask(face)[1].temperature is None and self.ask(face)[1].tools == {}

    def test_keywords_of_a_call_win(self, face: Face) -> None:
        with Canned([self.wire.saying(Said())]) as server:
            face(self.wire.make(server.url, temperature=0.1), "invoke", "q", temperature=0.9)
        assert self.wire.sent(server.requests[0]).temperature == 0.9

    def test_stop_words_are_sent(self, face: Face) -> None:
        self.needs("stop")
        with Canned([self.wire.saying(Said())]) as server:
            face(self.wire.make(server.url), "invoke", "q", stop=["END", "。"])
        assert self.wire.sent(server.requests[0]).stop == ["END", "。"]

    def test_the_key_is_sent_and_never_shown(self, face: Face) -> None:
        self.needs("key")
        with Canned([self.wire.saying(Said())]) as server:
            model = self.wire.make(server.url, api_key="sk-secret-7")
            face(model, "invoke", "q")
        assert self.wire.sent(server.requests[0]).key == "sk-secret-7"
        assert "sk-secret-7" not in repr(model) + str(model)

    def test_the_callers_messages_are_not_changed(self, face: Face) -> None:
        messages = [SystemMessage("s"), HumanMessage([{"type": "text", "text": "a"}])]
        before = [m.model_copy(deep=True) for m in messages]
        self.ask(face, None, messages)
        assert messages == before

    def test_an_image_is_sent_or_refused_before_the_call(self, face: Face) -> None:
        image = HumanMessage(
            [{"type": "text", "text": "what?"}, {"type": "image", "base64": "QUJD", "mime_type": "image/png"}]
        )
        with Canned([self.wire.saying(Said())]) as server:
            model = self.wire.make(server.url, max_retries=0)
            if "images" in self.wire.can:
                face(model, "invoke", [image])
                assert "QUJD" in json.dumps(server.requests[0].body)
            else:
                with pytest.raises(errors.ModelInvalidRequestError):
                    face(model, "invoke", [image])
                assert server.requests == []

    def test_content_no_wire_knows_is_refused_before_the_call(self, face: Face) -> None:
        with (
            Canned([self.wire.saying(Said())]) as server,
            pytest.raises(errors.ModelInvalidRequestError, match="hologram"),
        ):
            face(self.wire.make(server.url), "invoke", [HumanMessage([{"type": "hologram", "base64": "QUJD"}])])
        assert server.requests == []

    def test_a_batch_keeps_its_order(self, face: Face) -> None:
        def answer(request: Request) -> Reply:
            return self.wire.saying(Said(("re:" + self.wire.sent(request).turns[-1][1],)))(request)

        with Canned([answer]) as server:
            out = face(self.wire.make(server.url), "batch", [f"q{i}" for i in range(6)])
        assert [m.text for m in out] == [f"re:q{i}" for i in range(6)]

    def test_reasoning_stays_apart_from_the_text(self, face: Face) -> None:
        self.needs("reasoning")
        message, _ = self.ask(face, Said(("42",), reasoning=("let me ", "see")))
        assert message.text == "42" and thoughts(message) == "let me see"

    def test_reasoning_alone_is_marked(self, face: Face) -> None:
        self.needs("reasoning")
        message, _ = self.ask(face, Said((), reasoning=("hmm",)))
        assert message.text == "" and thoughts(message) == "hmm" and message.response_metadata["no_final_text"] is True


class StreamConformance(_Base):
    """Streams: pieces, sums, usage once, cut bytes, closing, breaking."""

    def test_a_stream_is_asked_for(self, face: Face) -> None:
        with Canned([self.wire.stream(Said())]) as server:
            face(self.wire.make(server.url), "stream", "q")
        assert self.wire.asks_stream(server.requests[0])

    def test_pieces_come_as_they_were_sent(self, face: Face) -> None:
        assert [c.text for c in self.chunks(face, Said(TEXTS)) if c.text] == list(TEXTS)

    def test_the_sum_is_the_whole_answer(self, face: Face) -> None:
        streamed, whole = total(self.chunks(face, Said(TEXTS))), self.ask(face, Said(TEXTS))[0]
        assert streamed.content == whole.content and streamed.usage_metadata == whole.usage_metadata
        assert streamed.response_metadata["finish_reason"] == whole.response_metadata["finish_reason"]

    def test_usage_is_counted_once(self, face: Face) -> None:
        usage = total(self.chunks(face, Said(TEXTS, usage=(713, 4)))).usage_metadata
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (713, 4, 717)

    def test_metadata_comes_once(self, face: Face) -> None:
        chunks = self.chunks(face, Said(TEXTS))
        assert sum("finish_reason" in c.response_metadata for c in chunks) == 1
        assert total(chunks).response_metadata["model"]

    def test_the_last_chunk_says_so(self, face: Face) -> None:
        chunks = self.chunks(face, Said(TEXTS))
        assert [c.chunk_position for c in chunks].count("last") == 1 and chunks[-1].chunk_position == "last"

    @pytest.mark.parametrize("size", [1, 3, 7])
    def test_bytes_may_be_cut_anywhere(self, face: Face, size: int) -> None:
        chunks = self.chunks(face, Said(TEXTS), size=size)
        assert [c.text for c in chunks if c.text] == list(TEXTS)

    def test_a_stream_that_breaks_off_is_an_error_with_the_part(self, face: Face) -> None:
        reply = self.wire.stream(Said(TEXTS), end=False)
        reply.cut = True
        error = self.fails(face, reply, "stream")
        assert isinstance(error, errors.ModelConnectionError) and error.is_retryable
        assert error.partial is not None and error.partial.text == "".join(TEXTS)

    def test_a_stream_that_just_ends_is_an_error_too(self, face: Face) -> None:
        error = self.fails(face, self.wire.stream(Said(TEXTS), end=False), "stream")
        assert isinstance(error, errors.ModelConnectionError) and error.partial.text == "".join(TEXTS)

    def test_closing_a_stream_closes_the_providers(self) -> None:
        reply = self.wire.stream(Said(("x" * 50,) * 400))
        reply.size, reply.pace = 200, 0.01
        with Canned([reply, self.wire.saying(Said(("again",)))]) as server:
            model = self.wire.make(server.url, max_retries=0)
            stream = model.stream("q")
            assert next(stream) is not None
            stream.close()
            assert server.dropped.wait(10)
            assert model.invoke("q").text == "again"

    def test_reasoning_is_streamed_apart(self, face: Face) -> None:
        self.needs("reasoning")
        message = total(self.chunks(face, Said(("4", "2"), reasoning=("let me ", "see"))))
        assert message.text == "42" and thoughts(message) == "let me see"
        blocks: Any = message.content_blocks
        assert [b["type"] for b in blocks] == ["reasoning", "text"]

    def test_handlers_hear_each_token_once(self, face: Face) -> None:
        from clew.callbacks import BaseCallbackHandler

        heard: list[str] = []

        class Ear(BaseCallbackHandler):
            def on_llm_new_token(self, token: Any, **_: Any) -> None:
                heard.append(token)

            def on_llm_end(self, response: Any, **_: Any) -> None:
                heard.append("end")

        with Canned([self.wire.stream(Said(("a", "b")))]) as server:
            face(self.wire.make(server.url), "stream", "q", config={"callbacks": [Ear()]})
        assert [h for h in heard if h] == ["a", "b", "end"]


class ToolConformance(_Base):
    """Tools: schemas out, calls in, results back, structured output."""

    def bound(self, face: Face, said: Said, **options: Any) -> tuple[AIMessage, Sent]:
        """Ask with a tool bound."""
        self.needs("tools")
        with Canned([self.wire.saying(said)]) as server:
            message = face(self.wire.make(server.url).bind_tools([WEATHER], **options), "invoke", "q")
        return message, self.wire.sent(server.requests[0])

    def test_a_tool_is_sent_with_its_schema(self, face: Face) -> None:
        _, sent = self.bound(face, Said())
        assert set(sent.tools) == {"get_weather"} and sent.tools["get_weather"]["required"] == ["place"]

    def test_a_call_comes_back(self, face: Face) -> None:
        message, _ = self.bound(face, Said((), calls=CALLS[:1]))
        (call,) = message.tool_calls
        assert (call["name"], call["args"], message.text) == ("get_weather", {"place": "北京"}, "")
        assert call["id"] == "c1" if "call_ids" in self.wire.can else call["id"]

    def test_parallel_calls_have_ids_of_their_own(self, face: Face) -> None:
        message, _ = self.bound(face, Said((), calls=CALLS))
        assert [c["args"] for c in message.tool_calls] == [c[2] for c in CALLS]
        assert len({c["id"] for c in message.tool_calls}) == 2

    def test_text_and_a_call_both_come(self, face: Face) -> None:
        message, _ = self.bound(face, Said(("I'll look.",), calls=CALLS[:1]))
        assert message.text == "I'll look." and len(message.tool_calls) == 1

    @pytest.mark.parametrize("size", [0, 5])
    def test_streamed_calls_add_up(self, face: Face, size: int) -> None:
        self.needs("tools")
        message = total(self.chunks(face, Said((), calls=CALLS), bind=[WEATHER], size=size))
        assert [(c["name"], c["args"]) for c in message.tool_calls] == [c[1:] for c in CALLS]
        assert message.invalid_tool_calls == []

    def test_half_a_call_is_no_call(self, face: Face) -> None:
        self.needs("tools")
        sum_so_far: Any = None
        for chunk in self.chunks(face, Said((), calls=CALLS), bind=[WEATHER]):
            sum_so_far = chunk if sum_so_far is None else sum_so_far + chunk
            assert all(call["args"] in [c[2] for c in CALLS] for call in sum_so_far.tool_calls)

    def test_results_go_back(self, face: Face) -> None:
        self.needs("tools")
        call: Any = {"name": "get_weather", "args": {"place": "北京"}, "id": "c1", "type": "tool_call"}
        history = [
            HumanMessage("q"),
            AIMessage("", tool_calls=[call]),
            ToolMessage("晴天25度", tool_call_id="c1", name="get_weather"),
        ]
        with Canned([self.wire.saying(Said(("sunny",)))]) as server:
            assert face(self.wire.make(server.url).bind_tools([WEATHER]), "invoke", history).text == "sunny"
        body = json.dumps(server.requests[0].body, ensure_ascii=False)
        assert "晴天25度" in body and "北京" in body

    def test_an_answer_of_its_own_can_be_sent_back(self, face: Face) -> None:
        self.needs("tools")
        message, _ = self.bound(
            face, Said(("I'll look.",), reasoning=("hmm",) if "reasoning" in self.wire.can else (), calls=CALLS)
        )
        results = [
            ToolMessage(f"r{i}", tool_call_id=c["id"] or "", name=c["name"]) for i, c in enumerate(message.tool_calls)
        ]
        _, sent = self.ask(face, None, [HumanMessage("q"), message, *results])
        assert any("I'll look." in text for _, text in sent.turns)

    @pytest.mark.parametrize("choice", ["auto", "any", "get_weather"])
    def test_a_tool_choice_is_accepted(self, face: Face, choice: str) -> None:
        self.needs("tool_choice")
        assert self.bound(face, Said(), tool_choice=choice)[1].tools

    def test_structured_output_by_a_call(self, face: Face) -> None:
        self.needs("tools")
        said = Said((), calls=(("c1", "Joke", {"setup": "why", "rating": 3}),))
        with Canned([self.wire.saying(said)]) as server:
            model = self.wire.make(server.url).with_structured_output(JOKE, method="function_calling")
            assert face(model, "invoke", "q") == {"setup": "why", "rating": 3}
        assert "Joke" in self.wire.sent(server.requests[0]).tools

    def test_structured_output_by_a_schema(self, face: Face) -> None:
        self.needs("json_schema")
        with Canned([self.wire.saying(Said(('{"setup": "why", ', '"rating": 3}')))]) as server:
            model = self.wire.make(server.url).with_structured_output(JOKE, method="json_schema")
            assert face(model, "invoke", "q") == {"setup": "why", "rating": 3}
        assert '"rating"' in json.dumps(server.requests[0].body)

    def test_plain_text_is_no_structured_output(self, face: Face) -> None:
        self.needs("tools")
        with Canned([self.wire.saying(Said(("no idea",)))]) as server, pytest.raises(errors.OutputParserException):
            face(self.wire.make(server.url).with_structured_output(JOKE, method="function_calling"), "invoke", "q")


class ErrorConformance(_Base):
    """Errors: one tree, what the provider said, and retries that listen."""

    @pytest.mark.parametrize(("status", "cls"), [
        (400, errors.ModelInvalidRequestError), (401, errors.ModelAuthenticationError),
        (403, errors.ModelPermissionDeniedError), (404, errors.ModelNotFoundError),
        (429, errors.ModelRateLimitError), (500, errors.ModelAPIError), (503, errors.ModelOverloadedError),
    ])  # fmt: skip
    def test_a_status_has_its_class(self, face: Face, status: int, cls: type[errors.ModelError]) -> None:
        error = self.fails(face, self.wire.error(status, "reason 7", {}))
        assert isinstance(error, cls) and error.status_code == status and error.provider == self.wire.provider
        assert "reason 7" in str(error) and error.is_retryable is (status in (429, 500, 503))

    @pytest.mark.parametrize("method", ["invoke", "stream"])
    def test_errors_of_streams_are_the_same(self, face: Face, method: str) -> None:
        error = self.fails(face, self.wire.error(404, "no such model", {}), method)
        assert isinstance(error, errors.ModelNotFoundError) and "no such model" in str(error)

    def test_the_time_to_wait_is_read(self, face: Face) -> None:
        assert self.fails(face, self.wire.error(429, "slow down", {"Retry-After": "7"})).retry_after == 7.0

    def test_a_context_overflow_is_told_apart(self, face: Face) -> None:
        text = "This model's maximum context length is 8192 tokens, prompt is too long"
        assert isinstance(self.fails(face, self.wire.error(400, text, {})), errors.ContextOverflowError)

    def test_a_used_up_quota_is_not_worth_a_retry(self, face: Face) -> None:
        text = "You exceeded your current quota, please check your plan and billing details. PerDay"
        error = self.fails(face, self.wire.error(429, text, {}))
        assert isinstance(error, errors.ModelQuotaError) and not error.is_retryable

    @pytest.mark.parametrize("method", ["invoke", "stream"])
    def test_a_failure_that_passes_is_tried_again(self, face: Face, method: str) -> None:
        replies: list[Any] = [
            self.wire.error(429, "busy", {"Retry-After": "0.01"}),
            self.wire.error(500, "oops", {"Retry-After": "0.01"}),
        ]
        with Canned([*replies, self.wire.saying(Said(("done",)))]) as server:
            out = face(self.wire.make(server.url, max_retries=2), method, "q")
        assert (out if method == "invoke" else total(out)).text == "done" and len(server.requests) == 3

    def test_retries_wait_as_told(self, face: Face) -> None:
        with Canned([self.wire.error(429, "busy", {"Retry-After": "0.3"}), self.wire.saying(Said())]) as server:
            start = time.perf_counter()
            face(self.wire.make(server.url, max_retries=1), "invoke", "q")
        assert time.perf_counter() - start >= 0.29

    def test_retries_end(self, face: Face) -> None:
        replies = [self.wire.error(503, "busy", {"Retry-After": "0.01"})]
        with Canned([*replies]) as server, pytest.raises(errors.ModelOverloadedError):
            face(self.wire.make(server.url, max_retries=2), "invoke", "q")
        assert len(server.requests) == 3

    def test_a_bad_request_is_not_tried_again(self, face: Face) -> None:
        with Canned([self.wire.error(400, "bad", {})]) as server, pytest.raises(errors.ModelInvalidRequestError):
            face(self.wire.make(server.url, max_retries=3), "invoke", "q")
        assert len(server.requests) == 1

    def test_nobody_there(self, face: Face) -> None:
        with Canned([self.wire.saying(Said())]) as server:
            model = self.wire.make(server.url, max_retries=0)
        with pytest.raises(errors.ModelConnectionError):
            face(model, "invoke", "q")

    def test_no_answer_in_time(self, face: Face) -> None:
        slow = self.wire.whole(Said())
        slow.wait = 5.0
        assert isinstance(self.fails(face, slow, timeout=0.2), errors.ModelTimeoutError)


class ProviderConformance(AnswerConformance, StreamConformance, ToolConformance, ErrorConformance):
    """All of it."""
