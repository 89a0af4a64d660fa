"""What a body is given: its frame, its input, and the ways to wait, whichever face drives it.

A workflow of functions and a graph differ only in their body. Bodies are coroutines; on the blocking face they are
driven
by hand and `wait` blocks, on the awaited face they run on the caller's loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.pregel._attempts import wait_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.checkpoint import _records as R
    from clew.pregel._begin import Start
    from clew.pregel._frame import Frame
    from clew.pregel._future import TaskFuture
    from clew.pregel._pregel import Pregel
    from clew.pregel._root import Root
    from clew.types import Command


class Flow:
    """One body and its surroundings.

    start: the checkpoint it starts from; None without a saver and for a body inside another run. input: the given (or
    recorded) input, MISSING when a graph goes on from its position. awaited: an event loop drives this.
    """

    __slots__ = ("awaited", "frame", "input", "options", "root", "start", "workflow")

    def __init__(
        self, workflow: Pregel, root: Root, frame: Frame, start: Start | None, input: Any, awaited: bool
    ) -> None:
        self.workflow = workflow
        self.root = root
        self.frame = frame
        self.start = start
        self.input = input
        self.awaited = awaited
        self.options: dict[str, Any] = {}

    @property
    def command(self) -> Command[Any] | None:
        """The Command that this attempt began with, or None."""
        return self.start.command if self.start is not None else None

    @property
    def body(self) -> R.Body | None:
        """The checkpoint this attempt starts from, or None."""
        return self.start.body if self.start is not None else None

    async def wait(self, future: TaskFuture) -> Any:
        """Return the result of a task, or raise what it raised."""
        return await future if self.awaited else future.result()

    async def run(self, function: Callable[..., Any], *args: Any, is_async: bool, **kwargs: Any) -> Any:
        """Call a user's function as the body: here when it fits the face, else where it does no harm."""
        if is_async:
            return await function(*args, **kwargs)
        if not self.awaited:
            return function(*args, **kwargs)
        from clew.pregel._awaiting import in_thread

        def call() -> Any:
            from threading import get_ident

            self.frame.task = None
            self.frame.owner = get_ident()
            return function(*args, **kwargs)

        return await in_thread(self.root, call)

    async def sleep(self, seconds: float) -> None:
        """Wait without recording anything."""
        if self.awaited:
            import asyncio

            await asyncio.sleep(seconds)
        else:
            import time

            time.sleep(seconds)  # noqa: ASYNC251 - driven by hand, no loop runs


async def with_retries(flow: Flow, call: Callable[[], Any]) -> Any:
    """Run a body with the workflow's retry policy; each attempt replays what the ones before finished."""
    root, policies = flow.root, flow.workflow.retry_policy
    attempt = root.attempts.get("", 0) + 1
    while True:
        flow.frame.attempt = attempt
        try:
            return await call()
        except BaseException as error:
            seconds = wait_before(policies, error, attempt)
            if seconds is None or root.broken is not None or isinstance(root.stop, BaseException):
                raise
            await flow.sleep(seconds)
            attempt += 1
            _again(root, flow.frame, error)


def _again(root: Root, frame: Frame, error: BaseException) -> None:
    """Prepare another attempt of the body: forget the failures that led here, keep the rest."""
    from clew.pregel._end import _to_retry  # pyright: ignore[reportPrivateUsage] - one idea, two files
    from clew.pregel._thread import Known

    known = Known()
    known.outcomes = root.records
    for path, prefix, calls in _to_retry(root, error):
        known._again(path, prefix, calls)  # pyright: ignore[reportPrivateUsage] - one idea, two files
    root.errors.clear()
    root.sights.clear()
    root.failed.clear()
    root.met.clear()
    frame.calls, frame.loose = 0, None
