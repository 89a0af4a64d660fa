"""The commands as a user types them: each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FLOWS = """
from clew.func import entrypoint, task
from clew.types import interrupt

@task
def write(topic):
    return f"about {topic}"

def review(saver):
    @entrypoint(checkpointer=saver)
    def review(topic):
        text = write(topic).result()
        return {"text": text, "ok": interrupt({"ask": "approve?"})}
    return review
"""


@pytest.fixture
def clew(tmp_path: Path):
    """clew("threads", "list") runs the command in a folder with flows.py; returns the finished process."""
    (tmp_path / "flows.py").write_text(FLOWS)

    def run(*words: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "clew.cli", *words],
            cwd=tmp_path, input=stdin, capture_output=True, text=True, timeout=60,
            env={"PATH": "", "COLUMNS": "200", "HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def waiting(tmp_path: Path, clew) -> str:
    """A file with the thread `t` that waits for an answer."""
    program = (
        "from clew.checkpoint.sqlite import SqliteSaver\nfrom flows import review\n"
        "with SqliteSaver.from_conn_string('f.sqlite') as saver:\n"
        "    review(saver).invoke('cats', {'configurable': {'thread_id': 't'}})\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
    return "f.sqlite"


def test_threads_list_show_and_delete(clew, waiting: str) -> None:
    listed = clew("threads", "list", "--file", waiting).stdout
    assert "review" in listed
    assert "waits for an answer" in listed
    shown = clew("threads", "show", "t", "--file", waiting).stdout
    assert "write" in shown
    assert "approve?" in shown
    assert clew("threads", "show", "t", "--file", waiting, "--mermaid").stdout.startswith("gantt")
    assert clew("threads", "show", "t", "--file", waiting, "--svg").stdout.startswith("<svg")
    assert "t" in clew("threads", "delete", "t", "--file", waiting, stdin="n\n").stdout
    clew("threads", "delete", "t", "--file", waiting, "--yes")
    assert "0 threads" in clew("threads", "list", "--file", waiting).stdout


def test_resume_answers_the_question(clew, waiting: str) -> None:
    done = clew("resume", "t", "--workflow", "flows:review", "--answer", "true", "--file", waiting)
    assert done.stdout.strip() == str({"text": "about cats", "ok": True})


def test_resume_takes_text_that_is_not_json(clew, waiting: str) -> None:
    done = clew("resume", "t", "-w", "flows:review", "-a", "yes, please", "-f", waiting)
    assert "'ok': 'yes, please'" in done.stdout


def test_an_unknown_workflow_is_one_line_and_code_1(clew, waiting: str) -> None:
    done = clew("resume", "t", "-w", "nowhere:flow", "-a", "1", "-f", waiting, code=1)
    assert "nowhere:flow" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("list",), ("show", "t"), ("delete", "t", "-y")])
def test_a_missing_file_is_said_and_not_made(clew, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = clew("threads", *words, "--file", "no.sqlite", code=1)
    assert "no.sqlite" in done.stderr
    assert not (tmp_path / "no.sqlite").exists()


def test_a_file_that_is_no_database_is_said_and_kept(clew, tmp_path: Path) -> None:
    (tmp_path / "f.sqlite").write_text("not a database, " * 100)
    done = clew("threads", "list", "--file", "f.sqlite", code=1)
    assert "StorageCorruptError" in done.stderr
    assert (tmp_path / "f.sqlite").read_text() == "not a database, " * 100


def test_chat_keeps_the_conversation_across_processes(clew, tmp_path: Path) -> None:
    first = clew("chat", "--model", "scripted", "--file", "c.sqlite", "--once", "I am Ada")
    assert "0 earlier messages" in first.stderr
    assert "Cats" in first.stdout
    second = clew("chat", "--model", "scripted", "--file", "c.sqlite", stdin="Who am I?\n")
    assert "2 earlier messages" in second.stderr
    third = clew("chat", "--model", "scripted", "--file", "c.sqlite", "--session", "other", "--once", "Hi")
    assert "0 earlier messages" in third.stderr


def test_histories_copy_moves_a_conversation_between_stores(clew, tmp_path: Path) -> None:
    clew("chat", "-m", "scripted", "-f", "c.sqlite", "-s", "ann", "--once", "I am Ada")
    done = clew("histories", "copy", "sqlite:///c.sqlite#ann", "file:copy.json")
    assert done.stdout.startswith("2 messages copied")
    back = clew("histories", "copy", "file:copy.json", "sqlite:///d.sqlite#ann")
    assert back.stdout.startswith("2 messages copied")
    assert "I am Ada" in (tmp_path / "copy.json").read_text()


@pytest.mark.parametrize("address", ["nothing", "sqlite:///c.sqlite"])
def test_an_address_that_names_no_store_or_session_is_refused(clew, address: str) -> None:
    done = clew("histories", "copy", address, "file:copy.json", code=1)
    assert address in done.stderr


def test_answers_are_json_or_text() -> None:
    from clew.cli._resume import parse_answer

    assert parse_answer("true") is True
    assert parse_answer('{"a": 1}') == json.loads('{"a": 1}')
    assert parse_answer("well done") == "well done"
