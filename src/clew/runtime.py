"""What a workflow, task or node knows about the run it is in.

Declare a keyword-only parameter `runtime: Runtime[Context]`, or call `get_runtime()` anywhere below one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from clew import _run
from clew.errors import OutsideWorkflowError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ExecutionInfo", "RunControl", "Runtime", "ServerInfo", "get_runtime"]

ContextT = TypeVar("ContextT")


def _nothing(*_: Any) -> None:
    """Take what nobody listens to."""


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Where in which run the code is.

    task_id: the same for the same call over all attempts and processes: use it as an idempotency key for the outside
    world.
    node_attempt: 1 for the first try. node_first_attempt_time: seconds since the epoch.
    """

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1
    node_first_attempt_time: float | None = None

    def patch(self, **overrides: Any) -> ExecutionInfo:
        """Return a copy with these fields changed."""
        return replace(self, **overrides)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who runs this, when a server does."""

    assistant_id: str
    graph_id: str
    user: Any = None


class RunControl:
    """A handle on a run in progress: ask it to stop at its next step, with its progress saved."""

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Stop the run at its next step (graph) or task (workflow); its caller gets GraphDrained(reason)."""
        self._reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether someone asked the run to stop."""
        return self._reason is not None

    @property
    def drain_reason(self) -> str | None:
        """The reason given, or None."""
        return self._reason


@dataclass(frozen=True, kw_only=True)  # no slots: a frozen generic with slots can't be called as Runtime[T](...)
class Runtime(Generic[ContextT]):
    """The surroundings of a running workflow, task or node.

    heartbeat: call it to tell an idle timeout that the task is alive. execution_info.task_id is a stable idempotency
    key.
    """

    context: ContextT = None  # type: ignore[assignment] - without context= there is none
    store: Any = None
    stream_writer: Callable[[Any], None] = _nothing
    heartbeat: Callable[[], None] = _nothing
    previous: Any = None
    execution_info: ExecutionInfo | None = None
    server_info: ServerInfo | None = None
    control: RunControl | None = None

    def override(self, **overrides: Any) -> Runtime[ContextT]:
        """Return a copy with these fields changed."""
        return replace(self, **overrides)

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """Return this runtime with the fields that `other` sets."""
        given = {
            name: value
            for name in self.__dataclass_fields__
            if (value := getattr(other, name)) is not None and value is not _nothing
        }
        return replace(self, **given)

    def patch_execution_info(self, **overrides: Any) -> Runtime[ContextT]:
        """Return a copy whose execution_info has these fields changed."""
        if self.execution_info is None:
            raise OutsideWorkflowError("there is no execution_info outside a running workflow")
        return replace(self, execution_info=self.execution_info.patch(**overrides))

    @property
    def drain_requested(self) -> bool:
        """Whether someone asked the run to stop."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """The reason given for stopping, or None."""
        return self.control.drain_reason if self.control is not None else None


def get_runtime(context_schema: type[ContextT] | None = None) -> Runtime[ContextT]:
    """Return the runtime of the workflow, task or node that is running.

    context_schema: only for type checkers. Raises: OutsideWorkflowError (a RuntimeError) when nothing is running.
    """
    frame = _run.current.get()
    if frame is None:
        raise OutsideWorkflowError("get_runtime() works inside a workflow, task or node; none is running here")
    return frame.runtime()
