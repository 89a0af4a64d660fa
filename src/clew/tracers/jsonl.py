"""Keep what happens in a file, one line of JSON per run that ended."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.tracers.base import BaseTracer

if TYPE_CHECKING:
    from clew.tracers.schemas import Run

__all__ = ["JSONLTracer"]


class JSONLTracer(BaseTracer):
    """Appends every run to a file when it ends: a JSON object per line, children before their parents.

    path: the file; made if it is not there. Keys: id, trace_id, parent_run_id, name, run_type, start_time and end_time
    (ISO 8601, UTC), seconds, inputs, outputs, error, tags, metadata, and tokens: how many pieces were streamed.
    """

    def __init__(self, path: str | Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = Path(path)
        self._file_lock = threading.Lock()

    def _persist_run(self, run: Run) -> None:
        """Everything was written when it ended."""

    def _on_run_update(self, run: Run) -> None:
        line = json.dumps(as_record(run), default=_plain, ensure_ascii=False)
        with self._file_lock, self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def as_record(run: Run) -> dict[str, Any]:
    """Return a run as plain data, without its children."""
    return {
        "id": str(run.id),
        "trace_id": str(run.trace_id),
        "parent_run_id": None if run.parent_run_id is None else str(run.parent_run_id),
        "name": run.name,
        "run_type": run.run_type,
        "start_time": run.start_time.isoformat(),
        "end_time": None if run.end_time is None else run.end_time.isoformat(),
        "seconds": run.seconds,
        "inputs": run.inputs,
        "outputs": run.outputs,
        "error": run.error,
        "tags": run.tags,
        "metadata": run.metadata,
        "tokens": sum(event["name"] == "new_token" for event in run.events),
    }


def _plain(value: Any) -> Any:
    from clew.load import dumpd

    try:
        return dumpd(value)
    except Exception:
        return repr(value)
