"""A thread's story as a list of events, and three ways to draw it: text, Mermaid, SVG.

Pure: it knows no file and no workflow. Times are seconds since the epoch (UTC), durations are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Literal

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["task", "pause", "end"]
COLOURS = {"task": "#4e79a7", "failed": "#e15759", "pause": "#f1ce63", "end": "#59a14f"}
MARKS = {"task": "done, ", "pause": "active, ", "end": "milestone, "}
WIDTH, BAR, LEFT = 900, 26, 240


@dataclass(frozen=True)
class Event:
    """Something a thread did.

    begun, ended: when; ended is None while it lasts. run: 1 for the thread's first run. detail: arguments,
    question and answer, or result. failed: it raised.
    """

    kind: Kind
    name: str
    begun: float
    ended: float | None = None
    run: int = 1
    detail: str = ""
    failed: bool = False

    @property
    def seconds(self) -> float | None:
        """How long it took, or None while it lasts."""
        return None if self.ended is None else max(self.ended - self.begun, 0.0)


@dataclass(frozen=True)
class Story:
    """One thread: what workflow it runs, how it stands, and its events, oldest first."""

    thread_id: str
    workflow: str
    status: str
    changed: float
    events: Sequence[Event] = field(default_factory=tuple)


def clock(moment: float) -> str:
    """A moment in this machine's time zone."""
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float | None) -> str:
    """A duration for people: "12 ms", "3.4 s", "2 h 5 min"."""
    if seconds is None:
        return "…"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, days = round(seconds / 60), round(seconds / 86400)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if days < 3 else f"{days} days"


def short(text: str, length: int = 60) -> str:
    """The text on one line, cut at `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def as_text(story: Story) -> Table:
    """A table for a terminal: when, what, how long."""
    table = Table(title=f"thread {story.thread_id}: {story.workflow}, {story.status}", title_justify="left")
    for heading in ("run", "begun", "what", "took", ""):
        table.add_column(heading, justify="right" if heading == "took" else "left", overflow="fold")
    for event in story.events:
        colour = "red" if event.failed else {"task": "cyan", "pause": "yellow", "end": "green"}[event.kind]
        took = duration(event.seconds) if event.kind != "end" else ""
        what, detail = f"[{colour}]{_plain(event.name)}[/]", _plain(event.detail)
        table.add_row(str(event.run), clock(event.begun), what, took, detail)
    return table


def _plain(text: str) -> str:
    """Text that rich does not read as markup."""
    return short(text, 160).replace("[", "\\[")


def as_mermaid(story: Story) -> str:
    """A gantt chart, one section per run."""
    title = f"  title {_label(story.thread_id)}: {_label(story.workflow)}"
    lines, run = ["gantt", title, "  dateFormat x", "  axisFormat %X"], 0
    for number, event in enumerate(story.events):
        if event.run != run:
            run = event.run
            lines.append(f"  section run {run}")
        mark = "crit, " if event.failed else MARKS[event.kind]
        ended = event.begun if event.ended is None else event.ended
        begun = round(event.begun * 1000)
        lines.append(
            f"  {_label(event.name)} :{mark}e{number}, {begun}, {max(round(ended * 1000), begun + 1)}"
        )
    return "\n".join(lines)


def _label(text: str) -> str:
    """Text without the characters that end a Mermaid label."""
    return short("".join(" " if c in ":;,#" else c for c in text), 40)


def as_svg(story: Story) -> str:
    """A picture: one bar per event, the pauses cut to a tenth of the width."""
    spans = _spans(story.events)
    total = max((end for _, end in spans), default=1.0) or 1.0
    height = BAR * (len(spans) + 2)
    title = escape(f"{story.thread_id}: {story.workflow}, {story.status}")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        '  font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="10" y="18" font-weight="bold">{title}</text>',
    ]
    for row, (event, (begun, ended)) in enumerate(zip(story.events, spans, strict=True), start=1):
        y = BAR * row + 4
        x = LEFT + begun / total * (WIDTH - LEFT - 90)
        wide = max((ended - begun) / total * (WIDTH - LEFT - 90), 2)
        colour = COLOURS["failed" if event.failed else event.kind]
        took = duration(event.seconds) if event.kind != "end" else ""
        out += [
            f'<text x="10" y="{y + 14}">{escape(short(event.name, 36))}</text>',
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR - 8}" rx="3" fill="{colour}">'
            f"<title>{escape(short(event.detail, 200))}</title></rect>",
            f'<text x="{x + wide + 5:.1f}" y="{y + 14}" fill="#555555">{took}</text>',
        ]
    return "\n".join([*out, "</svg>"])


def _spans(events: Sequence[Event]) -> list[tuple[float, float]]:
    """Where each event begins and ends on the picture; waiting takes a tenth of the work at most."""
    busy = sum(e.seconds or 0.0 for e in events if e.kind == "task") or 1.0
    spans: list[tuple[float, float]] = []
    moment, drawn = (events[0].begun if events else 0.0), 0.0
    for event in events:
        gap = max(event.begun - moment, 0.0)
        drawn += min(gap, busy / 10)
        lasts = event.seconds or 0.0
        lasts = min(lasts, busy / 10) if event.kind == "pause" else lasts
        spans.append((drawn, drawn + lasts))
        drawn += lasts
        moment = max(moment, event.begun if event.ended is None else event.ended)
    return spans
