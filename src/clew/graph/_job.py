"""One node's work in one step, as a durable task: read the state, run the action, keep what came of it.

What is recorded of a node is its *outcome*, plain data: the updates it gave and where it leads. Its branches are
evaluated inside the task, so a resumed run follows the recorded way and asks no branch twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from clew._run import current
from clew.errors import InvalidUpdateError
from clew.graph._plan import Call, Target
from clew.graph._state import apply as apply_updates
from clew.graph._state import as_update
from clew.pregel._attempts import identity
from clew.pregel._pregel import Pregel
from clew.pregel._spec import INJECTED, Spec, is_async
from clew.runnables import Runnable
from clew.types import CachePolicy, Command, Send, TimeoutPolicy

if TYPE_CHECKING:
    from clew.graph._nodes import Branch, Node, Policies
    from clew.graph._state import Channel, Schema

Outcome = list[Any]
"""[updates by key, targets (name, or [node, arg] of a Send), a Command for the graph around or None]"""


class Job:
    """One call of a node.

    values: the state as the step began. after: the values with the node's own update, once its branches wanted them.
    """

    __slots__ = ("after", "arg", "is_send", "node", "remaining", "values")

    def __init__(self, node: Node, call: Call, values: Mapping[str, Any], remaining: int) -> None:
        self.node = node
        self.arg = call.arg
        self.is_send = call.is_send
        self.values = values
        self.remaining = remaining
        self.after: dict[str, Any] | None = None

    def state(self) -> Any:
        """Return what the node is given."""
        return self.arg if self.is_send else self.node.input.read(self.values, remaining=self.remaining)


class Runner:
    """Runs one node. blocking, awaited: the task as either face starts it."""

    def __init__(self, node: Node, policies: Policies, channels: Mapping[str, Channel], schema: Schema) -> None:
        self.node = node
        self.channels = channels
        self.schema = schema
        self.extras = _extras(node.action)
        self.is_graph = isinstance(node.action, Pregel)
        runnable = self.is_runnable = isinstance(node.action, Runnable)
        needs_loop = not runnable and (is_async(node.action) or any(is_async(branch.path) for branch in node.branches))
        self.handler = policies.error_handler
        options: dict[str, Any] = {
            "retry": _policies(policies.retry_policy),
            "cache": _cache_policy(policies.cache_policy),
            "timeout": TimeoutPolicy.coerce(policies.timeout),
            "match": "place",
            "view": _View,
            "inject": frozenset[str](),
        }
        if options["timeout"] is not None and not (runnable or needs_loop):
            raise ValueError(
                f"the node {node.name!r} has a timeout and is not async: a thread can't be stopped from outside"
            )
        self.awaited = Spec(self.arun if runnable or needs_loop else self.run, node.name, **options)
        options["timeout"] = None
        self.blocking = self.awaited if needs_loop else Spec(self.run, node.name, **options)
        if policies.cache_policy is not None:
            self.awaited.identity = self.blocking.identity = identity(Spec(node.action, node.name))

    def run(self, job: Job) -> Outcome:
        """Run the node in this thread."""
        action, state = self.node.action, job.state()
        if self.is_graph:
            result: Any = action.invoke(state)
        elif self.is_runnable:
            result = action.invoke(state, _config())
        else:
            result = action(state, **self._given()) if self.extras else action(state)
        outcome = self.outcome(job, result)
        for branch, chosen in self._branches(job, outcome):
            outcome[1] += map(_plain, branch.targets(_call(branch.path, chosen)))
        return outcome

    async def arun(self, job: Job) -> Outcome:
        """Run the node on the event loop; a plain function of an otherwise async node goes to a thread."""
        action, state = self.node.action, job.state()
        if self.is_graph:
            result: Any = await action.ainvoke(state)
        elif self.is_runnable:
            result = await action.ainvoke(state, _config())
        else:
            result = await _acall(action, state, self._given())
        outcome = self.outcome(job, result)
        for branch, chosen in self._branches(job, outcome):
            outcome[1] += map(_plain, branch.targets(await _acall(branch.path, chosen, {})))
        return outcome

    def outcome(self, job: Job, result: Any) -> Outcome:
        """Return what a result means: updates and where they lead. Raises: InvalidUpdateError for what is neither."""
        several = isinstance(result, (list, tuple)) and any(isinstance(part, Command) for part in cast("Any", result))
        parts: list[Any] = list(cast("Any", result)) if several else [result]
        updates: list[Any] = []
        targets: list[Any] = []
        for part in parts:
            if not isinstance(part, Command):
                updates.append(self._update(part))
                continue
            command = cast("Command[Any]", part)
            if command.graph == Command.PARENT:
                return [[], [], part_of(command)]
            if command.graph is not None:
                raise InvalidUpdateError(
                    f"{job.node.name!r} returned a Command for the graph {command.graph!r}; "
                    "graph= is None or Command.PARENT"
                )
            if command.update is not None:
                updates.append(self._update(command.update))
            targets += map(_plain, goto_of(command))
        return [[update for update in updates if update], targets, None]

    def _update(self, value: Any) -> dict[str, Any]:
        update = as_update(value, self.schema, self.node.name)
        if self.is_graph:  # what a subgraph keeps for itself is not the outer graph's business
            return {key: one for key, one in update.items() if key in self.channels}
        return update

    def _branches(self, job: Job, outcome: Outcome) -> list[tuple[Branch, Any]]:
        """Return the branches to follow with the state that they look at."""
        branches = self.node.branches
        if not branches or outcome[2] is not None:
            return []
        job.after = apply_updates(self.channels, job.values, [(self.node.name, one) for one in outcome[0]])
        state = self.schema.read(job.after, remaining=job.remaining)
        return [(branch, state) for branch in branches]

    def _given(self) -> dict[str, Any]:
        from clew.pregel._frame import prepare

        frame: Any = current.get()
        return prepare(frame, self.extras, {})


class _View:
    """What observers see of a node's task."""

    @staticmethod
    def input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the state that the node was given."""
        return args[0].state() if args else None

    @staticmethod
    def result(outcome: Outcome) -> Any:
        """Return the update: one, a list of several, or None."""
        from clew.graph._state import ROOT

        updates = [one.get(ROOT, one) for one in outcome[0]]
        return updates[0] if len(updates) == 1 else updates or None


def _extras(action: Any) -> frozenset[str]:
    """Return which of config, runtime, store, writer, previous the action takes beside the state."""
    if isinstance(action, Runnable):
        return frozenset()
    import inspect

    try:
        parameters = list(inspect.signature(action).parameters.values())
    except (TypeError, ValueError):  # a builtin
        return frozenset()
    return frozenset(one.name for one in parameters[1:] if one.name in INJECTED)


def _policies(policy: Any) -> tuple[Any, ...]:
    from clew.func._task import policies

    return policies(policy)


def _cache_policy(policy: CachePolicy | None) -> CachePolicy | None:
    """Return the policy with its key taken from the state."""
    if policy is None:
        return None
    key = policy.key_func

    def of_state(job: Job) -> str | bytes:
        return key(job.state())

    return CachePolicy(key_func=of_state, ttl=policy.ttl)


def _config() -> Any:
    frame: Any = current.get()
    return frame.config


def _call(path: Any, state: Any) -> Any:
    return path.invoke(state, _config()) if hasattr(path, "invoke") else path(state)


async def _acall(function: Any, state: Any, given: dict[str, Any]) -> Any:
    if hasattr(function, "ainvoke"):
        return await function.ainvoke(state, _config())
    if is_async(function):
        return await function(state, **given)
    from clew.runnables.config import run_in_executor

    return await run_in_executor(None, function, state, **given)


def goto_of(command: Command[Any]) -> list[Target]:
    """Return where a Command leads."""
    goto = command.goto
    if isinstance(goto, (str, Send)):
        return [goto]
    return list(goto) if goto else []


def part_of(command: Command[Any]) -> Outcome:
    """Return a Command for the graph around, as plain data."""
    return [command.update, [_plain(one) for one in goto_of(command)]]


def command_of(part: Outcome) -> Command[Any]:
    """Return the Command that `part_of` took apart, as one for the graph that receives it."""
    return Command(update=part[0], goto=[targets_of(one) for one in part[1]])


def _plain(target: Target) -> Any:
    return [target.node, target.arg] if isinstance(target, Send) else target


def targets_of(plain: Any) -> Target:
    """Return a target as the plan takes it."""
    return plain if isinstance(plain, str) else Send(plain[0], plain[1])
