"""The running run: one context variable, set by the runtime, read by everything below it.

`interrupt`, `task`, `get_store`, `get_stream_writer` and `get_runtime` find the frame they run in here. A *frame* is
one body
in progress: that of a workflow, of a task, or of a graph node. It knows its place in the run, so calls made from it
get their durable identity.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Run(Protocol):
    """What code inside a workflow, task or node can ask of the runtime."""

    @property
    def name(self) -> str:
        """Name of the workflow, task or node."""
        ...

    @property
    def path(self) -> str:
        """Place in the run: "" for the body of the workflow, "2" for its third call, "2.0" for the first in that."""
        ...

    @property
    def store(self) -> Any:
        """The BaseStore of the workflow, or None."""
        ...

    @property
    def stream_writer(self) -> Callable[[Any], None]:
        """Sends a value to the `custom` stream; does nothing when nobody listens."""
        ...

    @property
    def context(self) -> Any:
        """The `context=` of the call, or None."""
        ...

    @property
    def previous(self) -> Any:
        """What the thread's last run saved, or None."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """The RunnableConfig of the call, complete."""
        ...

    def call(self, spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Start a durable task from here; returns its future at once."""
        ...

    def interrupt(
        self, value: Any, *, key: str | None, response_schema: Any, expires: float | None, default: Any
    ) -> Any:
        """Ask a question; returns the answer, or raises GraphInterrupt while there is none."""
        ...

    def runtime(self) -> Any:
        """The `clew.runtime.Runtime` of this frame."""
        ...


current: ContextVar[Run | None] = ContextVar("clew_run", default=None)
