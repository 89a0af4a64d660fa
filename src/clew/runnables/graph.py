"""The parts of a runnable and how they hang together, for drawing: Mermaid text, ASCII, JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Edge", "Graph", "Node"]


class Node(NamedTuple):
    """One part: a runnable, or a pydantic model for input and output."""

    id: str
    name: str
    data: Any = None
    metadata: dict[str, Any] | None = None


class Edge(NamedTuple):
    """From one part to the next; data: a label. conditional: taken or not."""

    source: str
    target: str
    data: Any = None
    conditional: bool = False


@dataclass
class Graph:
    """Parts (`nodes`, by id) and connections (`edges`)."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])

    def next_id(self) -> str:
        """Return an id that no node has."""
        number = len(self.nodes)
        while str(number) in self.nodes:
            number += 1
        return str(number)

    def add_node(
        self, data: Any, id: str | None = None, *, name: str | None = None, metadata: dict[str, Any] | None = None
    ) -> Node:
        """Add a part.

        Raises: ValueError if there is one with that id.
        """
        if id is not None and id in self.nodes:
            raise ValueError(f"there is a node with the id {id!r} already")
        node = Node(id or self.next_id(), name or _name_of(data), data, metadata)
        self.nodes[node.id] = node
        return node

    def add_edge(self, source: Node, target: Node, data: Any = None, conditional: bool = False) -> Edge:
        """Connect two parts.

        Raises: ValueError if one of them is not in this graph.
        """
        for node in (source, target):
            if node.id not in self.nodes:
                raise ValueError(f"the node {node.id!r} is not in the graph")
        edge = Edge(source.id, target.id, data, conditional)
        self.edges.append(edge)
        return edge

    def remove_node(self, node: Node) -> None:
        """Take a part and its connections away."""
        self.nodes.pop(node.id, None)
        self.edges = [edge for edge in self.edges if node.id not in (edge.source, edge.target)]

    def extend(self, other: Graph, *, prefix: str = "") -> tuple[Node | None, Node | None]:
        """Add another graph's parts under new ids; return its first and last part as they are here."""
        ids: dict[str, str] = {}
        for node in other.nodes.values():
            ids[node.id] = f"{prefix}:{node.id}" if prefix else self.next_id()
            self.nodes[ids[node.id]] = node._replace(id=ids[node.id])
        self.edges += [edge._replace(source=ids[edge.source], target=ids[edge.target]) for edge in other.edges]
        first, last = other.first_node(), other.last_node()
        return (self.nodes[ids[first.id]] if first else None, self.nodes[ids[last.id]] if last else None)

    def first_node(self) -> Node | None:
        """Return the part that nothing leads to, if there is just one."""
        targets = {edge.target for edge in self.edges}
        found = [node for node in self.nodes.values() if node.id not in targets]
        return found[0] if len(found) == 1 else None

    def last_node(self) -> Node | None:
        """Return the part that leads nowhere, if there is just one."""
        sources = {edge.source for edge in self.edges}
        found = [node for node in self.nodes.values() if node.id not in sources]
        return found[0] if len(found) == 1 else None

    def trim_first_node(self) -> None:
        """Take the first part away, if just one leads on from it."""
        self._trim(self.first_node(), "source")

    def trim_last_node(self) -> None:
        """Take the last part away, if just one leads to it."""
        self._trim(self.last_node(), "target")

    def _trim(self, node: Node | None, side: str) -> None:
        if node is not None and len(self.nodes) > 1 and sum(getattr(edge, side) == node.id for edge in self.edges) == 1:
            self.remove_node(node)

    def to_json(self, *, with_schemas: bool = False) -> dict[str, Any]:
        """Return the graph as plain data."""
        return {
            "nodes": [
                {"id": node.id, "type": _kind_of(node.data), "data": {"name": node.name}}
                for node in self.nodes.values()
            ],
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    **({"data": str(edge.data)} if edge.data is not None else {}),
                    **({"conditional": True} if edge.conditional else {}),
                }
                for edge in self.edges
            ],
        }

    def draw_mermaid(self, *, with_styles: bool = True, direction: str = "TD") -> str:
        """Return the graph as Mermaid text; direction: TD or LR."""
        from clew.runnables._mermaid import mermaid

        return mermaid(self, with_styles, direction)

    def draw_ascii(self) -> str:
        """Return the graph as text: one line per part, each with what it leads to."""
        from clew.runnables._mermaid import ascii_lines

        return "\n".join(ascii_lines(self))

    def print_ascii(self) -> None:
        """Print the graph as text."""
        print(self.draw_ascii())  # noqa: T201 - its purpose


def _name_of(data: Any) -> str:
    name: Any = data.get_name() if hasattr(data, "get_name") else getattr(data, "__name__", None) or str(data)
    return name.removeprefix("Runnable") if name.startswith("Runnable") and len(name) > len("Runnable") else name


def _kind_of(data: Any) -> str:
    if isinstance(data, type):
        return "schema"
    return "runnable" if getattr(data, "_is_runnable", False) else "unknown"
