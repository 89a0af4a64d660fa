"""Tracers: the tree of runs, on the console, in a file, and listeners of one run."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from clew.language_models import GenericFakeChatModel
from clew.messages import AIMessage
from clew.runnables import RunnableLambda, RunnableParallel
from clew.tracers import BaseTracer, ConsoleCallbackHandler, JSONLTracer, Run


class Collect(BaseTracer):
    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


step = RunnableLambda(lambda x: x + 1)


def test_a_tree_is_kept_when_its_root_ends(call):
    tracer = Collect()
    call(step | RunnableParallel(a=step, b=step), "invoke", 1, {"callbacks": [tracer], "metadata": {"m": 1}})
    (root,) = tracer.roots
    assert (root.inputs, root.outputs, root.error) == ({"input": 1}, {"a": 3, "b": 3}, None)
    assert [child.run_type for child in root.child_runs] == ["chain", "chain"] and len(
        root.child_runs[1].child_runs
    ) == 2
    assert root.metadata == {"m": 1} and root.seconds is not None and root.seconds >= 0
    everyone = [root, *root.child_runs, *root.child_runs[1].child_runs]
    assert {run.trace_id for run in everyone} == {root.id}
    assert [run.dotted_order for run in everyone] == sorted(run.dotted_order for run in everyone)
    assert tracer.run_map == {}


def test_errors_are_kept(call):
    tracer = Collect()
    with pytest.raises(ZeroDivisionError):
        call(RunnableLambda(lambda x: 1 / 0), "invoke", 1, {"callbacks": [tracer]})
    assert tracer.roots[0].error == "ZeroDivisionError('division by zero')" and tracer.roots[0].outputs is None


def test_streamed_runs_have_their_inputs_in_the_end(call):
    tracer = Collect()
    list(call(step | str, "stream", 1, {"callbacks": [tracer]}))
    (root,) = tracer.roots
    assert root.outputs == {"output": "2"} and root.child_runs[1].inputs == {"input": 2}


def test_one_tracer_for_many_threads():
    tracer = Collect()
    tree = RunnableParallel(a=step, b=step | step)
    threads = [threading.Thread(target=lambda: tree.batch([1] * 20, {"callbacks": [tracer]})) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tracer.roots) == 80 and {len(root.child_runs) for root in tracer.roots} == {2} and tracer.run_map == {}


def test_console(call, capsys):
    call(step | step, "invoke", 1, {"callbacks": [ConsoleCallbackHandler()]})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines[1] == '[chain/start] [chain:RunnableSequence > chain:RunnableLambda] {"input": 1}'


def test_a_line_of_json_per_run(call, tmp_path):
    path = tmp_path / "runs.jsonl"
    model = GenericFakeChatModel(messages=iter([AIMessage("hello world")]))
    list(
        call(
            model | (lambda message: message.content), "stream", "hi", {"callbacks": [JSONLTracer(path)], "tags": ["t"]}
        )
    )
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    by_type = {run["name"]: run for run in runs}
    root = next(run for run in runs if run["parent_run_id"] is None)
    assert runs[-1] == root and root["outputs"] == {"output": "hello world"} and root["tags"] == ["t"]
    assert {run["trace_id"] for run in runs} == {root["id"]}
    chat = by_type["GenericFakeChatModel"]
    assert chat["run_type"] == "chat_model" and chat["tokens"] >= 3 and chat["seconds"] >= 0
    assert "hello world" in json.dumps(chat["outputs"])


def test_listeners_hear_their_own_run_only(call):
    heard: list[Any] = []
    watched = (step | step).with_listeners(
        on_start=lambda run: heard.append(("start", run.name, run.inputs)),
        on_end=lambda run, config: heard.append(("end", run.outputs, sorted(config["tags"]))),
        on_error=lambda run: heard.append(("error", run.error)),
    )
    assert call(watched, "invoke", 1, {"tags": ["t"]}) == 3
    assert heard == [("start", "RunnableSequence", {"input": 1}), ("end", {"output": 3}, ["t"])]
    heard.clear()
    with pytest.raises(TypeError):
        call(watched, "invoke", "x", {"tags": ["t"]})
    assert [event for event, *_ in heard] == ["start", "error"]
    assert call(step | watched | step, "invoke", 1, {"tags": ["t"]}) == 5 and len(heard) == 4


def test_awaited_listeners():
    heard: list[Any] = []

    async def start(run: Run) -> None:
        await asyncio.sleep(0)
        heard.append(("start", run.inputs["input"]))

    async def end(run: Run) -> None:
        heard.append(("end", run.outputs))

    async def run() -> None:
        watched = step.with_alisteners(on_start=start, on_end=end)
        assert await asyncio.gather(*[watched.ainvoke(i) for i in range(3)]) == [1, 2, 3]

    asyncio.run(run())
    assert sorted(heard, key=str) == sorted(
        [("start", i) for i in range(3)] + [("end", {"output": i + 1}) for i in range(3)], key=str
    )
