"""What a provider's stream costs beside the SDK's own, measured in one run: a ratio, no milliseconds."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from clew.testing._canned import Canned, Reply

N = 1500
BASE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "f"}


def cpu(run: Callable[[], Any]) -> float:
    """CPU seconds of this thread, best of three."""
    best = float("inf")
    for _ in range(3):
        gc.collect()
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


def test_a_chunk_costs_less_than_the_sdks_own() -> None:
    openai = pytest.importorskip("openai", reason="needs: pip install openai")
    from clew.providers.openai import ChatOpenAI

    events = [
        {**BASE, "choices": [{"index": 0, "delta": {"content": f"t{i} "}, "finish_reason": None}]} for i in range(N)
    ]
    events.append({**BASE, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
    with Canned([Reply(body.encode(), kind="text/event-stream")]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k")
        model = ChatOpenAI(base_url=server.url, api_key="k")
        ask: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": True}

        def theirs() -> int:
            return sum(1 for _ in client.chat.completions.create(**ask))

        def ours() -> int:
            return sum(1 for _ in model.stream("q"))

        assert theirs() == N + 1 and ours() == N + 1
        assert cpu(ours) < cpu(theirs)
        client.close()


def test_importing_a_provider_imports_no_sdk() -> None:
    import subprocess
    import sys

    code = (
        "import sys, clew.providers.openai, clew.providers.anthropic, clew.providers.google, clew.providers.ollama, "
        "clew.providers.local as l\n"
        "l.ChatLocal(); clew.providers.openai.ChatOpenAI()\n"
        "clew.providers.anthropic.ChatAnthropic(model='m')\n"
        "bad = {'openai', 'anthropic', 'google.genai', 'ollama', 'httpx', 'httpx2', 'asyncio', 'ssl', 'numpy'}\n"
        "print(sorted(bad & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
