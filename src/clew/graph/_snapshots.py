"""Reading and changing a graph's state beside any run.

The state of a graph that waits inside a node is not stored: it is what the recorded outcomes of its nodes fold to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.checkpoint import _records as R
from clew.errors import InvalidUpdateError
from clew.graph._job import targets_of
from clew.graph._plan import END, START, Position
from clew.graph._position import pack_position, unpack_position
from clew.graph._state import ROOT, apply, as_update, start_values
from clew.pregel import _state
from clew.pregel._begin import START as INPUT
from clew.pregel._root import show
from clew.pregel._thread import Known, shared
from clew.types import PregelTask, StateSnapshot

if TYPE_CHECKING:
    from clew.checkpoint._journal import Row
    from clew.graph._compiled import CompiledStateGraph
    from clew.graph._nodes import Node
    from clew.pregel._state import Reader
    from clew.pregel._thread import Values


async def channels_of(graph: CompiledStateGraph, values: Values, body: R.Body) -> dict[str, Any]:
    """Return the state of a checkpoint by key."""
    found = {key: await values.value(ref) for key, ref in body.values.items() if key in graph.channels}
    return {**start_values(graph.channels), **found}


async def values_of(graph: CompiledStateGraph, values: Values, body: R.Body) -> Any:
    """Return the state as snapshots show it."""
    found = await channels_of(graph, values, body)
    if graph.schema.is_root:
        return found.get(ROOT, graph.no_values())
    return {key: found[key] for key in graph.schema.channels if key in found}


async def tasks_of(
    graph: CompiledStateGraph, values: Values, row: Row, body: R.Body, known: Known
) -> tuple[PregelTask, ...]:
    """Return the calls of the step after a checkpoint; of the newest one, those that have no outcome yet."""
    thread_id, codec = values.place.thread_id, values.codec
    if INPUT in body.values:
        return (PregelTask(R.task_id(thread_id, row.id, ""), START, ("__pregel_pull", START)),)
    position, _ = unpack_position(body.private, codec)
    questions = known.waiting()
    tasks: list[PregelTask] = []
    paths = [f"s{body.step + 1}-{number}" for number in range(len(position.next))]
    done = {path for path in paths if isinstance(known.outcomes.get(path), R.Result)}
    if row.id != values.place.latest or len(done) == len(paths):  # the step is not over: its checkpoint is missing
        done = set[str]()
    for number, (call, path) in enumerate(zip(position.next, paths, strict=True)):
        if path in done:
            continue
        asked = tuple(show(one, codec) for one in questions if one.path.startswith(path + "."))
        kind = ("__pregel_push", number) if call.is_send else ("__pregel_pull", call.node)
        tasks.append(PregelTask(R.task_id(thread_id, row.id, path), call.node, kind, _error(known, path), asked))
    return tuple(tasks)


def _error(known: Known, path: str) -> Exception | None:
    for end in reversed(known.failures):
        if any(one[0] == path for one in end.retry):
            return RuntimeError(end.text)
    return None


async def get(graph: CompiledStateGraph, reader: Reader, config: Any, *, subgraphs: bool) -> StateSnapshot:
    """Return the state of a thread."""
    found = await _state.get(graph, reader, config)
    if not subgraphs or not found.tasks or found.metadata is None:
        return found
    from clew.checkpoint._views import records_of
    from clew.pregel._config import thread_of

    thread_id, ns = thread_of(config)
    place = await reader.io.load(thread_id, ns, found.config["configurable"]["checkpoint_id"])
    if place is None or place.head is None:
        return found
    known = Known(records_of(reader.codec, thread_id, place.records))
    tasks: list[PregelTask] = []
    step = found.metadata["step"] + 1
    values = found.values if not graph.schema.is_root else {ROOT: found.values}
    for task in found.tasks:
        node = graph.builder.nodes.get(task.name)
        if node is not None and hasattr(node.action, "builder"):
            at, ids = place.head.id, range(len(known.outcomes) + 1)
            number = next((n for n in ids if R.task_id(thread_id, at, f"s{step}-{n}") == task.id), 0)
            inside = _inside(node, f"s{step}-{number}.", node.input.read(values), known, reader.codec, found.config)
            task = task._replace(state=inside)
        tasks.append(task)
    return found._replace(tasks=tuple(tasks))


def _inside(node: Node, prefix: str, given: Any, known: Known, codec: Any, config: Any) -> StateSnapshot | None:
    """Return the state of a graph inside a node, from the outcomes on record below `prefix`."""
    graph: CompiledStateGraph = node.action  # type: ignore[assignment] - the caller looked
    own = [path for path in known.outcomes if path.startswith(prefix)]
    if not own:
        return None
    deeper = {path[len(prefix) :].split(".")[0] for path in own}
    if not any(one.startswith("s") for one in deeper):  # the call of the graph is itself a call of the node
        prefix += f"{sorted(deeper)[0]}."
    values = start_values(graph.channels)
    values = apply(graph.channels, values, [(START, as_update(given, graph.builder.input, START))])
    entry = known.outcomes.get(f"{prefix}s0")
    chosen: list[Any] = codec.decode(entry.value)[1] if isinstance(entry, R.Result) else []
    position = graph.plan.advance(Position(), [(START, [targets_of(one) for one in chosen])])
    step = 1
    while position.next:
        results = [known.outcomes.get(f"{prefix}s{step}-{number}") for number in range(len(position.next))]
        if not all(isinstance(one, R.Result) for one in results):
            break
        outcomes = [codec.decode(one.value) for one in results]  # type: ignore[union-attr] - looked at above
        calls = position.next
        updates = [(call.node, one) for call, outcome in zip(calls, outcomes, strict=True) for one in outcome[0]]
        values = apply(graph.channels, values, updates)
        done = [
            (call.node, [targets_of(one) for one in outcome[1]]) for call, outcome in zip(calls, outcomes, strict=True)
        ]
        position = graph.plan.advance(position, done)
        step += 1
    waiting = known.waiting()
    tasks: list[PregelTask] = []
    for number, call in enumerate(position.next):
        path = f"{prefix}s{step}-{number}"
        asked = tuple(show(one, codec) for one in waiting if one.path.startswith(path + "."))
        inner = graph.builder.nodes[call.node]
        state = None
        if hasattr(inner.action, "builder"):
            arg = call.arg if call.is_send else inner.input.read(values)
            state = _inside(inner, path + ".", arg, known, codec, config)
        tasks.append(PregelTask(path, call.node, ("__pregel_pull", call.node), None, asked, state))
    shown: Any = values.get(ROOT) if graph.schema.is_root else values
    questions = tuple(one for task in tasks for one in task.interrupts)
    metadata = {"source": "loop", "step": step - 1, "parents": dict[str, Any]()}
    names = tuple(task.name for task in tasks)
    return StateSnapshot(shown, names, config, metadata, None, None, tuple(tasks), questions)


async def updated(
    graph: CompiledStateGraph, values: Values, body: R.Body | None, update: Any, as_node: str | None, *, forks: bool
) -> tuple[dict[str, R.Ref], list[tuple[int, int, bytes]], bytes | None]:
    """Return references, rows and position after an update by hand."""
    codec = values.codec
    position, last = (Position(), ()) if body is None else unpack_position(body.private, codec)
    old = start_values(graph.channels) if body is None else await channels_of(graph, values, body)
    node = as_node if as_node is not None else (last[0] if len(last) == 1 else START if body is None else None)
    if node is None:
        raise InvalidUpdateError(
            f"say whose update this is: update_state(..., as_node=...) with one of {list(graph.nodes)}"
        )
    if node not in graph.nodes and node not in (START, END):
        raise InvalidUpdateError(f"{node!r} is no node of {graph.name!r}; the nodes are {list(graph.nodes)}")
    new = apply(graph.channels, old, [(node, as_update(update, graph.schema, node))])
    if node == END:
        position = Position()
    else:
        runner = graph.entry if node == START else graph.runners[node]
        state = graph.schema.read(new)
        chosen = [one for branch in runner.node.branches for one in branch.targets(_choose(branch.path, state))]
        position = graph.plan.advance(Position((), position.joins, position.deferred), [(node, chosen)])
    refs: dict[str, R.Ref] = {}
    rows: list[tuple[int, int, bytes]] = []
    base = {} if body is None else shared(body.values) if forks else body.values
    for key, value in new.items():
        if key in old and old[key] is value and key in base:
            refs[key] = base[key]
        else:
            refs[key], more = values.write(codec.encode(value), base.get(key))
            rows += more
    return refs, rows, pack_position(position, (node,), codec)


def _choose(path: Any, state: Any) -> Any:
    return path.invoke(state) if hasattr(path, "invoke") else path(state)
