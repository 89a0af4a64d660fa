"""A graph that can run: the runtime's verbs over a body of supersteps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clew import _serde
from clew._drive import drive
from clew.errors import InvalidUpdateError
from clew.graph._job import Runner
from clew.graph._nodes import Node, Policies
from clew.graph._plan import END, START, Target
from clew.graph._position import has_next
from clew.graph._state import ROOT, is_dict_like
from clew.graph._steps import Steps
from clew.pregel._begin import START as INPUT
from clew.pregel._pregel import Pregel
from clew.types import Command, Overwrite, Send

if TYPE_CHECKING:
    from clew.checkpoint import _records as R
    from clew.checkpoint._journal import Row
    from clew.config import RunnableConfig
    from clew.graph.state import StateGraph
    from clew.pregel._begin import Start
    from clew.pregel._flow import Flow
    from clew.pregel._thread import Known, Values
    from clew.runnables.graph import Graph
    from clew.types import Multitask, PregelTask, StateSnapshot

_serde.register(Overwrite, tag="clew.Overwrite")


class CompiledStateGraph(Pregel):
    """A checked StateGraph. Made by `StateGraph.compile`; runs, streams and keeps threads as workflows do."""

    refuses_input = True
    default_mode: ClassVar[Any] = "updates"
    recursion_limit: ClassVar[int] = 25

    def __init__(
        self,
        builder: StateGraph,
        *,
        checkpointer: Any = None,
        cache: Any = None,
        store: Any = None,
        interrupt_before: Literal["*"] | Sequence[str] | None = None,
        interrupt_after: Literal["*"] | Sequence[str] | None = None,
        debug: bool = False,
        name: str = "LangGraph",
        multitask: Multitask = "reject",
    ) -> None:
        super().__init__(
            name,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            context_schema=builder.context_schema,
            multitask=multitask,
        )
        self.builder = builder
        self.debug = debug
        self.before = interrupt_before or ()
        self.after = interrupt_after or ()
        self.schema = builder.schema
        self.channels = builder.channels()
        self.plan = builder.plan()
        self.runners = {
            name: Runner(node, builder.policies(name), self.channels, self.schema)
            for name, node in builder.nodes.items()
        }
        entry = Node(START, _as_given, builder.input, Policies(), branches=builder.entry_branches)
        self.entry = Runner(entry, Policies(), self.channels, self.schema)
        self._handlers: dict[str, Runner] = {}
        for schema in (builder.schema, builder.input, builder.output, *(node.input for node in builder.nodes.values())):
            if schema.type is not None and not schema.is_root:
                _serde.register_from_annotations(schema.type)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {', '.join(self.builder.nodes)}>"

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes by name."""
        return self.builder.nodes

    def node(self, name: str) -> Node:
        """Return a node."""
        return self.builder.nodes[name]

    def handler_of(self, node: Node, handler: Any) -> Runner:
        """Return the runner of a node's error handler, called with (state, NodeError)."""
        if node.name not in self._handlers:
            def action(pair: tuple[Any, Any]) -> Any:
                return handler(*pair)

            async def aaction(pair: tuple[Any, Any]) -> Any:
                return await handler(*pair)

            from clew.pregel._spec import is_async

            made = Node(node.name, aaction if is_async(handler) else action, node.input, Policies())
            self._handlers[node.name] = Runner(made, Policies(), self.channels, self.schema)
        return self._handlers[node.name]

    def check_targets(self, source: str, targets: Iterable[Target]) -> None:
        """Raise InvalidUpdateError for a way that leads to no node."""
        for target in targets:
            name = target.node if isinstance(target, Send) else target
            if name != END and name not in self.builder.nodes:
                raise InvalidUpdateError(
                    f"{source!r} leads to {name!r}, which is no node of {self.name!r}; "
                    f"the nodes are {list(self.builder.nodes)}"
                )

    @staticmethod
    def stops_at(names: Sequence[str], stops: Literal["*"] | Sequence[str]) -> bool:
        """Say whether one of these nodes is a breakpoint."""
        return bool(names) and (stops == "*" or any(name in stops for name in names))

    # -- the runtime's hooks -------------------------------------------------------------------------

    async def body(self, flow: Flow) -> Any:
        """Run the supersteps."""
        steps = flow.options["steps"] = Steps(self, flow)
        return await steps.run()

    async def finish(self, flow: Flow, start: Start, outcome: Steps) -> None:
        """Write the last checkpoint."""
        await outcome.finish()

    def shown(self, outcome: Steps) -> Any:
        """Return the output; a Command for the graph around goes there."""
        if outcome.up is not None:
            return outcome.up
        return self.visible(outcome.values, outcome.flow.options)

    def visible(self, values: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """Return the part of the state that callers see: `output_keys`, else the output schema."""
        keys = options.get("output_keys")
        if isinstance(keys, str):
            return values.get(keys)
        if keys is None:
            if self.builder.output.is_root:
                return values.get(ROOT)
            keys = [key for key, channel in self.builder.output.channels.items() if channel.managed is None]
        return {key: values[key] for key in keys if key in values}

    def tell(self, flow: Flow, outcome: Any, error: BaseException | None) -> None:
        """Send the questions to the stream."""
        from clew.errors import GraphInterrupt

        sink = flow.root.sink
        if sink is not None and isinstance(error, GraphInterrupt):
            for mode in ("updates", "values"):
                sink.emit(mode, {"__interrupt__": tuple(error.interrupts)}, flow.frame.namespace)

    async def hold(self, flow: Flow, start: Start) -> None:
        """Write the position that a run with durability "exit" has reached."""
        steps: Steps | None = flow.options.get("steps")
        if steps is not None:
            from clew.graph._holding import hold

            await hold(steps)

    async def result_at(self, values: Values, body: R.Body) -> Any:
        """Return the output that a run ended with."""
        from clew.graph import _snapshots

        return self.visible(await _snapshots.channels_of(self, values, body), {})

    def is_open(self, body: R.Body) -> bool:
        """Say whether there is an input to take or a node to run."""
        return INPUT in body.values or has_next(body.private)

    def takes_command(self, command: Command[Any]) -> bool:
        """A Command may update the state and choose where to go."""
        return command.update is not None or bool(command.goto)

    def private_of_input(self, body: R.Body | None) -> bytes | None:
        """A new input starts at the entry, whatever was planned."""
        return None

    def state_so_far(self, flow: Flow) -> Any:
        """Return the state beside questions."""
        steps: Steps | None = flow.options.get("steps")
        return None if steps is None else self.visible(steps.values, flow.options)

    # -- state ---------------------------------------------------------------------------------------

    def no_values(self) -> Any:
        """Return the values of a thread that has none."""
        return None if self.schema.is_root and not is_dict_like(self.schema.type) else {}

    async def values_of(self, values: Values, body: R.Body) -> Any:
        """Return the state of a checkpoint."""
        from clew.graph import _snapshots

        return await _snapshots.values_of(self, values, body)

    async def tasks_of(self, values: Values, row: Row, body: R.Body, known: Known) -> tuple[PregelTask, ...]:
        """Return what would run next."""
        from clew.graph import _snapshots

        return await _snapshots.tasks_of(self, values, row, body, known)

    async def updated(
        self, values: Values, body: R.Body | None, known: Known, update: Any, as_node: str | None, *, forks: bool
    ) -> tuple[dict[str, R.Ref], list[tuple[int, int, bytes]], bytes | None]:
        """Return the state as if `as_node` had given this update."""
        from clew.graph import _snapshots

        return await _snapshots.updated(self, values, body, update, as_node, forks=forks)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a thread. subgraphs: also of graphs that wait inside a node, in `tasks[i].state`."""
        from clew.graph import _snapshots
        from clew.pregel import _state

        return drive(_snapshots.get(self, _state.blocking(self), config, subgraphs=subgraphs))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Awaitable `get_state`."""
        from clew.graph import _snapshots
        from clew.pregel import _state

        return await _snapshots.get(self, _state.awaiting(self), config, subgraphs=subgraphs)

    # -- what it looks like --------------------------------------------------------------------------

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return a drawing of the nodes and edges. xray: with the insides of subgraphs, so many levels deep."""
        from clew.graph._drawing import draw

        return draw(self, int(xray) if not isinstance(xray, bool) else (99 if xray else 0))

    def get_subgraphs(self, *, recurse: bool = False) -> dict[str, CompiledStateGraph]:
        """Return the compiled graphs among the nodes, by name; recurse: those inside them too, as "outer|inner"."""
        found: dict[str, CompiledStateGraph] = {}
        for name, node in self.builder.nodes.items():
            if isinstance(node.action, CompiledStateGraph):
                found[name] = node.action
                if recurse:
                    found |= {f"{name}|{inner}": one for inner, one in node.action.get_subgraphs(recurse=True).items()}
        return found

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of the input."""
        return _json_schema(self.builder.input.type)

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of the output."""
        return _json_schema(self.builder.output.type)


def _as_given(value: Any) -> Any:
    return value


def _json_schema(state_type: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(state_type).json_schema()
