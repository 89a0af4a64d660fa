"""A small HTTP server that answers with recorded exchanges, badly when asked to.

    /case/PROVIDER/NAME/any/path                        the recorded answer, whatever is sent
    /~split=bytes:3;fail=429,500;id=x/case/…            with faults

Faults: split=bytes:N (how the body is cut into chunks), fail=STATUS,… (answered first, counted by id), retry_after=S,
drop_after=N (the connection is dropped after N bytes of the body).
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import recorded


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; yields the address."""
    counts: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            first, _, rest = unquote(self.path).lstrip("/").partition("/")
            faults: dict[str, str] = {}
            if first.startswith("~"):
                faults = dict(pair.split("=", 1) for pair in first[1:].split(";"))
                rest = rest.partition("/")[2]
            provider, name = rest.split("/")[:2]
            wanted = [s for s in faults.get("fail", "").split(",") if s]
            key = faults.get("id", "")
            counts[key] = counts.get(key, 0) + 1
            if counts[key] <= len(wanted):
                self.fail(int(wanted[counts[key] - 1]), faults)
            else:
                self.answer(recorded.load(f"{provider}/{name}"), faults)

        def fail(self, status: int, faults: dict[str, str]) -> None:
            data = json.dumps({"type": "error", "error": {"type": "error", "message": f"fault {status}"}}).encode()
            self.send_response(status)
            self.send_header("Retry-After", faults.get("retry_after", "0"))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer(self, ex: recorded.Exchange, faults: dict[str, str]) -> None:
            data = ex["response"]["body_text"].encode()
            size = int(faults.get("split", "bytes:65536").removeprefix("bytes:"))
            cut = faults.get("drop_after")
            self.send_response(ex["response"]["status"])
            self.send_header("Content-Type", ex["response"]["headers"].get("content-type", "application/json"))
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            sent = data[: int(cut)] if cut is not None else data
            with contextlib.suppress(OSError):
                for i in range(0, len(sent), size):
                    piece = sent[i : i + size]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if cut is None:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True
                    self.connection.shutdown(2)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
