"""A run as tracers keep it: one call of a model, chain, tool or retriever, with its children."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

__all__ = ["Run"]


@dataclass(slots=True)
class Run:
    """One call.

    run_type: "llm", "chat_model", "chain", "prompt", "parser", "tool" or "retriever". inputs, outputs: dicts; a value
    that is no dict is under "input" or "output". error: the error's repr, None without one. events: dicts of name and
    time. dotted_order: sorts a whole tree, parents first.
    """

    id: UUID
    name: str
    run_type: str
    start_time: datetime
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: dict[str, Any] | None = None
    error: str | None = None
    end_time: datetime | None = None
    parent_run_id: UUID | None = None
    trace_id: UUID | None = None
    dotted_order: str = ""
    tags: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    serialized: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    child_runs: list[Run] = field(default_factory=list["Run"])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the call was given."""
        return self.extra.setdefault("metadata", {})

    @property
    def seconds(self) -> float | None:
        """How long the call took; None while it runs."""
        return None if self.end_time is None else (self.end_time - self.start_time).total_seconds()
