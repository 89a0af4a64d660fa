"""Draw graphs as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.runnables.graph import Graph, Node

STYLES = (
    "\tclassDef default fill:#f2f0ff,line-height:1.2",
    "\tclassDef first fill-opacity:0",
    "\tclassDef last fill:#bfb6fc",
)


def safe_id(text: str) -> str:
    """Return an id that Mermaid accepts: letters, digits and underscores, others as their code."""
    return re.sub(r"[^0-9A-Za-z_]", lambda match: f"_{ord(match[0]):x}_", text)


def _label(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _shape(node: Node, graph: Graph) -> str:
    label = _label(node.name)
    for end, last in ((graph.first_node(), False), (graph.last_node(), True)):
        if end is not None and end.id == node.id:
            return f"{safe_id(node.id)}([{label}]):::{'last' if last else 'first'}"
    return (
        f'{safe_id(node.id)}["{label}"]'
        if label != node.name or not label.isidentifier()
        else f"{safe_id(node.id)}({label})"
    )


def mermaid(graph: Graph, with_styles: bool, direction: str) -> str:
    """Return a graph as Mermaid text."""
    lines: list[str] = []
    if with_styles:
        lines.append("---\nconfig:\n  flowchart:\n    curve: linear\n---")
    lines.append(f"graph {direction};")
    if with_styles:
        lines.extend(f"\t{_shape(node, graph)}" for node in graph.nodes.values())
    for edge in graph.edges:
        source, target = safe_id(edge.source), safe_id(edge.target)
        dots = "-.->" if edge.conditional else "-->"
        if edge.data is None:
            lines.append(f"\t{source} {dots} {target};")
        else:
            open_, close = ("-.", ".->") if edge.conditional else ("--", "-->")
            lines.append(f"\t{source} {open_} &nbsp;{_label(str(edge.data))}&nbsp; {close} {target};")
    if with_styles:
        lines.extend(STYLES)
    return "\n".join(lines) + "\n"


def ascii_lines(graph: Graph) -> Iterator[str]:
    """Yield one line per part, from the first on, each with what it leads to."""
    order: list[str] = []
    targets = {edge.target for edge in graph.edges}
    waiting = [id_ for id_ in graph.nodes if id_ not in targets] or list(graph.nodes)[:1]
    while waiting:
        id_ = waiting.pop(0)
        if id_ in order:
            continue
        order.append(id_)
        waiting.extend(edge.target for edge in graph.edges if edge.source == id_)
    order.extend(id_ for id_ in graph.nodes if id_ not in order)
    width = max((len(graph.nodes[id_].name) for id_ in order), default=0)
    for id_ in order:
        leads = [
            graph.nodes[edge.target].name
            + (f" ({edge.data})" if edge.data is not None else "")
            + ("?" if edge.conditional else "")
            for edge in graph.edges
            if edge.source == id_
        ]
        yield f"{graph.nodes[id_].name:<{width}}" + (f"  ->  {', '.join(leads)}" if leads else "")
