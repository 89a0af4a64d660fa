"""An HTTP server on 127.0.0.1 that answers with prepared replies, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Reply:
    """What the server sends.

    size: bytes per chunk of the body, 0 for all at once. cut: drop the connection after the body. wait: seconds before
    the status line. pace: seconds between chunks.
    """

    body: bytes
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    size: int = 0
    cut: bool = False
    wait: float = 0.0
    pace: float = 0.0


@dataclass
class Request:
    """What the server was asked. headers: names in lower case. body: decoded JSON."""

    path: str
    headers: dict[str, str]
    body: Any


class Canned:
    """The server. replies: in order, the last one repeats; a function of the request gives its reply.

    requests: what came. dropped: set when a client went away in the middle of a reply.
    """

    def __init__(self, replies: list[Reply | Callable[[Request], Reply]]) -> None:
        self.replies = replies
        self.requests: list[Request] = []
        self.dropped = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Canned:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def reply_to(self, request: Request) -> Reply:
        """Remember a request and return its reply."""
        with self._lock:
            self.requests.append(request)
            reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        return reply if isinstance(reply, Reply) else reply(request)

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        if seconds:
            self._stop.wait(seconds)


def _handler(canned: Canned) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = canned.reply_to(Request(self.path, headers, json.loads(raw) if raw else None))
            canned.pause(reply.wait)
            try:
                self.send(reply)
            except OSError:
                canned.dropped.set()
                self.close_connection = True

        def send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.kind, "Transfer-Encoding": "chunked", **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            size = reply.size or max(1, len(reply.body))
            for start in range(0, len(reply.body), size):
                piece = reply.body[start : start + size]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                canned.pause(reply.pace)
            if reply.cut:
                self.close_connection = True
                self.connection.shutdown(2)
            else:
                self.wfile.write(b"0\r\n\r\n")

    return Handler
