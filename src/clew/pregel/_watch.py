"""Telling observers about a task: callback handlers and streams. Made only when somebody listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.config import current_config
from clew.errors import GraphInterrupt

if TYPE_CHECKING:
    from clew.pregel._frame import Frame
    from clew.pregel._future import TaskFuture
    from clew.pregel._root import Root


def shown_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments of a call as one value."""
    if kwargs:
        return (args, kwargs)
    return args[0] if len(args) == 1 else args


class Watch:
    """One task under observation."""

    __slots__ = ("frame", "future", "root", "run")

    def __init__(self, root: Root, frame: Frame, future: TaskFuture) -> None:
        self.root = root
        self.frame = frame
        self.future = future
        self.run: Any = None

    def begin(self) -> Any:
        """Tell that the task begins. Returns what to await for async handlers, or None."""
        root, frame = self.root, self.frame
        spec = self.future.spec
        if root.sink is not None and not spec.hidden:
            given = self._input()
            root.sink.started(frame.task_id(), spec.name, given, frame.namespace, step=root.step)
        if root.manager is None:
            return None
        parent = frame.parent
        manager = (
            parent.run_manager if parent is not None and parent.run_manager is not None else root.manager
        ).get_child()
        given = self._input()
        started = manager.on_chain_start(None, given, name=spec.name)
        if hasattr(started, "__await__"):
            return self._abegin(started)
        self._under(started)
        return None

    async def _abegin(self, started: Any) -> None:
        self._under(await started)

    def _input(self) -> Any:
        view = self.future.spec.view
        return (shown_input if view is None else view.input)(self.future.args, self.future.kwargs)

    def _under(self, run: Any) -> None:
        """Make what the task calls report below it."""
        self.run = self.frame.run_manager = run
        config: Any = dict(self.frame.config)
        config["callbacks"] = run.get_child()
        self.frame.config_ = config
        current_config.set(config)

    def end(self, value: Any, *, cached: bool = False) -> Any:
        """Tell the result. Returns what to await, or None."""
        root, spec = self.root, self.future.spec
        if spec.view is not None:
            value = spec.view.result(value)
        if root.sink is not None and not spec.hidden:
            namespace = self.frame.namespace
            root.sink.ended(self.frame.task_id(), spec.name, namespace, result=value, step=root.step)
            root.sink.update(spec.name, value, namespace, cached=cached)
        return None if self.run is None else self.run.on_chain_end(value)

    def fail(self, error: BaseException) -> Any:
        """Tell the failure. Returns what to await, or None."""
        root, spec = self.root, self.future.spec
        if root.sink is not None and not spec.hidden:
            asked = error.interrupts if isinstance(error, GraphInterrupt) else ()
            text = None if asked else repr(error)
            root.sink.ended(
                self.frame.task_id(), spec.name, self.frame.namespace, error=text, interrupts=asked, step=root.step
            )
        return None if self.run is None else self.run.on_chain_error(error)
