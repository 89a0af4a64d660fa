"""Find the parts of runnables: their graph, the prompts in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.runnables.graph import Graph, Node

if TYPE_CHECKING:
    from clew.config import RunnableConfig


def graph_of(runnable: Any, config: RunnableConfig | None) -> Graph:
    """Return the graph of a runnable with its input and output."""
    graph = Graph()
    first, last = add(graph, runnable, config)
    start = graph.add_node(_schema(runnable, "Input", config), name=runnable.get_name("Input"))
    end = graph.add_node(_schema(runnable, "Output", config), name=runnable.get_name("Output"))
    graph.nodes = {start.id: start, **{k: v for k, v in graph.nodes.items() if k != start.id}}
    graph.edges = [*[_edge(start, node) for node in first], *graph.edges, *[_edge(node, end) for node in last]]
    return graph


def _edge(source: Node, target: Node) -> Any:
    from clew.runnables.graph import Edge

    return Edge(source.id, target.id)


def _schema(runnable: Any, side: str, config: RunnableConfig | None) -> Any:
    try:
        return runnable.get_input_schema(config) if side == "Input" else runnable.get_output_schema(config)
    except TypeError:  # a runnable that does not state its types
        return None


def add(graph: Graph, runnable: Any, config: RunnableConfig | None) -> tuple[list[Node], list[Node]]:
    """Add the parts of a runnable; return those that its input goes to and those that its output comes from."""
    from clew.runnables._binding import RunnableBindingBase
    from clew.runnables._each import RunnableEachBase
    from clew.runnables._parallel import RunnableParallel
    from clew.runnables._sequence import RunnableSequence
    from clew.runnables.branch import RunnableBranch
    from clew.runnables.configurable import DynamicRunnable
    from clew.runnables.passthrough import RunnableAssign

    if isinstance(runnable, RunnableSequence):
        return _chain(graph, runnable.steps, config)
    if isinstance(runnable, RunnableParallel) and runnable.steps__:
        return _side_by_side(graph, list(runnable.steps__.values()), config)
    if isinstance(runnable, RunnableAssign):
        from clew.runnables.passthrough import RunnablePassthrough

        return _side_by_side(graph, [*runnable.mapper.steps__.values(), RunnablePassthrough()], config)
    if isinstance(runnable, RunnableBranch):
        return _branches(graph, runnable, config)
    if isinstance(runnable, DynamicRunnable):
        return add(graph, runnable.prepare(config)[0], config)
    if isinstance(runnable, (RunnableBindingBase, RunnableEachBase)):
        return add(graph, runnable.bound, config)
    node = graph.add_node(runnable)
    return [node], [node]


def _chain(graph: Graph, steps: list[Any], config: RunnableConfig | None) -> tuple[list[Node], list[Node]]:
    first, last = add(graph, steps[0], config)
    for step in steps[1:]:
        begins, ends = add(graph, step, config)
        graph.edges.extend(_edge(source, target) for source in last for target in begins)
        last = ends
    return first, last


def _side_by_side(graph: Graph, steps: list[Any], config: RunnableConfig | None) -> tuple[list[Node], list[Node]]:
    first: list[Node] = []
    last: list[Node] = []
    for step in steps:
        begins, ends = add(graph, step, config)
        first += begins
        last += ends
    return first, last


def _branches(graph: Graph, branch: Any, config: RunnableConfig | None) -> tuple[list[Node], list[Node]]:
    choice = graph.add_node(branch)
    last: list[Node] = []
    for runnable in [*(pair[1] for pair in branch.branches), branch.default]:
        begins, ends = add(graph, runnable, config)
        for node in begins:
            graph.add_edge(choice, node, conditional=True)
        last += ends
    return [choice], last


def prompts_of(runnable: Any, config: RunnableConfig | None) -> list[Any]:
    """Return the prompt templates among the parts of a runnable."""
    from clew._lazy import resolve

    template = resolve("clew.prompts:BasePromptTemplate")
    graph = Graph()
    add(graph, runnable, config)
    return [node.data for node in graph.nodes.values() if isinstance(node.data, template)]
