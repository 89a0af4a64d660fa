"""Print what happens, as it happens."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from clew.tracers.base import BaseTracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.tracers.schemas import Run

__all__ = ["ConsoleCallbackHandler", "FunctionCallbackHandler"]


class FunctionCallbackHandler(BaseTracer):
    """Tells a function, line by line, what happens."""

    def __init__(self, function: Callable[[str], None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._tell = function

    def _persist_run(self, run: Run) -> None:
        """Nothing is kept."""

    def _on_run_create(self, run: Run) -> None:
        self._tell(f"[{run.run_type}/start] [{self._path(run)}] {_short(run.inputs)}")

    def _on_run_update(self, run: Run) -> None:
        took = f"{(run.seconds or 0) * 1000:.0f} ms"
        if run.error is None:
            self._tell(f"[{run.run_type}/end] [{self._path(run)}] [{took}] {_short(run.outputs)}")
        else:
            self._tell(f"[{run.run_type}/error] [{self._path(run)}] [{took}] {run.error}")

    def _path(self, run: Run) -> str:
        names: list[str] = []
        at: Run | None = run
        while at is not None:
            names.append(f"{at.run_type}:{at.name}")
            at = self.run_map.get(str(at.parent_run_id)) if at.parent_run_id is not None else None
        return " > ".join(reversed(names))


class ConsoleCallbackHandler(FunctionCallbackHandler):
    """Prints what happens to standard output."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(lambda line: print(line, file=sys.stdout, flush=True), **kwargs)  # noqa: T201 - its purpose


def _short(value: Any, limit: int = 2000) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + f"… ({len(text)} characters)"
