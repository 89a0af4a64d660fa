"""What a run tells while it runs, in the documented modes and shapes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from clew.checkpoint.base import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODES = ("values", "updates", "checkpoints", "tasks", "debug", "messages", "custom")


class Sink:
    """Takes events of a run and gives those that were asked for to `put`, as (namespace, mode, data).

    modes: what was asked for. deep: events of subgraphs too.
    """

    __slots__ = ("_readers", "custom", "deep", "modes", "put", "tasks")

    def __init__(
        self, modes: Sequence[str], put: Callable[[tuple[tuple[str, ...], str, Any]], None], *, deep: bool = False
    ) -> None:
        for mode in modes:
            if mode not in MODES:
                raise ValueError(f"there is no stream mode {mode!r}; the modes are {', '.join(MODES)}")
        self.modes = frozenset(modes)
        self.put = put
        self.deep = deep
        self.custom = "custom" in self.modes
        self.tasks = "tasks" in self.modes or "debug" in self.modes
        self._readers: list[tuple[tuple[str, ...], Sink]] = []  # of nested streams: below this namespace

    def join(self, other: Sink, namespace: tuple[str, ...]) -> None:
        """Send what happens below a namespace to another reader too."""
        self._readers.append((namespace, other))
        self.custom = self.custom or other.custom
        self.tasks = self.tasks or other.tasks

    def emit(self, mode: str, data: Any, namespace: tuple[str, ...] = ()) -> None:
        """Pass an event on when it was asked for."""
        if mode in self.modes and (not namespace or self.deep):
            self.put((namespace, mode, data))
        for below, other in self._readers:
            if namespace[: len(below)] == below:
                other.emit(mode, data, namespace[len(below) :])

    def update(self, name: str, value: Any, namespace: tuple[str, ...], *, cached: bool = False) -> None:
        """Tell what a task or node gave."""
        if "updates" in self.modes or self._readers:
            data: dict[str, Any] = {name: value}
            if cached:
                data["__metadata__"] = {"cached": True}
            self.emit("updates", data, namespace)

    def started(
        self,
        task_id: str,
        name: str,
        input: Any,
        namespace: tuple[str, ...],
        triggers: Sequence[str] = (),
        step: int = 0,
    ) -> None:
        """Tell that a task began."""
        if self.tasks:
            payload = {"id": task_id, "name": name, "input": input, "triggers": list(triggers)}
            self._told("tasks", "task", payload, namespace, step)

    def ended(
        self, task_id: str, name: str, namespace: tuple[str, ...], *, result: Any = None, error: str | None = None,
        interrupts: Sequence[Any] = (), step: int = 0,
    ) -> None:  # fmt: skip
        """Tell how a task ended."""
        if self.tasks:
            payload = {"id": task_id, "name": name, "error": error, "result": result, "interrupts": list(interrupts)}
            self._told("tasks", "task_result", payload, namespace, step)

    def checkpoint(self, payload: Callable[[], dict[str, Any]], namespace: tuple[str, ...] = (), step: int = 0) -> None:
        """Tell that a checkpoint was written; its payload is made when somebody wants it."""
        if "checkpoints" in self.modes or "debug" in self.modes or self._readers:
            self._told("checkpoints", "checkpoint", payload(), namespace, step)

    def _told(self, mode: str, kind: str, payload: dict[str, Any], namespace: tuple[str, ...], step: int) -> None:
        self.emit(mode, payload, namespace)
        if "debug" in self.modes or self._readers:
            event = {"type": kind, "timestamp": timestamp(time.time()), "step": step, "payload": payload}
            self.emit("debug", event, namespace)


class Shape:
    """How events look to the one who asked: as data, (mode, data), (namespace, …), or dicts in version "v2"."""

    __slots__ = ("many", "subgraphs", "version")

    def __init__(self, stream_mode: Any, subgraphs: bool, version: str) -> None:
        self.many = not isinstance(stream_mode, str)
        self.subgraphs = subgraphs
        self.version = version
        if version not in ("v1", "v2"):
            raise ValueError(f"version is 'v1' or 'v2', not {version!r}")

    def __call__(self, item: tuple[tuple[str, ...], str, Any]) -> Any:
        """Return an event in its shape."""
        namespace, mode, data = item
        if self.version == "v2":
            event: dict[str, Any] = {"type": mode, "ns": namespace, "data": data}
            if mode == "values":
                shown = cast("dict[str, Any]", data) if isinstance(data, dict) else dict[str, Any]()
                asked: Any = shown.get("__interrupt__", ())
                event["interrupts"] = tuple(asked)
            return event
        if self.subgraphs:
            return (namespace, mode, data) if self.many else (namespace, data)
        return (mode, data) if self.many else data
