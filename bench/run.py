"""`make bench`: what clew costs beside its peers. `make bench PEERS=1` measures the peers here and now.

Without PEERS=1 the peers' column is recorded (`peers.json` says when and with which versions), and labelled
so. CPU of one process; compare columns with each other: a machine under load moves both.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
PEERS = [
    "langchain-core",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-classic",
    "langchain-community",
    "sqlalchemy[asyncio]",
]
CORE = "from clew.language_models import BaseChatModel; from clew.func import entrypoint"
PACKAGES = "import clew.language_models, clew.func, clew.memory"
PEER_CORE = CORE.replace("clew.language", "langchain_core.language").replace("clew.func", "langgraph.func")


def cpu_of_import(python, modules):
    """Median CPU milliseconds of an import in a process of its own."""
    code = f"import time; t = time.process_time(); {modules}; print((time.process_time() - t) * 1e3)"
    found = [
        float(subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(7)
    ]
    return sorted(found)[3]


def measure(python, side, env):
    """Every row of one side, by name."""
    child = subprocess.Popen([python, str(HERE / "rows.py"), side], stdout=subprocess.PIPE, text=True, env=env)
    rows = {}
    for line in child.stdout:
        found = json.loads(line)
        rows[found.pop("row")] = found
        print(f"  {side}: {line.strip()}", file=sys.stderr)
    child.wait()
    return rows


def imports(python, modules):
    """Milliseconds, and how many times pydantic's own."""
    try:
        ours, base = cpu_of_import(python, modules), cpu_of_import(python, "import pydantic")
    except subprocess.CalledProcessError as error:
        return {"error": error.stderr.strip().splitlines()[-1][:200]}
    return {"ms": ours, "times_pydantic": ours / base}


def peers_here():
    """Install the peers into an environment of their own and measure them."""
    home = ROOT / ".venv-peers"
    python = str(home / "bin" / "python")
    if not home.exists():
        print("installing the peers into .venv-peers", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
    env = os.environ | {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
    rows = measure(python, "peer", env) | {"imports": imports(python, PEER_CORE)}
    frozen = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    versions = [line for line in frozen.split() if line.split("==")[0] in PEERS]
    return rows, "measured here, " + ", ".join(versions)


# what | row | how to show a found value | goal
TABLE = [
    ("names of models and workflows imported, over `import pydantic`", "imports", "{times_pydantic:.1f} ×", ""),
    ("the packages alone (they are lazy)", "packages", "{times_pydantic:.1f} ×", "≤ 2.5 ×"),
    ("`model.invoke` over the model's own time", "invoke", "{us:.1f} µs", "≤ 10 µs"),
    ("stream, per chunk, over the model's own", "stream", "{us:.2f} µs", "≤ 1 µs"),
    ("the same, async", "stream", "{async_us:.2f} µs", "≤ 2 µs"),
    ("prompt \\| model \\| parser", "chain", "{us:.0f} µs, {calls} calls", "≤ 30 µs, ≤ 60 calls"),
    ("10,000 tool-call fragments merged", "fragments", "{ms:.0f} ms", "≤ 50 ms"),
    (
        "history turn at 10,000 messages, loading included: memory",
        "history",
        "{memory[turn_ms]:.1f} ms",
        "≤ 1 ms over loading",
    ),
    ("… SQLite", "history", "{sqlite[turn_ms]:.0f} ms", "≤ 1 ms over loading"),
    ("… file", "history", "{file[turn_ms]:.0f} ms", "≤ 1 ms over loading"),
    (
        "pruning by tokens: messages counted per message",
        "pruning",
        "{messages_counted_per_message:.3f}",
        "≤ 1",
    ),
    ("… cost per message at 1,000 over that at 250", "pruning", "{growth:.1f} ×", "about 1 ×"),
    ("task, no saver", "tasks", "{none:.1f} µs", "≤ 8 µs"),
    ("task, in memory", "tasks", "{memory:.1f} µs", "≤ 15 µs"),
    ("task, SQLite", "tasks", "{sqlite:.1f} µs", "≤ 40 µs"),
    ("task, Postgres", "tasks", "{postgres:.0f} µs", "≤ 150 µs"),
    ("replay per finished task", "replay", "{us:.1f} µs", "≤ 3 µs"),
    ("thread of 400 turns via `previous`, on disk", "thread_on_disk", "{mb:.2f} MB", "≤ 0.3 MB"),
    ("graph step with growing messages, SQLite, at 400 steps", "graph_step", "{us:.0f} µs", "≤ 100 µs"),
    ("… over that at 25 steps", "graph_step", "{growth:.1f} ×", "about 1 ×"),
    ("agent turn (create_react_agent, fake model)", "agent_turn", "{us:.0f} µs", "≤ 150 µs"),
    ("vector memory search in 10,000", "vector_search", "{ms:.2f} ms", "≤ 1 ms"),
]


def show(found, form):
    """A found value in its form; what stood in the way when there is none."""
    if not found:
        return "–"
    if "error" in found:
        return f"not measured ({found['error'].split(':')[0]})"
    with contextlib.suppress(KeyError):
        return form.format(**found)
    return "–"


def main():
    sys.path.insert(0, str(ROOT / "tests"))
    import servers

    with contextlib.ExitStack() as stack:
        env = dict(os.environ)
        try:
            env["BENCH_POSTGRES_URL"] = stack.enter_context(servers.database(stack.enter_context(servers.postgres())))
        except servers.Missing as reason:
            print(f"no Postgres row: {reason}", file=sys.stderr)
        ours = measure(sys.executable, "ours", env)
        ours |= {"imports": imports(sys.executable, CORE), "packages": imports(sys.executable, PACKAGES)}
    if "--peers" in sys.argv:
        peers, source = peers_here()
    else:
        recorded = json.loads((HERE / "peers.json").read_text())
        peers, source = recorded["rows"], f"recorded {recorded['date']}: {recorded['versions']}"
    print(f"\nPeers: {source}.\n\n| what | peers | clew | goal |\n|---|---|---|---|")
    for what, name, form, goal in TABLE:
        print(f"| {what} | {show(peers.get(name), form)} | {show(ours.get(name), form)} | {goal} |")
    if "--json" in sys.argv:
        print(json.dumps({"ours": ours, "peers": peers}))


if __name__ == "__main__":
    main()
