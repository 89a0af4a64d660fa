"""A compiled graph as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.graph._plan import END, START
from clew.runnables.graph import Graph

if TYPE_CHECKING:
    from clew.graph._compiled import CompiledStateGraph
    from clew.graph._nodes import Branch


def draw(graph: CompiledStateGraph, depth: int) -> Graph:
    """Return nodes and edges. depth: how many levels of subgraphs to open. Cost: O(nodes + edges)."""
    builder = graph.builder
    drawing = Graph()
    ends = _edges(graph)
    names = [START, *builder.nodes, *([END] if any(target == END for _, target, _, _ in ends) else [])]
    entries: dict[str, Any] = {}
    exits: dict[str, Any] = {}
    for name in names:
        action = builder.nodes[name].action if name in builder.nodes else None
        if depth and hasattr(action, "builder"):
            inner = draw(action, depth - 1)  # type: ignore[arg-type] - a compiled graph
            inner.trim_first_node()
            inner.trim_last_node()
            first, last = drawing.extend(inner, prefix=name)
            if first is not None and last is not None:
                entries[name], exits[name] = first, last
                continue
        metadata = builder.nodes[name].metadata if name in builder.nodes else None
        entries[name] = exits[name] = drawing.add_node(action, name, name=name, metadata=metadata)
    for source, target, label, conditional in ends:
        drawing.add_edge(exits[source], entries[target], label, conditional)
    return drawing


def _edges(graph: CompiledStateGraph) -> list[tuple[str, str, Any, bool]]:
    builder = graph.builder
    order = {name: place for place, name in enumerate([START, *builder.nodes, END])}
    found: dict[tuple[str, str], tuple[Any, bool]] = dict.fromkeys(builder.edges, (None, False))
    for starts, end in builder.joins:
        found |= {(start, end): (None, False) for start in starts}
    branches: list[tuple[str, Branch]] = [(START, branch) for branch in builder.entry_branches]
    branches += [(name, branch) for name, node in builder.nodes.items() for branch in node.branches]
    for source, branch in branches:
        ends = branch.ends if branch.ends is not None else {name: name for name in [*builder.nodes, END]}
        for label, target in ends.items():
            found.setdefault((source, target), (None if label == target else label, True))
    for name, node in builder.nodes.items():
        for target in node.destinations:
            found.setdefault((name, target), (None, True))
    sources = {source for source, _ in found}
    for name in builder.nodes:
        if name not in sources:
            found[name, END] = (None, False)
    ways = sorted(found, key=lambda way: (order[way[0]], order[way[1]]))
    return [(source, target, *found[source, target]) for source, target in ways]
