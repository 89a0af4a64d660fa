"""The child process that holds a local model, and dies with the process that asked for it.

Run by path (`python -P _local_guard.py`), never imported. The first line on standard input is a JSON object with
what to serve; then standard input is only held open: its end, however the parent ended (SIGKILL included), ends the
child. The first line on standard output says "ready URL" or "failed TEXT". The log goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from typing import Any


def main() -> None:
    """Serve until standard input ends."""
    say = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines print on standard output; only our one line may go there
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    try:
        url, stop = ENGINES[order["engine"]](order)
    except BaseException as error:
        print(f"failed {type(error).__name__}: {error}".replace("\n", " "), file=say, flush=True)
        os._exit(1)
    print("ready", url, file=say, flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    stop()
    os._exit(0)


def serve_xllamacpp(order: dict[str, Any]) -> tuple[str, Any]:
    """Serve by llama.cpp's own server inside the xllamacpp extension."""
    import importlib

    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["alias"]}
    params.n_ctx, params.n_parallel = order["context"], order["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.cpuparams.poll = params.cpuparams_batch.poll = 0  # wait for work without spinning
    params.api_keys = [order["key"]]
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    return server.listening_address, lambda: server


def serve_binary(order: dict[str, Any]) -> tuple[str, Any]:
    """Serve by a `llama-server` program; it gets SIGKILL when this process ends (Linux)."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [order["program"], "-m", order["model"], "--alias", order["alias"], "--host", "127.0.0.1"]
    argv += ["--port", str(port), "--jinja", "-c", str(order["context"]), "-np", str(order["slots"])]
    argv += ["-t", str(order["threads"]), "--no-webui"]
    env = {**os.environ, **order["environment"], "LLAMA_API_KEY": order["key"]}
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=env, preexec_fn=_die_with_parent)
    url = f"http://127.0.0.1:{port}"
    while not _healthy(url):
        if child.poll() is not None:
            raise RuntimeError(f"{order['program']} ended with {child.returncode}")
        time.sleep(0.02)
    return url, child.kill


def serve_llama_cpp(order: dict[str, Any]) -> tuple[str, Any]:
    """Serve the llama_cpp package behind the few endpoints that we use, one request at a time."""
    import importlib
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    llama_cpp: Any = importlib.import_module("llama_cpp")
    llm: Any = llama_cpp.Llama(
        order["model"],
        n_ctx=order["context"],
        n_threads=order["threads"],
        n_threads_batch=order["threads"],
        verbose=False,
    )

    handler = _llama_cpp_handler(llm, order["key"], BaseHTTPRequestHandler)
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", server.server_close


def _llama_cpp_handler(llm: Any, key: str, base: Any) -> Any:
    """Return the request handler that asks `llm`."""

    class Handler(base):
        protocol_version = "HTTP/1.0"  # the end of the connection ends the answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers.get("Authorization") != f"Bearer {key}":
                self.reply(401, {"error": {"code": 401, "message": "invalid key"}})
            elif self.path == "/tokenize":
                tokens = llm.tokenize(body["content"].encode(), add_bos=False, special=True)
                self.reply(200, {"tokens": tokens})
            else:
                self.chat(body)

        def chat(self, body: dict[str, Any]) -> None:
            known = {k: v for k, v in body.items() if k in LLAMA_CPP_FIELDS}
            _rename_schema(known)
            try:
                answer = llm.create_chat_completion(**known)
                first = next(answer, None) if body.get("stream") else None
            except ValueError as error:
                long = "context window" in str(error)
                kind = "exceed_context_size_error" if long else "invalid_request_error"
                return self.reply(400, {"error": {"code": 400, "message": str(error), "type": kind}})
            if not body.get("stream"):
                return self.reply(200, answer)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            before, pieces = llm.n_tokens, -2  # the first event has the role, the last the reason
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while first is not None:
                    self.wfile.write(b"data: " + json.dumps(first).encode() + b"\n\n")
                    first, pieces = next(answer, None), pieces + 1
                done = llm.n_tokens
                usage = {
                    "prompt_tokens": max(done - pieces, before - 1),
                    "completion_tokens": pieces,
                    "total_tokens": done,
                }
                self.wfile.write(
                    b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n"
                )
            return None

        def reply(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _rename_schema(body: dict[str, Any]) -> None:
    shape: Any = body.get("response_format") or {}
    if shape.get("type") == "json_schema":
        body["response_format"] = {"type": "json_object", "schema": shape["json_schema"]["schema"]}


LLAMA_CPP_FIELDS = {
    "messages", "tools", "tool_choice", "temperature", "top_p", "top_k", "min_p", "stream", "stop", "seed",
    "max_tokens", "response_format", "presence_penalty", "frequency_penalty", "repeat_penalty", "logit_bias",
    "logprobs", "top_logprobs",
}  # fmt: skip
ENGINES = {"xllamacpp": serve_xllamacpp, "llama-server": serve_binary, "llama_cpp": serve_llama_cpp}


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/health", timeout=1) as reply:
            return reply.status == 200
    except OSError:
        return False


def _die_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


if __name__ == "__main__":
    main()
