"""One body in progress, and where it stands in the run.

Calls get their identity here, when they are made: the path of the frame and the number of the call. Calls and
questions from other asyncio tasks or threads of the same body have no fixed order: they are told apart by name, by
what they are given, and by occurrence. On replay the recorded call
at the same place must have the same name and arguments.
"""

from __future__ import annotations

import time
from threading import get_ident
from typing import TYPE_CHECKING, Any

from clew.checkpoint import _records as R
from clew.errors import GraphInterrupt
from clew.pregel._future import TaskFuture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.pregel._root import Root
    from clew.pregel._spec import Spec
    from clew.runtime import Runtime


def _unheard(_: Any) -> None:
    """Take what nobody listens to."""


class Frame:
    """The body of a workflow, task or node. path: "" for the body of the run. calls: how many it has made."""

    __slots__ = (
        "attempt", "beat", "calls", "config_", "first", "future", "loose", "name", "namespace", "owner", "parent",
        "path", "prefix", "root", "run_manager", "scope", "slot", "task",
    )  # fmt: skip

    def __init__(self, root: Root, path: str, name: str, parent: Frame | None) -> None:
        self.root = root
        self.path = path
        self.prefix = path + "." if path else ""
        self.name = name
        self.parent = parent
        self.calls = 0
        self.owner = get_ident()
        self.task: Any = None  # the asyncio task, in an async body
        self.slot = False
        self.loose: dict[str, int] | None = None
        self.future: TaskFuture | None = None
        self.attempt = 1
        self.first = 0.0
        self.config_: Any = None
        self.run_manager: Any = None
        self.scope: tuple[Any, Any] | None = (
            parent.scope if parent is not None else None
        )  # store and context of a nested workflow
        self.beat: Callable[[], None] | None = None
        self.namespace: tuple[str, ...] = parent.namespace if parent is not None else ()

    # -- places --------------------------------------------------------------------------------------

    def _at_home(self) -> bool:
        """Say whether the caller is the body itself, and no task or thread that it started."""
        if self.task is None:
            return get_ident() == self.owner
        from asyncio import current_task

        try:
            return current_task() is self.task
        except RuntimeError:
            return False

    def _loose(self, what: str) -> str:
        """Return the place of a call whose order among its siblings may differ from run to run."""
        from hashlib import blake2b

        label = f"{self.prefix}~{blake2b(what.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
        if self.loose is None:
            self.loose = {}
        count = self.loose[label] = self.loose.get(label, -1) + 1
        return f"{label}:{count}"

    # -- tasks ---------------------------------------------------------------------------------------

    def call(
        self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], *, place: str | None = None
    ) -> TaskFuture:
        """Start a task, or find its recorded outcome; returns its future at once.

        place: an identity of the caller's choosing within this frame, instead of the number of the call.
        """
        root = self.root
        if root.stop is not None:
            root.check()
        digest = R.digest(args, kwargs) if root.keeps and spec.match != "place" else b""
        if place is not None:
            path = self.prefix + place
        elif (self.task is None and get_ident() == self.owner) or self._at_home():
            path = self.prefix + str(self.calls)
            self.calls += 1
        else:
            path = self._loose(f"{spec.name}\0{digest.hex()}")
        if root.records:
            known = root.records.get(path)
            if known is not None:
                if isinstance(known, R.Result) and known.args == digest and known.name == spec.name:  # the common case
                    return TaskFuture.replayed(root, path, known.value)
                future = self._replay(path, known, spec, digest)
                if future is not None:
                    return future
        future = TaskFuture(root, self, path, spec, args, kwargs, digest)
        root.start(future)
        return future

    def _replay(self, path: str, known: R.Record, spec: Spec, digest: bytes) -> TaskFuture | None:
        """Return the recorded outcome of a call, or None when another call is on record and may be forgotten."""
        root = self.root
        if isinstance(known, (R.Result, R.Failure)):
            if known.name == spec.name and (
                spec.match != "args" or known.args == digest or R.same_args(known.args, digest)
            ):
                if isinstance(known, R.Result):
                    return TaskFuture.replayed(root, path, known.value)
                future = TaskFuture.replayed(root, path, None)
                future._exception = root.recall(path, known)
                root.failed.append(future)
                return future
            was = f"{known.name}({R.show_args(known.args)})"
        elif isinstance(known, R.Question):
            was = f"interrupt({root.codec.decode(known.value)!r})"
        else:
            return None
        root.differs(path, was, f"{spec.name}({R.show_args(digest)})")
        return None

    # -- questions -----------------------------------------------------------------------------------

    def interrupt(
        self, value: Any, *, key: str | None, response_schema: Any, expires: float | None, default: Any
    ) -> Any:
        """Return the answer to a question, or raise GraphInterrupt."""
        root = self.root
        if root.stop is not None:
            root.check()
        root.must_keep("interrupt()")
        path = self._question_place(value, key)
        known = self._recorded_question(path, value, key)
        if known is not None:
            root.met.add(path)
            answered, answer = root.answer(known)
            question = known
        else:
            answered, answer = False, None
            question = self._question(path, value, key, response_schema, expires, default)
        if not answered and key is not None and key.startswith("event:"):
            answered, answer = root.take_event(question, new=known is None)
        if answered:
            return answer
        raise GraphInterrupt((root.ask(question, new=known is None),))

    def _question_place(self, value: Any, key: str | None) -> str:
        """Return the path of a question: by its key, by the number of the call, or by what it asks."""
        if key is not None:
            path = f"{self.prefix}?{key}"
            count = self._number(path)
            return f"{path}:{count}" if count else path
        if self._at_home():
            self.calls += 1
            return f"{self.prefix}{self.calls - 1}"
        return self._loose(f"?\0{self.root.encode(value, self.name).hex()}")

    def _recorded_question(self, path: str, value: Any, key: str | None) -> R.Question | None:
        """Return the question on record at a path; another one there, or another call, is a mismatch."""
        root = self.root
        known = root.records.get(path)
        if known is None:
            return None
        if isinstance(known, R.Question):
            raw = root.encode(value, self.name)
            if key is not None or raw == known.value or root.codec.decode(known.value) == value:
                return known
            was = f"interrupt({root.codec.decode(known.value)!r})"
        elif isinstance(known, (R.Result, R.Failure)):
            was = f"{known.name}({R.show_args(known.args)})"
        else:
            was = repr(known)
        root.differs(path, was, f"interrupt({value!r})")
        return None

    def _question(
        self, path: str, value: Any, key: str | None, schema: Any, expires: float | None, default: Any
    ) -> R.Question:
        from clew.pregel._answers import json_schema

        root = self.root
        return R.Question(
            root.question_id(path),
            path,
            self.path,
            self.name,
            root.encode(value, self.name),
            time.time(),
            key,
            None if schema is None else root.codec.encode(json_schema(schema)),
            None if expires is None else time.time() + expires,
            None if expires is None else root.encode(default, self.name),
        )

    # -- other durable facts -------------------------------------------------------------------------

    def wake_time(self, seconds: float) -> tuple[str, float]:
        """Return the place of a sleep and when it ends (epoch seconds); recorded the first time."""
        root = self.root
        if root.stop is not None:
            root.check()
        path = self.prefix + f"~sleep{self._number('~sleep')}"
        known = root.records.get(path)
        if isinstance(known, R.Wake):
            root.met.add(path)
            return path, known.at
        record = R.Wake(path, time.time() + seconds)
        root.records[path] = record
        root.save(record)
        return path, record.at

    def _number(self, what: str) -> int:
        if self.loose is None:
            self.loose = {}
        count = self.loose[what] = self.loose.get(what, -1) + 1
        return count

    def patched(self, name: str) -> bool:
        """Say whether this run takes the changed code: yes unless it had passed this place before the change."""
        root = self.root
        known = root.marks.get(name)
        if known is None:
            number = self.calls
            replaying = any(self._index(path) >= number for path in root.records if path.startswith(self.prefix))
            known = root.codec.encode(not replaying)
            root.marks[name] = known
            if root.keeps:
                root.save(R.Mark(name, known))
        return bool(root.codec.decode(known))

    def _index(self, path: str) -> int:
        rest = path[len(self.prefix) :].split(".")[0]
        return int(rest) if rest.isdigit() else -1

    # -- surroundings --------------------------------------------------------------------------------

    @property
    def store(self) -> Any:
        """The store of the workflow, or None."""
        return self.root.store if self.scope is None or self.scope[0] is None else self.scope[0]

    @property
    def context(self) -> Any:
        """The `context=` of the call."""
        return self.root.context if self.scope is None or self.scope[1] is None else self.scope[1]

    @property
    def previous(self) -> Any:
        """What the thread's last run saved; None in a nested workflow."""
        return self.root.previous if self.parent is None else None

    @property
    def config(self) -> Mapping[str, Any]:
        """The config of the call, complete."""
        return self.config_ or (self.parent.config if self.parent is not None else self.root.full_config())

    @property
    def stream_writer(self) -> Callable[[Any], None]:
        """Sends to the `custom` stream."""
        sink = self.root.sink
        beat = self.beat
        if sink is None or not sink.custom:
            return _unheard if beat is None else (lambda _: beat())
        namespace = self.namespace

        def write(value: Any) -> None:
            if beat is not None:
                beat()
            sink.emit("custom", value, namespace)

        return write

    def heartbeat(self) -> None:
        """Tell an idle timeout that this is alive."""
        if self.beat is not None:
            self.beat()

    def task_id(self) -> str:
        """Return the id of this call: the same over attempts and processes."""
        return self.root.task_id(self.path)

    def runtime(self) -> Runtime[Any]:
        """Return the surroundings as the documented object."""
        from clew.runtime import ExecutionInfo, Runtime

        root = self.root
        info = ExecutionInfo(
            checkpoint_id=root.at or "",
            checkpoint_ns="|".join(self.namespace),
            task_id=self.task_id(),
            thread_id=root.thread_id,
            run_id=root.run_id,
            node_attempt=self.attempt,
            node_first_attempt_time=self.first or None,
        )
        return Runtime(
            context=self.context,
            store=self.store,
            stream_writer=self.stream_writer,
            heartbeat=self.heartbeat,
            previous=self.previous,
            execution_info=info,
            control=root.control,
        )


def prepare(frame: Frame, inject: frozenset[str], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments with those filled in that the function declares."""
    filled = dict(kwargs)
    for name in inject:
        if name in filled:
            continue
        if name == "config":
            filled[name] = frame.config
        elif name == "store":
            filled[name] = frame.store
        elif name == "writer":
            filled[name] = frame.stream_writer
        elif name == "runtime":
            filled[name] = frame.runtime()
        else:
            filled[name] = frame.previous
    return filled
