"""A story drawn as text, Mermaid and SVG."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console

from clew.cli import _timeline as timeline
from clew.cli._timeline import Event, Story

EVENTS = (
    Event("task", "write_essay", 1000.0, 1003.5, 1, "'cats'"),
    Event("pause", "answered", 1003.5, 90_000.0, 1, "answered 'yes' to {'essay': '<b>…</b>'}"),
    Event("task", "publish: it; now#", 90_000.0, 90_000.012, 1, "", failed=True),
    Event("end", "saved", 90_000.1, 90_000.1, 1),
    Event("pause", "waits for an answer", 90_001.0, None, 2, "[bold]"),
)
STORY = Story("essay", "workflow", "waits for an answer", 90_001.0, EVENTS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "…"), (0.0123, "12 ms"), (3.44, "3.4 s"), (600, "10 min"), (7500, "2 h 5 min"), (9e5, "10 days")],
)
def test_durations_are_for_people(seconds: float | None, text: str) -> None:
    assert timeline.duration(seconds) == text


def test_text_names_tasks_durations_pauses_and_answers() -> None:
    out = io.StringIO()
    Console(file=out, width=160).print(timeline.as_text(STORY))
    for piece in ("write_essay", "3.5 s", "'cats'", "answered 'yes'", "12 ms", "waits for", "[bold]"):
        assert piece in out.getvalue()


def test_mermaid_has_one_section_per_run_and_no_stray_separators() -> None:
    lines = timeline.as_mermaid(STORY).splitlines()
    assert lines[0] == "gantt"
    assert [line.strip() for line in lines if "section" in line] == ["section run 1", "section run 2"]
    bars = [line for line in lines if ", " in line]
    assert len(bars) == len(EVENTS)
    for bar in bars:
        label, _, rest = bar.partition(" :")
        assert not set(label) & set(":;#,")
        begun, ended = map(int, rest.split(", ")[-2:])
        assert begun < ended


def test_svg_is_well_formed_and_escapes_what_users_wrote() -> None:
    root = ET.fromstring(timeline.as_svg(STORY))
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "answered 'yes' to {'essay': '<b>…</b>'}" in texts
    bars = [float(e.get("width", 0)) for e in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert len(bars) == len(EVENTS)
    # a pause of a day must not make the work invisible
    assert bars[0] > bars[1]


def test_an_empty_story_can_be_drawn() -> None:
    empty = Story("t", "w", "done", 0.0)
    ET.fromstring(timeline.as_svg(empty))
    assert timeline.as_mermaid(empty).startswith("gantt")
