"""Which nodes run next: the rules of edges, joins and deferred nodes, with no state values and no I/O.

A position says where a graph stands: the calls to make in the next step, what each join has seen, which deferred
nodes wait for the rest to end. `advance` takes the finished calls of one step to the next position.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from clew.types import Send

START = "__start__"
END = "__end__"

Target = str | Send


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One node to run. arg: what a Send gave it; without one the node reads the state."""

    node: str
    arg: Any = None
    is_send: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """Where a graph stands between two steps.

    next: the calls of the next step, in the order in which their updates will count.
    joins: for each join that has seen some of its sources, those sources. deferred: nodes that wait for the end.
    """

    next: tuple[Call, ...] = ()
    joins: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict[str, tuple[str, ...]])
    deferred: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class Plan:
    """The graph's edges, ready to be followed.

    order: node names as they were added. edges: source -> targets. joins: join name -> (sources, target).
    deferred: nodes that run when nothing else is left.
    """

    order: dict[str, int]
    edges: dict[str, list[str]]
    joins: dict[str, tuple[tuple[str, ...], str]]
    deferred: frozenset[str]

    def advance(self, position: Position, done: Sequence[tuple[str, Iterable[Target]]]) -> Position:
        """Return the position after one step.

        done: (node, targets that its branches, Command or Sends chose) for each call that finished, in order.
        """
        seen = dict(position.joins)
        pulled: set[str] = set()
        sends: list[Call] = []
        for node, targets in done:
            pulled.update(self.edges.get(node, ()))
            for target in targets:
                if isinstance(target, Send):
                    sends.append(Call(target.node, target.arg, True))
                else:
                    pulled.add(target)
            pulled.update(self._joined(node, seen))
        pulled.discard(END)
        waiting = set(position.deferred) | {node for node in pulled if node in self.deferred}
        now = pulled - waiting
        if not now and not sends:
            now, waiting = waiting, set[str]()
        calls = [Call(node) for node in sorted(now, key=self.order.__getitem__)]
        return Position((*calls, *sends), seen, tuple(sorted(waiting, key=self.order.__getitem__)))

    def _joined(self, node: str, seen: dict[str, tuple[str, ...]]) -> list[str]:
        """Note in `seen` that node has finished; return the targets of the joins that this completes."""
        complete: list[str] = []
        for name, (sources, target) in self.joins.items():
            if node in sources:
                there = {*seen.get(name, ()), node}
                if len(there) == len(sources):
                    complete.append(target)
                    seen.pop(name, None)
                else:
                    seen[name] = tuple(sorted(there))
        return complete
