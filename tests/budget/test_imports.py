"""`import clew` stays cheap: a bounded multiple of pydantic's own cost, and nothing unneeded is loaded."""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys

import pytest

CORE = "import clew.language_models, clew.func, clew.memory"
# packages are lazy, so the names are what costs
NAMES = """
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, HumanMessage
from clew.func import entrypoint, task
from clew.memory import ConversationBufferMemory
"""
# what a pydantic model of one field has loaded already
BEFORE = "import json, sys, msgspec, pydantic\npydantic.create_model('M', x=(int, 1))()"
# stdlib and third-party modules that a program which only defines models and workflows must not pay for
UNWANTED = {
    "asyncio", "sqlite3", "socket", "ssl", "http", "urllib.request", "subprocess", "multiprocessing",
    "numpy", "openai", "anthropic", "google.genai", "ollama", "xllamacpp", "llama_cpp", "httpx", "aiohttp",
    "psycopg", "redis", "sqlalchemy", "pymongo", "boto3", "jinja2", "tiktoken", "tokenizers", "yaml", "rich",
    "fastapi", "uvicorn", "opentelemetry", "cryptography", "requests", "typer", "clew.tracers",
}  # fmt: skip


def _child(code: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _cpu_ms(imports: str) -> float:
    code = f"import time, json\nbegan = time.process_time()\n{imports}\n" + (
        "print(json.dumps({'ms': (time.process_time() - began) * 1e3}))"
    )
    return float(_child(code)["ms"])  # type: ignore[arg-type]


# a program with one pydantic model: whoever defines a chat model or a tool has one
MODEL = "from pydantic import BaseModel\nclass M(BaseModel):\n    x: int = 1"


@pytest.mark.parametrize(
    ("imports", "base", "times"),
    [(CORE, "import pydantic", 2.5), (NAMES, MODEL, 1.75)],
    ids=["packages-over-import-pydantic", "names-over-a-pydantic-model"],
)
def test_import_costs_a_bounded_multiple_of_pydantic(
    imports: str, base: str, times: float, capsys: pytest.CaptureFixture[str]
) -> None:
    # interleaved, so that both meet the same machine; the smallest is the least disturbed
    pairs = [(_cpu_ms(base), _cpu_ms(imports)) for _ in range(9)]
    theirs, ours = min(b for b, _ in pairs), min(o for _, o in pairs)
    with capsys.disabled():
        print(f"\nCPU: pydantic {theirs:.0f} ms, ours {ours:.0f} ms: {ours / theirs:.2f} times", end=" ")
    assert ours <= times * theirs or statistics.median(o / b for b, o in pairs) <= times


OTHERS = [
    "import clew.checkpoint.memory, clew.providers, clew.chat_models",
    "from clew.runnables import RunnableLambda",
    "from clew.prompts import ChatPromptTemplate\nfrom clew.output_parsers import StrOutputParser",
    "from clew.providers.openai import ChatOpenAI",
]


@pytest.mark.parametrize("imports", [CORE, NAMES, *OTHERS])
def test_nothing_unneeded_is_loaded(imports: str) -> None:
    loaded = _child(f"{BEFORE}\nbefore = set(sys.modules)\n{imports}\n"
                    "print(json.dumps({'new': sorted(set(sys.modules) - before)}))")["new"]  # fmt: skip
    assert sorted(UNWANTED & set(loaded)) == []  # type: ignore[arg-type]


def test_the_modules_of_the_core_are_the_listed_ones() -> None:
    """Foreign modules that the core adds to pydantic's and msgspec's own; a new one is a decision."""
    new = _child(f"{BEFORE}\nbefore = set(sys.modules)\n{NAMES}\n"
                 "print(json.dumps({'new': sorted(set(sys.modules) - before)}))")["new"]  # fmt: skip
    foreign = sorted(name for name in new if name.split(".")[0] != "clew")  # type: ignore[union-attr]
    listed = (pathlib.Path(__file__).parent / "modules.txt").read_text().split()
    assert [name for name in foreign if name not in listed] == []
