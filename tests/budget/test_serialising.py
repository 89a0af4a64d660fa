"""What it costs to save a value, in Python calls: nothing per element that msgpack knows by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from clew._serde import decode, encode
from clew.messages import AIMessage, HumanMessage


def calls(work: Callable[[], Any]) -> int:
    """How many Python functions ran."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    work()  # warm: imports, caches
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count - 1


def test_a_small_result_is_one_call() -> None:
    value = {"n": 1, "text": "hello", "ok": True}
    assert calls(lambda: encode(value)) <= 1
    stored = encode(value)
    assert calls(lambda: decode(stored)) <= 2


def test_plain_data_costs_no_call_per_element() -> None:
    value = {"rows": list(range(1000)), "names": {str(n): n for n in range(1000)}}
    assert calls(lambda: encode(value)) <= 6
    stored = encode(value)
    assert calls(lambda: decode(stored)) <= 2


def test_a_message_is_a_few_calls() -> None:
    messages = [HumanMessage("hi", id="1"), AIMessage("hello", id="2")]
    assert calls(lambda: encode(messages)) <= 24
    stored = encode(messages)
    assert calls(lambda: decode(stored)) <= 16
