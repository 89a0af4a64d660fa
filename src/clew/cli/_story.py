"""Read a thread's story from a saver, without the code of its workflow.

Only what our savers wrote down is read: names, arguments, times, questions, answers. Nothing is run or
changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.checkpoint import _journal as journal
from clew.checkpoint import _records as records
from clew.cli._timeline import Event, Story, short
from clew.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.checkpoint._codec import Codec
    from clew.checkpoint._views import JournalSaver

STATES = {
    journal.IDLE: "done",
    journal.RUNNING: "running",
    journal.WAITING: "waits for an answer",
    journal.FAILED: "failed",
}


class Teller:
    """Turns the records of one thread, oldest first, into events."""

    def __init__(self, codec: Codec, thread_id: str) -> None:
        self.codec = codec
        self.thread_id = thread_id
        self.run = 0
        self.events: list[Event] = []
        self.asked: dict[str, int] = {}

    def _shown(self, raw: bytes) -> str:
        try:
            return short(repr(self.codec.decode(raw)), 80)
        except ClewError:  # a class that this process does not know
            return f"({len(raw)} bytes)"

    def _add(
        self, kind: Any, name: str, begun: float, ended: float | None, detail: str = "", failed: bool = False
    ) -> None:
        self.events.append(Event(kind, name, begun, ended, max(self.run, 1), detail, failed))

    def begun(self, record: records.Begin) -> None:
        """A run begins, or goes on after a pause or a crash."""
        if record.attempt <= 1:
            self.run += 1
            return
        self._add("end", f"goes on (attempt {record.attempt})", record.at, record.at)

    def asks(self, record: records.Question) -> None:
        """A question waits for its answer; one that was asked before is the same question."""
        if record.id not in self.asked:
            self.asked[record.id] = len(self.events)
            self._add("pause", "waits for an answer", record.asked, None, self._shown(record.value))

    def answered(self, record: records.Answer) -> None:
        """The answer ends the pause."""
        if (place := self.asked.get(record.id)) is not None:
            event = self.events[place]
            detail = f"answered {self._shown(record.value)}" + (f" ({record.how})" if record.how else "")
            self.events[place] = Event(
                "pause", "answered", event.begun, record.at, event.run, f"{detail} to {event.detail}"
            )

    def tell(self, record: records.Record) -> None:
        """Add what one record says."""
        match record:
            case records.Result():
                name = record.name + (f" ({record.how})" if record.how else "")
                self._add("task", name, record.started, record.ended, records.show_args(record.args))
            case records.Failure():
                self._add(
                    "task", f"{record.name} failed", record.started, record.ended, record.text, failed=True
                )
            case records.Attempt():
                self._add(
                    "task",
                    f"{record.name}, try {record.number}",
                    record.at,
                    record.at,
                    record.text,
                    failed=True,
                )
            case records.Begin():
                self.begun(record)
            case records.Question():
                self.asks(record)
            case records.Answer():
                self.answered(record)
            case records.End():
                self._add(
                    "end",
                    f"ended: {record.how}",
                    record.at,
                    record.at,
                    record.text,
                    failed=record.how == "error",
                )
            case records.Wake():
                self._add("pause", "sleeps", record.at, record.at)
            case _:
                pass


def _unsealed(saver: JournalSaver, thread_id: str, bodies: list[bytes]) -> Iterator[records.Record]:
    for body in bodies:
        yield records.unpack(saver.codec.unseal(thread_id, body))


def _status(place: journal.Place) -> str:
    if place.state == journal.RUNNING and journal.may_take(place.owner, place.expires):
        return "cut off: its process died"
    return STATES[place.state]


def read(saver: JournalSaver, thread_id: str) -> Story:
    """The whole story of a thread. Raises: ClewError when the saver knows no such thread."""
    place = saver.journal.load(thread_id, "")
    if place is None:
        raise ClewError(f"there is no thread {thread_id!r} here; `clew threads list` shows which there are")
    teller, workflow = Teller(saver.codec, thread_id), place.name
    for _, _, row in reversed(saver.journal.checkpoints(thread_id, "")):
        body = records.unpack_body(saver.codec.unseal(thread_id, row.body))
        workflow = body.workflow or workflow
        if body.source == "loop" and body.step >= 0:
            teller.events.append(Event("end", "saved", body.at, body.at, max(teller.run, 1)))
        for record in _unsealed(saver, thread_id, saver.journal.records(thread_id, "", row.id)):
            teller.tell(record)
    events = sorted(teller.events, key=lambda event: event.begun)
    changed = max((event.begun if event.ended is None else event.ended for event in events), default=0.0)
    return Story(thread_id, workflow, _status(place), changed, events)


def read_all(saver: JournalSaver, limit: int | None = None) -> list[Story]:
    """The stories of all threads (the main namespace of each), last changed first."""
    places = saver.journal.places(limit=limit)
    return [read(saver, place.thread_id) for place in places if place.ns == ""]
