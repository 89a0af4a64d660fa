"""Declare a graph: state, nodes, edges; `compile` checks it and makes it runnable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from clew.graph._compiled import CompiledStateGraph
from clew.graph._nodes import (
    Branch,
    Node,
    Policies,
    branch_ends,
    destinations_of,
    input_type_of,
    name_of,
)
from clew.graph._plan import END, START, Plan
from clew.graph._state import Channel, schema_of
from clew.types import CachePolicy, Multitask, RetryPolicy, TimeoutPolicy

if TYPE_CHECKING:
    from clew.cache.base import BaseCache
    from clew.checkpoint.base import BaseCheckpointSaver
    from clew.store.base import BaseStore

Timeout = float | timedelta | TimeoutPolicy | None
Retry = RetryPolicy | Sequence[RetryPolicy] | None
StateT = TypeVar("StateT")


class StateGraph:
    """A graph whose nodes read and update one shared state.

    state_schema: TypedDict, dataclass or pydantic model (or `dict`: then an update replaces the whole state).
    `Annotated[type, reducer]` says how updates of a key are folded. input_schema, output_schema: which keys a run
    takes and returns; default the whole state. context_schema: type of the read-only `context` of a run.
    """

    def __init__(
        self,
        state_schema: Any,
        context_schema: type | None = None,
        *,
        input_schema: Any = None,
        output_schema: Any = None,
    ) -> None:
        self.schema = schema_of(state_schema)
        self.context_schema = context_schema
        self.input = self.schema if input_schema is None else schema_of(input_schema)
        self.output = self.schema if output_schema is None else schema_of(output_schema)
        self.nodes: dict[str, Node] = {}
        self.edges: set[tuple[str, str]] = set()
        self.joins: list[tuple[tuple[str, ...], str]] = []
        self.entry_branches: list[Branch] = []
        self._defaults = Policies()

    def set_node_defaults(
        self,
        *,
        retry_policy: Retry = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Callable[..., Any] | None = None,
        timeout: Timeout = None,
    ) -> Self:
        """Set the policies of every node that does not set its own, also of nodes already added."""
        self._defaults = Policies(retry_policy, cache_policy, error_handler, timeout).over(self._defaults)
        return self

    def add_node(
        self,
        node: str | Callable[..., Any],
        action: Any = None,
        *,
        defer: bool = False,
        metadata: dict[str, Any] | None = None,
        input_schema: Any = None,
        retry_policy: Retry = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Callable[..., Any] | None = None,
        destinations: Mapping[str, str] | Sequence[str] | None = None,
        timeout: Timeout = None,
    ) -> Self:
        """Add a node.

        node: its name, or the function itself. action: function `(state) -> update`, or a Runnable; it may also take
        config, runtime, store, writer or previous. defer: run it only when nothing else is left.
        error_handler: `(state, NodeError) -> update` after the last attempt failed. destinations: where its Commands
        may lead, when the annotation `-> Command[Literal[...]]` does not say so.
        Raises: ValueError for a name that is taken or reserved.
        """
        if not isinstance(node, str):
            node, action = name_of(node), node
        elif action is None:
            raise ValueError(f"add_node({node!r}) needs the function: add_node({node!r}, function)")
        if node in self.nodes:
            raise ValueError(f"there is a node {node!r} already")
        if node in {START, END} or any(sign in node for sign in ":|"):
            raise ValueError(f"{node!r} can't be a node's name: {START}, {END} and the signs ':' and '|' are reserved")
        given = input_schema if input_schema is not None else input_type_of(action)
        self.nodes[node] = Node(
            name=node,
            action=action,
            input=self.schema if given is None or given is self.schema.type else schema_of(given),
            policies=Policies(retry_policy, cache_policy, error_handler, timeout),
            defer=defer,
            metadata=metadata,
            destinations=tuple(destinations) if destinations else destinations_of(action),
        )
        return self

    def add_edge(self, start_key: str | list[str], end_key: str) -> Self:
        """Lead from one node to another; a list of starts is a join: the end runs when all of them have.

        Raises: ValueError for an edge out of END or into START.
        """
        starts = [start_key] if isinstance(start_key, str) else start_key
        if END in starts or end_key == START:
            raise ValueError(f"no edge may leave {END} or lead into {START}")
        if isinstance(start_key, str):
            self.edges.add((start_key, end_key))
        else:
            self.joins.append((tuple(start_key), end_key))
        return self

    def add_conditional_edges(
        self, source: str, path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None = None
    ) -> Self:
        """Let a function choose what follows.

        path: `(state) -> node name, Send, or a list of them`, called with the state after the source's update.
        path_map: what the function returns -> node name. Without it the return annotation `Literal[...]` says where
        the branch may lead.
        Raises: ValueError when the source has a branch of that name already.
        """
        branch = Branch(path, _branch_name(path), branch_ends(path, path_map))
        branches = self._branches(source)
        if any(branch.name == other.name for other in branches):
            raise ValueError(f"{source!r} has a branch {branch.name!r} already")
        branches.append(branch)
        return self

    def _branches(self, source: str) -> list[Branch]:
        if source == START:
            return self.entry_branches
        if source not in self.nodes:
            raise ValueError(f"add the node {source!r} before its conditional edges")
        return self.nodes[source].branches

    def add_sequence(self, nodes: Sequence[Any]) -> Self:
        """Add nodes (functions or (name, function)) and lead from each to the next."""
        if not nodes:
            raise ValueError("a sequence needs at least one node")
        before: str | None = None
        for node in nodes:
            pair = cast("tuple[str, Any]", node) if isinstance(node, tuple) else (name_of(node), node)
            self.add_node(*pair)
            if before is not None:
                self.add_edge(before, pair[0])
            before = pair[0]
        return self

    def set_entry_point(self, key: str) -> Self:
        """Start at this node: the same as an edge from START."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self, path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None = None
    ) -> Self:
        """Let a function choose where to start."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> Self:
        """End after this node: the same as an edge to END."""
        return self.add_edge(key, END)

    def validate(self, interrupt: Sequence[str] | None = None) -> Self:
        """Check that every edge leads somewhere and something leads in. Raises: ValueError naming what is wrong."""
        sources = {start for start, _ in self.edges} | {start for starts, _ in self.joins for start in starts}
        targets = {end for _, end in self.edges} | {end for _, end in self.joins}
        for branch in [*self.entry_branches, *(b for node in self.nodes.values() for b in node.branches)]:
            targets.update((branch.ends or {}).values())
        for name in sorted(sources - {START} - set(self.nodes)):
            raise ValueError(f"an edge leaves {name!r}, which is no node; the nodes are {sorted(self.nodes)}")
        for name in sorted(targets - {END} - set(self.nodes)):
            raise ValueError(f"an edge leads to {name!r}, which is no node; the nodes are {sorted(self.nodes)}")
        if START not in sources and not self.entry_branches:
            raise ValueError(f"nothing leads in: add_edge(START, ...) to one of {sorted(self.nodes)}")
        for name in interrupt or ():
            if name not in self.nodes:
                raise ValueError(f"can't stop at {name!r}, which is no node; the nodes are {sorted(self.nodes)}")
        return self

    def compile(
        self,
        checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
        *,
        cache: BaseCache[Any] | None = None,
        store: BaseStore | None = None,
        interrupt_before: Literal["*"] | list[str] | None = None,
        interrupt_after: Literal["*"] | list[str] | None = None,
        debug: bool = False,
        name: str | None = None,
        multitask_strategy: Multitask = "reject",
    ) -> CompiledStateGraph:
        """Check the graph and make it runnable.

        checkpointer: where progress is saved; None inside another graph means the outer one's, False none.
        interrupt_before, interrupt_after: nodes to stop at ("*" for all); `invoke(None)` goes on.
        multitask_strategy: what happens to a call on a thread that is busy, as for `entrypoint`.
        Raises: ValueError naming what is wrong with the graph.
        """
        if checkpointer is True:
            raise ValueError(
                "checkpointer=True (a subgraph with a memory of its own) is not offered: a graph inside another one "
                "keeps its progress with it; for a memory of its own give it a saver and a thread_id of its own"
            )
        stops = [*_names(interrupt_before), *_names(interrupt_after)]
        self.validate(stops)
        return CompiledStateGraph(
            self,
            checkpointer=checkpointer,
            cache=cache,
            store=store,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            debug=debug,
            name=name or "LangGraph",
            multitask=multitask_strategy,
        )

    def channels(self) -> dict[str, Channel]:
        """Return every key that the state or a node's own input names; the state's reading of a key wins."""
        schemas = [*(node.input for node in self.nodes.values()), self.output, self.input, self.schema]
        return {key: channel for schema in schemas for key, channel in schema.channels.items()}

    def plan(self) -> Plan:
        """Return the edges, ready to be followed."""
        edges: dict[str, list[str]] = {}
        for start, end in sorted(self.edges):
            edges.setdefault(start, []).append(end)
        return Plan(
            order={name: place for place, name in enumerate(self.nodes)},
            edges=edges,
            joins={f"join:{'+'.join(starts)}:{end}": (starts, end) for starts, end in self.joins},
            deferred=frozenset(name for name, node in self.nodes.items() if node.defer),
        )

    def policies(self, node: str) -> Policies:
        """Return a node's policies, defaults filled in."""
        return self.nodes[node].policies.over(self._defaults)


def _names(stops: Literal["*"] | list[str] | None) -> list[str]:
    return [] if stops is None or stops == "*" else list(stops)


def _branch_name(path: Any) -> str:
    name = getattr(path, "__name__", None) or getattr(path, "name", None) or type(path).__name__
    return str(name)
