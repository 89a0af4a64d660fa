"""The future of a task: a `concurrent.futures.Future` that can be awaited, and that its caller may run itself.

Invariant: whoever deletes `_open` runs the task; everybody else waits. Nothing is locked or allocated for waiting until
somebody waits.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from clew._run import current
from clew.errors import GraphInterrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextvars import Context

    from clew.pregel._frame import Frame
    from clew.pregel._root import Root
    from clew.pregel._spec import Spec

PENDING, RUNNING, FINISHED, CANCELLED = "PENDING", "RUNNING", "FINISHED", "CANCELLED_AND_NOTIFIED"
_making = threading.Lock()


def _forked() -> None:
    global _making
    _making = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_forked)


class TaskFuture(Future[Any]):
    """Result to come of one call. path: its identity in the run. seen: somebody looked at how it ended."""

    root: Root
    caller: Frame
    path: str
    spec: Spec
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    digest: bytes
    context: Context | None = None
    _state: str = FINISHED
    _result: Any = None
    _exception: BaseException | None = None
    _gate: threading.Condition | None = None
    _calls: list[Callable[[Future[Any]], Any]] | None = None
    _watchers: list[Any] | None = None
    _raw: bytes | None = None  # a result that nobody has asked for yet, encoded
    _task: Any = None  # the asyncio task that runs it, when one does
    seen = False
    slot = False  # holds one of max_concurrency's
    waiting = False  # stands in line for one

    def __init__(
        self,
        root: Root,
        caller: Frame,
        path: str,
        spec: Spec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        digest: bytes,
    ) -> None:
        self.root = root
        self.caller = caller
        self.path = path
        self.spec = spec
        self.args = args
        self.kwargs = kwargs
        self.digest = digest
        self._state = PENDING
        self._open = True

    @classmethod
    def replayed(cls, root: Root, path: str, raw: bytes | None) -> TaskFuture:
        """Return the future of a call that is on record: done from the beginning, and as cheap as can be."""
        future = cls.__new__(cls)
        future.root = root
        future.path = path
        future._raw = raw
        root.met.add(path)
        return future

    # -- what concurrent.futures looks at ------------------------------------------------------------

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        if self._gate is None:
            with _making:
                if self._gate is None:
                    self._gate = threading.Condition()
        return self._gate

    @property
    def _waiters(self) -> list[Any]:  # type: ignore[override]
        if self._watchers is None:
            self._watchers = []
        return self._watchers

    @property
    def _done_callbacks(self) -> list[Any]:  # type: ignore[override]
        return self._calls or []

    # -- claiming ------------------------------------------------------------------------------------

    def claim(self) -> bool:
        """Take the right to run the task; True for exactly one caller."""
        try:
            del self._open
        except AttributeError:
            return False
        return True

    def take(self) -> Any:
        """Claim for a worker of the pool."""
        if not self.claim():
            return None
        self._state = RUNNING
        return self._run

    def _run(self) -> None:
        context = self.context
        assert context is not None
        self.context = None
        context.run(self.root.execute, self)

    # -- ending --------------------------------------------------------------------------------------

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Publish the outcome. The state is set before the gate is read, and the gate is made before the state is."""
        self._result = value
        self._exception = error
        self.args = ()
        self.kwargs = {}
        self._state = FINISHED
        self.root.live.pop(self, None)
        if self._gate is not None:
            self._announce()
        if self._calls is not None:
            self._call_back()

    def _announce(self) -> None:
        gate = self._condition
        with gate:
            for watcher in self._watchers or ():
                if self._state == CANCELLED:
                    watcher.add_cancelled(self)
                elif self._exception is not None:
                    watcher.add_exception(self)
                else:
                    watcher.add_result(self)
            gate.notify_all()

    def _call_back(self) -> None:
        with _making:
            calls, self._calls = self._calls or [], None
        for call in calls:
            call(self)

    # -- the documented face -------------------------------------------------------------------------

    def done(self) -> bool:
        """Say whether the task has ended, in whatever way."""
        return self._state in (FINISHED, CANCELLED)

    def running(self) -> bool:
        """Say whether somebody is at work on it."""
        return self._state == RUNNING

    def cancelled(self) -> bool:
        """Say whether it was cancelled before it began."""
        return self._state == CANCELLED

    def cancel(self) -> bool:
        """Withdraw the call if nobody has begun it; a failure of it then fails nothing."""
        self.seen = True
        if self._task is not None and not self.done():
            self._task.cancel()
            return True
        if not self.claim():
            return self._state == CANCELLED
        self._state = CANCELLED
        self.root.live.pop(self, None)
        if self._gate is not None:
            self._announce()
        if self._calls is not None:
            self._call_back()
        return True

    def result(self, timeout: float | None = None) -> Any:
        """Return the task's result, running the task right here when nobody has begun it.

        timeout: seconds to wait for somebody else's work. Raises: what the task raised; TimeoutError; GraphInterrupt
        when the task asks a question that has no answer yet.
        """
        self.seen = True
        if self._state is not FINISHED:
            self._finish_or_wait(timeout)
        if self._exception is not None:
            raise self._failure()
        if self._raw is not None:
            raw, self._raw = self._raw, None
            self._result = self.root.codec.decode(raw)
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the task raised, or None."""
        self.seen = True
        if self._state is not FINISHED:
            self._finish_or_wait(timeout)
        if isinstance(self._exception, GraphInterrupt):
            raise self._exception
        return None if self._exception is None else self._failure()

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Call fn(self) when the task has ended; at once when it has."""
        with _making:
            if not self.done():
                if self._calls is None:
                    self._calls = []
                self._calls.append(fn)
                return
        fn(self)

    def __await__(self) -> Generator[Any, None, Any]:
        """Wait without blocking the event loop."""
        from clew.pregel._awaiting import wait

        self.seen = True
        if self._state is not FINISHED:
            yield from wait(self).__await__()
        if self._exception is not None:
            raise self._failure()
        if self._raw is not None:
            raw, self._raw = self._raw, None
            self._result = self.root.codec.decode(raw)
        return self._result

    # -- waiting -------------------------------------------------------------------------------------

    def _failure(self) -> BaseException:
        """Return the error, having noted how far its reader had come: what it calls from now on depends on it."""
        frame = current.get()
        if frame is not None:
            self.root.saw(self.path, frame)
        assert self._exception is not None
        return self._exception

    def _finish_or_wait(self, timeout: float | None) -> None:
        if timeout is None and self.root.may_run_here(self) and self.claim():
            self._state = RUNNING
            self._run()
            return
        frame = current.get()
        slots = self.root.slots
        lent = frame is not None and slots is not None and getattr(frame, "slot", False)
        if lent and slots is not None:
            slots.leave()
        try:
            gate = self._condition
            with gate:
                deadline = None if timeout is None else time.monotonic() + timeout
                while self._state not in (FINISHED, CANCELLED):
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        raise FutureTimeout
                    gate.wait(left)
        finally:
            if lent and slots is not None:
                slots.wait()
        if self._state == CANCELLED:
            raise CancelledError
