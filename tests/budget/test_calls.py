"""Nobody listening, nothing paid: Python calls, objects made and modules loaded by composition are counted."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clew._pool import MAX_THREADS
from clew.callbacks import BaseCallbackHandler
from clew.config import current_config
from clew.language_models import BaseChatModel
from clew.messages import AIMessage
from clew.output_parsers import StrOutputParser
from clew.outputs import ChatGeneration, ChatResult
from clew.prompts import ChatPromptTemplate
from clew.runnables import RunnableLambda, RunnableParallel


class Constant(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "constant"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


def calls_of(function: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that run in this thread, after two rounds that warm up."""
    names: list[str] = []

    def note(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_qualname)

    function()
    function()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names


prompt = ChatPromptTemplate.from_messages([("system", "You are {who}."), ("human", "{q}")])
steps = prompt | Constant() | StrOutputParser()
given = {"who": "a poet", "q": "hi"}
add = RunnableLambda(lambda x: x + 1)


def test_prompt_model_parser_takes_at_most_60_calls() -> None:
    names = calls_of(lambda: steps.invoke(given))
    assert len(names) <= 60, names
    assert "new_run_id" not in names and "inherit" not in names and "BaseCallbackManager.configure" not in names


def test_a_function_in_a_sequence_costs_a_handful_of_calls() -> None:
    ten = add
    for _ in range(9):
        ten = ten | add  # type: ignore[assignment]
    assert len(calls_of(lambda: ten.invoke(1))) <= 4 + 10 * 4


def test_ten_branches_that_do_not_wait_start_no_thread_when_warm() -> None:
    ten = RunnableParallel({str(i): add for i in range(10)})
    for _ in range(5):
        ten.invoke(1)
    before = set(threading.enumerate())
    for _ in range(50):
        ten.invoke(1)
    assert len(set(threading.enumerate()) - before) <= 1


def test_however_many_calls_the_pool_stays_bounded() -> None:
    import asyncio

    asyncio.run(add.abatch([1] * 10_000))
    assert sum(thread.name == "clew-worker" for thread in threading.enumerate()) <= MAX_THREADS


def test_nothing_is_ambient_without_a_config() -> None:
    seen: list[Any] = []
    RunnableLambda(lambda x: seen.append(current_config.get())).invoke(1)
    assert seen == [None]


def test_a_handler_adds_a_bounded_number_of_calls() -> None:
    handler = BaseCallbackHandler()
    assert len(calls_of(lambda: add.invoke(1, {"callbacks": [handler]}))) <= 60
    assert len(calls_of(lambda: Constant().invoke("x", {"callbacks": [handler]}))) <= 140


@pytest.mark.parametrize("size", [100, 1000])
def test_a_batch_costs_the_same_per_input_whatever_its_size(size: int) -> None:
    assert len(calls_of(lambda: add.batch([1] * size))) <= 40 + 12 * size


def test_composing_loads_neither_asyncio_nor_threads_of_ours_nor_tracers() -> None:
    code = (
        "import sys\n"
        "from clew.runnables import RunnableLambda, RunnablePassthrough\n"
        "(RunnableLambda(str) | RunnablePassthrough()).invoke(1)\n"
        "list((RunnableLambda(str) | RunnablePassthrough()).stream(1))\n"
        "unwanted = {'asyncio', 'logging', 'clew.tracers', 'concurrent.futures'} & set(sys.modules)\n"
        "import pydantic, msgspec\n"
        "assert not unwanted, unwanted\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
