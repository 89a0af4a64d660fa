"""One attempt of a run: what it knows from before, what it writes down, what it waits for.

Shared by all frames of the run. Knows nothing about how the body is driven.
"""

from __future__ import annotations

import itertools
import threading
import time
from contextvars import copy_context
from threading import get_ident
from typing import TYPE_CHECKING, Any

from clew._run import current
from clew.checkpoint import _records as R
from clew.checkpoint._codec import Codec
from clew.checkpoint._journal import Batch, Fenced
from clew.errors import (
    Cancelled,
    GraphInterrupt,
    MissingSaverError,
    NonDeterminismError,
    SerializationError,
    Signal,
    WorkflowError,
)
from clew.pregel._frame import Frame, prepare
from clew.pregel._pool import Call, pool
from clew.types import Interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.checkpoint._journal import Place
    from clew.pregel._future import TaskFuture
    from clew.pregel._limit import Slots
    from clew.pregel._stream import Sink
    from clew.runtime import RunControl

_PLAIN = Codec()


class Root:
    """The state of an attempt.

    keeps: a saver is set. at: the checkpoint that records belong to. records: what is on record, by path.
    given: answers that came with this call, not yet used. asked: questions met in this attempt that have no answer.
    stop: what the next call raises (cancelled, drained), or a sign to look.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.thread_id: str | None = None
        self.run_id: str | None = None
        self.config: Any = None
        self.whole_config: Any = None
        self.store: Any = None
        self.cache: Any = None
        self.context: Any = None
        self.control: RunControl | None = None
        self.policy = "raise"
        # what is kept
        self.keeps = False
        self.journal: Any = None
        self.place: Place | None = None
        self.codec: Codec = _PLAIN
        self.durability = "sync"
        self.at: str | None = None
        self.numbers = itertools.count()
        self.backlog: list[tuple[str, int, bytes]] = []
        self.flushing = False
        self.events = threading.Lock()
        self.flush = threading.Lock()  # held while a part of the backlog is on its way to the disk
        self.capture: list[tuple[str, int, bytes]] | None = None
        self.io: Any = None
        self.instant = False  # the journal never waits for anything
        self.quick = True  # the journal's blocking calls are short enough for an event loop
        self.step = 0
        self.rolled_back = False
        self.dirty = False
        self.attempt = 1
        # what is known
        self.records: dict[str, R.Record] = {}
        self.marks: dict[str, bytes] = {}
        self.attempts: dict[str, int] = {}
        self.answers: dict[str, bytes] = {}
        self.given: dict[str, bytes] = {}
        self.met: set[str] = set()
        self.previous_: Any = None
        self.previous_ready = True
        # what happens
        self.live: dict[TaskFuture, None] = {}
        self.failed: list[TaskFuture] = []
        self.errors: dict[str, BaseException] = {}
        self.sights: dict[str, tuple[str, int]] = {}
        self.asked: dict[str, Interrupt] = {}
        self.stop: BaseException | bool | None = None
        self.broken: BaseException | None = None
        self.mismatch: NonDeterminismError | None = None
        self.sink: Sink | None = None
        self.slots: Slots | None = None
        self.manager: Any = None  # callback manager of the run, when somebody listens
        self.unkept: str | None = None  # the one task whose result comes with the next checkpoint
        self.memo = False  # keep results in memory for another try of the body
        self.loop: Any = None
        self.loop_thread = 0
        self.done: Any = None

    # -- identities and config -----------------------------------------------------------------------

    def task_id(self, path: str) -> str:
        """Return the id of the call at this path."""
        return R.task_id(self.thread_id or "", self.at or self.run_id or "", path)

    def question_id(self, path: str) -> str:
        """Return a new id for a question at this path."""
        known = self.records.get(path)
        again = f"#{known.id}" if isinstance(known, R.Question) else ""
        return R.question_id(self.thread_id or "", self.at or "", path + again)

    def full_config(self) -> Any:
        """Return the config of the call with every key set."""
        if self.whole_config is None:
            from clew.pregel._config import complete

            self.whole_config = complete(self.config, self.thread_id, self.at)
        return self.whole_config

    @property
    def previous(self) -> Any:
        """Return what the thread's last run saved."""
        return self.previous_

    def must_keep(self, what: str) -> None:
        """Raise MissingSaverError when nothing is kept."""
        if not self.keeps:
            raise MissingSaverError(
                f"{what} waits for an answer, which needs a saver: @entrypoint(checkpointer=...), "
                "for instance clew.checkpoint.sqlite.SqliteSaver"
            )

    # -- replay --------------------------------------------------------------------------------------

    def encode(self, value: Any, name: str) -> bytes:
        """Encode a value that `name` gives; the error names both."""
        try:
            return self.codec.encode(value)
        except SerializationError as error:
            raise SerializationError(f"{name}: {error}", path=error.path) from error

    def differs(self, path: str, was: str, now: str) -> None:
        """Act on a call that is not the recorded one: raise, or forget what is on record there."""
        text = (
            f"{self.name!r} on thread {self.thread_id!r}: at call {path} the record has {was}, the code does {now}. "
            "Nothing was run or saved; run it with the code that began it, keep changed branches behind patched(), "
            'or allow it with @entrypoint(nondeterminism="rerun")'
        )
        if self.policy == "raise":
            self.mismatch = NonDeterminismError(text)
            raise self.mismatch
        if self.policy == "warn":
            import warnings

            warnings.warn(text, RuntimeWarning, stacklevel=4)
        for known in [known for known in self.records if known == path or known.startswith(path + ".")]:
            if known != path or not isinstance(self.records[known], R.Question):
                del self.records[known]

    def recall(self, path: str, failure: R.Failure) -> BaseException:
        """Return the recorded exception, the same object each time."""
        error = self.errors.get(path)
        if error is None:
            error = self.codec.decode(failure.error)
            if not isinstance(error, BaseException):
                error = RuntimeError(failure.text)
            self.errors[path] = error
        return error

    def saw(self, path: str, frame: Any) -> None:
        """Note how many calls the reader of a failure had made."""
        if path not in self.sights:
            self.sights[path] = (frame.prefix, frame.calls)

    # -- questions -----------------------------------------------------------------------------------

    def answer(self, question: R.Question) -> tuple[bool, Any]:
        """Return (whether there is an answer, the answer); one that came with this call is written down first."""
        raw = self.answers.get(question.id)
        if raw is None and question.id in self.given:
            self.use_answers()
            raw = self.answers[question.id]
        if raw is None:
            return False, None
        return True, self.codec.decode(raw)

    def use_answers(self) -> None:
        """Write down all answers that came with this call: from now on they are used up."""
        now = time.time()
        given, self.given = self.given, {}
        self.answers.update(given)
        self.save(*(R.Answer(id, raw, now) for id, raw in given.items()))

    def ask(self, question: R.Question, *, new: bool = False) -> Interrupt:
        """Note a question that waits; write it down when it is new. Returns what the client is shown."""
        if new:
            self.records[question.path] = question
            self.save(question)
        shown = self.asked[question.id] = show(question, self.codec)
        return shown

    def take_event(self, question: R.Question, *, new: bool = False) -> tuple[bool, Any]:
        """Return (whether an event was sent, its value); it is taken and written down as the answer."""
        if self.place is None or not hasattr(self.journal, "notes"):
            return False, None
        from clew.pregel._thread import event_notes

        place = self.place
        with self.events:  # an event is taken once
            waiting = self.journal.notes(place.thread_id, place.ns, event_notes(question.key or ""))
            if not waiting:
                return False, None
            note = min(waiting)
            raw = self.codec.unseal(place.thread_id, waiting[note])
            facts: list[R.Record] = [question] if new else []
            facts.append(R.Answer(question.id, raw, time.time()))
            seal = self.codec.seal
            rows = [(self.at or "", next(self.numbers), seal(place.thread_id, R.pack(one))) for one in facts]
            self.dirty = True
            self._commit(rows, notes=((note, None),))
            self.records[question.path] = question
            self.answers[question.id] = raw
        return True, self.codec.decode(raw)

    def join(self, sink: Sink, namespace: tuple[str, ...]) -> None:
        """Send what happens below a namespace to another reader too."""
        from clew.pregel._stream import Sink as Hub

        if self.sink is None:
            self.sink = Hub((), lambda _: None)
        self.sink.join(sink, namespace)

    # -- writing -------------------------------------------------------------------------------------

    def save(self, *records: R.Record) -> None:
        """Write records down: on disk when this returns, in durability "sync".

        Raises what the storage raises; that also ends the run, whether or not the caller lets it pass.
        """
        if not self.keeps:
            return
        seal, at, thread = self.codec.seal, self.at or "", self.thread_id or ""
        rows = [(at, next(self.numbers), seal(thread, R.pack(record))) for record in records]
        self.dirty = True
        if self.durability == "sync":
            if self.loop_thread == get_ident() and self.capture is not None:
                self.capture.extend(rows)  # `_awaiting.root_save` awaits the commit
            elif self.loop_thread == get_ident() and not self.quick:
                self.backlog.extend(rows)  # a question or answer: goes with the next commit, at the pause at the latest
            else:
                self._commit(rows)
        else:
            if self.broken is not None:
                raise self.broken
            self.backlog.extend(rows)
            if self.durability == "async" and not self.flushing:
                self.flushing = True
                pool.submit(Call(self._flush_soon))

    def _commit(self, rows: Sequence[tuple[str, int, bytes]], notes: Sequence[tuple[str, bytes | None]] = ()) -> None:
        if self.backlog:
            rows = [*self.take_backlog(), *rows]
        try:
            self.write(Batch(records=rows, notes=notes))
        except Fenced:
            self.stop = Cancelled()
            raise self.stop from None
        except BaseException as error:
            self.broken = error
            raise

    def write(self, batch: Batch) -> None:
        """Commit from any thread but the event loop's."""
        journal = self.journal
        if hasattr(journal, "commit") and not (self.loop_thread and self.loop_thread == get_ident()):
            journal.commit(self.place, batch)
        elif self.loop is not None and self.loop_thread != get_ident():
            import asyncio

            asyncio.run_coroutine_threadsafe(journal.acommit(self.place, batch), self.loop).result()
        else:
            journal.commit(self.place, batch)

    def _flush_soon(self) -> None:
        with self.flush:
            self.flushing = False
            rows = self.take_backlog()
            if rows:
                try:
                    self._commit(rows)
                except BaseException as error:  # kept in broken; the run ends with it
                    self.broken = self.broken or error

    def take_backlog(self) -> list[tuple[str, int, bytes]]:
        """Return what waits to be written, taking it over."""
        rows = self.backlog[:]
        del self.backlog[: len(rows)]
        return rows

    # -- tasks ---------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise when the run is to stop; called at each task and question."""
        if isinstance(self.stop, BaseException):
            raise self.stop
        if self.control is not None and self.control.drain_requested:
            from clew.pregel._end import Drained

            self.stop = Drained(self.control.drain_reason or "shutdown")
            raise self.stop

    def start(self, future: TaskFuture) -> None:
        """Queue a task that was just called."""
        self.live[future] = None
        spec = future.spec
        if spec.is_async:
            if self.loop is None:
                self.live.pop(future, None)
                raise TypeError(
                    f"task {spec.name!r} is async and this run is blocking: call the workflow with ainvoke or astream"
                )
            from clew.pregel import _awaiting

            future.context = copy_context()
            _awaiting.start(future)
            return
        future.context = copy_context()
        if self.slots is None:
            pool.submit(future)
        else:
            self.slots.enter(lambda: self._granted(future))

    def _granted(self, future: TaskFuture) -> bool:
        """Let a task go on to the pool; False when its caller runs it on a slot of its own, or it is over."""
        if future.waiting or not hasattr(future, "_open"):
            return False
        future.slot = True
        pool.submit(future)
        return True

    def may_run_here(self, future: TaskFuture) -> bool:
        """Say whether the caller may run the task itself, now, instead of waiting for a worker."""
        if future.spec.is_async:
            if self.loop_thread == get_ident():
                raise RuntimeError(
                    f"task {future.spec.name!r} is not done: `await` it, .result() would stop the event loop"
                )
            return False
        if self.loop_thread == get_ident() and self.keeps and not hasattr(self.journal, "commit"):
            raise RuntimeError(
                f"task {future.spec.name!r} is not done: `await` it, .result() would stop the event loop"
            )
        if self.slots is None or future.slot:
            return True
        frame: Any = current.get()
        if frame is not None and frame.slot:
            future.waiting = True
            return True
        return False

    def execute(self, future: TaskFuture) -> None:
        """Run a claimed sync task to its end, with retries, in this thread."""
        spec = future.spec
        frame = Frame(self, future.path, spec.name, future.caller)
        frame.future = future
        frame.slot = future.slot or future.waiting
        current.set(frame)
        try:
            if self.manager is None and self.sink is None and not spec.retry and spec.cache is None:
                self._once(future, frame)
            else:
                from clew.pregel._attempts import run_blocking

                run_blocking(self, future, frame)
        finally:
            if future.slot and self.slots is not None:
                future.slot = False
                self.slots.leave()

    def _once(self, future: TaskFuture, frame: Frame) -> None:
        """Run a task that nobody watches and nothing repeats."""
        spec = future.spec
        began = time.time()
        try:
            inject = spec.inject
            kwargs = prepare(frame, inject, future.kwargs) if inject else future.kwargs
            value = spec.fn(*future.args, **kwargs)
            if self.keeps or self.memo:
                self.keep_result(future, value, began, 1)
        except BaseException as error:
            self.keep_failure(future, error, began, 1)
            return
        future.settle(value, None)

    def keep_result(self, future: TaskFuture, value: Any, began: float, attempt: int, how: str = "") -> None:
        """Write a result down."""
        if future.path == self.unkept:
            return
        record = R.Result(
            future.path,
            future.spec.name,
            future.digest,
            self.encode(value, future.spec.name),
            began,
            time.time(),
            attempt,
            how,
        )
        if self.memo:
            self.records[future.path] = record
        if self.keeps:
            self.save(record)

    def failure(self, future: TaskFuture, error: BaseException, began: float, attempt: int) -> R.Failure | None:
        """Return the record of a failure, or None when it is no outcome (a pause, a stop, our own errors)."""
        if not isinstance(error, Exception) or (
            isinstance(error, WorkflowError) and not hasattr(error, "is_retryable")
        ):
            return None
        if error is self.broken or error is self.mismatch:
            return None
        try:
            raw = self.codec.encode(error)
        except TypeError:  # it can't be raised again as it is: the task will run again
            return None
        text = f"{type(error).__name__}: {error}"[:500]
        return R.Failure(future.path, future.spec.name, future.digest, raw, text, began, time.time(), attempt)

    def keep_failure(self, future: TaskFuture, error: BaseException, began: float, attempt: int) -> None:
        """Write a failure down and publish it."""
        if self.keeps:
            record = self.failure(future, error, began, attempt)
            if record is not None:
                try:
                    self.save(record)
                except BaseException as worse:
                    error = worse
        self.publish_failure(future, error)

    def publish_failure(self, future: TaskFuture, error: BaseException) -> None:
        """Give a failure to whoever waits for the task."""
        self.errors[future.path] = error
        if not isinstance(error, GraphInterrupt):
            self.failed.append(future)
        future.settle(None, error)

    # -- the end of the body -------------------------------------------------------------------------

    def drain(self, *, abandon: bool) -> None:
        """Wait until no task is under way. abandon: those that nobody has begun are not begun."""
        while self.live:
            try:
                future = next(iter(self.live))
            except (StopIteration, RuntimeError):
                continue
            if abandon and future.claim():
                future._state = "CANCELLED_AND_NOTIFIED"  # pyright: ignore[reportPrivateUsage] - one idea, two files
                self.live.pop(future, None)
                continue
            seen = future.seen
            try:
                future.result()
            except Signal:
                pass
            except BaseException:
                pass
            future.seen = seen
            self.live.pop(future, None)

    def verdict(self) -> BaseException | None:
        """Return why a body that came to its end did not end well after all, or None."""
        if self.broken is not None:
            return self.broken
        if self.mismatch is not None:
            return self.mismatch
        if isinstance(self.stop, BaseException):
            return self.stop
        if self.asked:
            return GraphInterrupt(self.pending())
        for future in self.failed:
            error = future._exception  # pyright: ignore[reportPrivateUsage] - one idea, two files
            if not future.seen and error is not None:
                return error
        return None

    def pending(self) -> tuple[Interrupt, ...]:
        """Return the questions that wait, in the order of their places."""
        paths = {record.id: record.path for record in self.records.values() if isinstance(record, R.Question)}
        return tuple(sorted(self.asked.values(), key=lambda one: order(paths.get(one.id, ""))))

    def unmet(self) -> str | None:
        """Return what a body that ended had on record at its top and never came to, or None."""
        for path, record in self.records.items():
            if path not in self.met and path.isdigit() and isinstance(record, (R.Result, R.Failure)):
                return f"{record.name}({R.show_args(record.args)})"
            if (
                path not in self.met
                and path.isdigit()
                and isinstance(record, R.Question)
                and record.id not in self.asked
            ):
                return f"interrupt({self.codec.decode(record.value)!r})"
        return None


def order(path: str) -> list[tuple[int, int, str]]:
    """Return a sort key: 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in path.split(".")]


def show(question: R.Question, codec: Codec) -> Interrupt:
    """Return a recorded question as clients see it."""
    schema = None if question.schema is None else codec.decode(question.schema)
    return Interrupt(codec.decode(question.value), question.id, schema, question.key, question.expires)
