"""A thread's story is read from the saver alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.checkpoint.sqlite import SqliteSaver
from clew.cli import _story as story
from clew.errors import ClewError
from clew.func import entrypoint, task
from clew.types import Command, interrupt


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _workflow(saver: Any) -> Any:
    @task
    def write(topic: str) -> str:
        if topic == "nothing":
            raise ValueError("no topic")
        return f"about {topic}"

    @entrypoint(checkpointer=saver)
    def review(topic: str) -> dict[str, Any]:
        return {"text": write(topic).result(), "ok": interrupt({"ask": "approve?"})}

    return review


def test_tasks_pauses_and_answers_are_told_in_order(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "f.sqlite")) as saver:
        workflow = _workflow(saver)
        workflow.invoke("cats", _config("t"))
        waiting = story.read(saver, "t")
        assert waiting.status == "waits for an answer"
        assert waiting.workflow == "review"
        assert [e.name for e in waiting.events] == ["write", "waits for an answer"]
        assert waiting.events[0].detail == "'cats'"
        assert waiting.events[1].seconds is None
        workflow.invoke(Command(resume="yes"), _config("t"))
        done = story.read(saver, "t")
    assert done.status == "done"
    pause = next(e for e in done.events if e.kind == "pause")
    assert pause.seconds is not None
    assert "answered 'yes'" in pause.detail
    assert [e.name for e in done.events if e.kind == "task"] == ["write"]
    assert done.events[-1].name == "saved"


def test_a_failure_is_told(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "f.sqlite")) as saver:
        with pytest.raises(ValueError, match="no topic"):
            _workflow(saver).invoke("nothing", _config("t"))
        told = story.read(saver, "t")
    assert told.status == "failed"
    assert any(e.failed and "no topic" in e.detail for e in told.events)


def test_all_threads_are_listed_last_changed_first(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "f.sqlite")) as saver:
        workflow = _workflow(saver)
        for name in ("one", "two", "three"):
            workflow.invoke("cats", _config(name))
        workflow.invoke(Command(resume=1), _config("one"))
        assert [s.thread_id for s in story.read_all(saver)] == ["one", "three", "two"]


def test_an_unknown_thread_is_said_to_be_unknown(tmp_path: Path) -> None:
    with (
        SqliteSaver.from_conn_string(str(tmp_path / "f.sqlite")) as saver,
        pytest.raises(ClewError, match="no thread 'x'"),
    ):
        story.read(saver, "x")
