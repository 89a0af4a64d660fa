"""What a workflow may call, read from its code: a drawing that exists before any run.

Follows the names that a function uses, through closures, modules and helper functions, to tasks, workflows and
graphs. Every
call is "may": which of them a run makes, and how often, only the run knows.
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

from clew.func._task import TaskFunction
from clew.pregel._pregel import Pregel

if TYPE_CHECKING:
    from clew.func._entrypoint import Workflow
    from clew.runnables.graph import Graph

_LIMIT = 200  # functions looked into


def graph_of(workflow: Workflow) -> Graph:
    """Return the workflow, its tasks and what they may call in turn; questions are marked in a node's metadata."""
    from clew.runnables.graph import Graph

    graph = Graph()
    start = graph.add_node(None, "__start__", name="__start__")
    _Reader(graph).visit(workflow, workflow.name, workflow.func)
    end = graph.add_node(None, "__end__", name="__end__")
    node = graph.nodes[workflow.name]
    graph.add_edge(start, node)
    graph.add_edge(node, end)
    return graph


class _Reader:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.ids: dict[int, str] = {}

    def visit(self, thing: Any, name: str, func: Any) -> str:
        """Add a task or workflow and all that it may call; returns its id."""
        known = self.ids.get(id(thing))
        if known is not None:
            return known
        node_id = name
        number = 2
        while node_id in self.graph.nodes:
            node_id = f"{name}_{number}"
            number += 1
        self.ids[id(thing)] = node_id
        calls, asks = _uses(func)
        metadata = {"asks": True} if asks else None
        node = self.graph.add_node(thing, node_id, name=name, metadata=metadata)
        for called in calls:
            inner = getattr(called, "func", None)
            target = self.visit(called, called.name or type(called).__name__, inner)
            self.graph.add_edge(node, self.graph.nodes[target], conditional=True)
        return node_id


def _uses(func: Any) -> tuple[list[Any], bool]:
    """Return the tasks, workflows and graphs that a function's code names, in order, and whether it asks questions."""
    from clew.func._durable import wait_for
    from clew.types import interrupt

    found: dict[int, Any] = {}
    asks = False
    seen: set[int] = set()
    todo: list[Any] = [func]
    while todo and len(seen) < _LIMIT:
        one = _plain(todo.pop(0))
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        for value in _named(one):
            if isinstance(value, (TaskFunction, Pregel)):
                found.setdefault(id(value), value)  # pyright: ignore[reportUnknownArgumentType] - of any type
            elif value is interrupt or value is wait_for:
                asks = True
            elif isinstance(value, (FunctionType, MethodType)) and value.__module__ == one.__module__:
                todo.append(value)
    return list(found.values()), asks


def _plain(func: Any) -> FunctionType | None:
    while hasattr(func, "func") and not isinstance(func, FunctionType):
        func = func.func
    func = getattr(func, "__func__", func)
    if not isinstance(func, FunctionType):
        func = getattr(cast("Any", type(func)), "__call__", None)  # noqa: B004 - the method itself is wanted
    found: Any = func
    return found if isinstance(found, FunctionType) else None


def _named(func: FunctionType) -> list[Any]:
    """Return the values of the names that a function's code uses, where they can be told without running it."""
    cells: dict[str, Any] = {}
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not yet bound
            continue
    names: dict[str, None] = {}
    _collect(func.__code__, names)
    values: list[Any] = []
    for name in names:
        if name in cells:
            values.append(cells[name])
        elif name in func.__globals__:
            values.append(func.__globals__[name])
    holders = [*cells.values(), *values]
    for holder in holders:  # self.task, module.task
        if not isinstance(holder, (TaskFunction, Pregel, FunctionType, type)) and hasattr(holder, "__dict__"):
            values += [vars(holder)[name] for name in names if name in vars(holder)]
    return values


def _collect(code: CodeType, names: dict[str, None]) -> None:
    for name in (*code.co_names, *code.co_freevars):
        names.setdefault(name)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _collect(constant, names)
