"""The small types of workflows and graphs, and `interrupt`.

Everything here is plain data. What it does is done by the runtime, which finds the running frame in
`clew._run.current`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, final

from clew import _run
from clew.errors import OutsideWorkflowError, UnknownInterruptError

if TYPE_CHECKING:
    from datetime import timedelta

__all__ = [
    "All",
    "CachePolicy",
    "Checkpointer",
    "Command",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "Multitask",
    "Overwrite",
    "PregelTask",
    "RetryPolicy",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "TimeoutPolicy",
    "default_cache_key",
    "default_retry_on",
    "ensure_valid_checkpointer",
    "interrupt",
]

All: TypeAlias = Literal["*"]
Checkpointer: TypeAlias = Any  # None | bool | BaseCheckpointSaver; that class is a floor above
Durability: TypeAlias = Literal["sync", "async", "exit"]
Multitask: TypeAlias = Literal["reject", "enqueue", "interrupt", "rollback"]
StreamMode: TypeAlias = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
StreamWriter: TypeAlias = Callable[[Any], None]
N = TypeVar("N", bound=Hashable)
OutputT = TypeVar("OutputT")

_NOT_RETRIED = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    AssertionError,
    AttributeError,
)


def _status(error: BaseException) -> int | None:
    """HTTP status that an error of any client library carries, or None."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if type(value) is int and 100 <= value < 600:
                return value
    return None


def default_retry_on(error: Exception) -> bool:
    """Say whether trying again may help: network errors, timeouts, 429 and 5xx yes; other 4xx and bugs no.

    An error that knows better says so itself (`is_retryable`, as clew's model errors do).
    """
    known = getattr(error, "is_retryable", None)
    if isinstance(known, bool):
        return known
    status = _status(error)
    if status is not None:
        return status == 429 or status == 408 or status >= 500
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    name = type(error).__name__
    if isinstance(error, OSError):  # requests' errors are OSErrors; files that are missing stay missing
        return name.endswith(
            ("Timeout", "ConnectionError", "TimeoutError", "ProxyError", "SSLError", "ChunkedEncodingError")
        )
    return not isinstance(error, _NOT_RETRIED)


class RetryPolicy(NamedTuple):
    """When and how often a task is tried again.

    Waits min(max_interval, initial_interval * backoff_factor ** (attempt - 1)) seconds, plus up to one second with
    jitter. max_attempts counts the first try. retry_on: exception class(es), or a function of the exception.
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool] = default_retry_on

    def matches(self, error: BaseException) -> bool:
        """Say whether this policy covers the error."""
        rule = self.retry_on
        if isinstance(rule, type):
            return isinstance(error, rule)
        if callable(rule):
            return isinstance(error, Exception) and bool(rule(error))
        return isinstance(error, tuple(rule))


def default_cache_key(*args: Any, **kwargs: Any) -> bytes:
    """Return a key that is equal for equal arguments; refuses values that have no stable form."""
    from clew._lazy import resolve

    return resolve("clew._serde:encode")([list(args), dict(sorted(kwargs.items()))])


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """Keep a task's result for later calls with the same arguments. ttl: seconds, None for ever."""

    key_func: Callable[..., str | bytes] = default_cache_key
    ttl: int | None = None


def _seconds(value: float | timedelta | None) -> float | None:
    seconds: float | None = value.total_seconds() if hasattr(value, "total_seconds") else value  # type: ignore[union-attr]
    if seconds is not None and seconds <= 0:
        raise ValueError(f"a timeout is a positive number of seconds, not {seconds}")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """How long an async task may take (run_timeout) and how long it may stay silent (idle_timeout), in seconds.

    refresh_on: what counts as a sign of life: "auto" (heartbeats, stream writes, finished inner tasks) or "heartbeat".
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """Turn seconds or a timedelta into a policy on the whole run; all in seconds."""
        if value is None:
            return None
        if isinstance(value, TimeoutPolicy):
            return cls(
                run_timeout=_seconds(value.run_timeout),
                idle_timeout=_seconds(value.idle_timeout),
                refresh_on=value.refresh_on,
            )
        return cls(run_timeout=_seconds(value))


@final
@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that a run waits on.

    id: 32 hex digits, the same for the same question until it is answered. response_schema: JSON schema of the answer,
    or None. key: the `key=` of the question, or None. expires_at: seconds since the epoch, or None.
    """

    value: Any
    id: str = "placeholder-id"
    response_schema: dict[str, Any] | None = None
    key: str | None = None
    expires_at: float | None = None

    @property
    def interrupt_id(self) -> str:
        """The id, by the name that older code uses."""
        return self.id

    def __repr__(self) -> str:
        more = f", response_schema={self.response_schema!r}" if self.response_schema is not None else ""
        more += f", key={self.key!r}" if self.key is not None else ""
        return f"Interrupt(value={self.value!r}, id={self.id!r}{more})"


class Send:
    """Run `node` with `arg` as its own input, beside whatever else runs in that step."""

    __slots__ = ("arg", "node", "timeout")

    def __init__(self, /, node: str, arg: Any, *, timeout: float | timedelta | TimeoutPolicy | None = None) -> None:
        self.node = node
        self.arg = arg
        self.timeout = TimeoutPolicy.coerce(timeout)

    def __repr__(self) -> str:
        return f"Send(node={self.node!r}, arg={self.arg!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Send) and (self.node, self.arg) == (other.node, other.arg)

    def __hash__(self) -> int:
        return hash((Send, self.node))


class _Missing:
    """No value was given: None, False, 0 and "" are values."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<not given>"

    def __bool__(self) -> bool:
        return False


MISSING: Any = _Missing()


class Command(Generic[N]):
    """What a caller or a node asks of the run.

    resume: an answer of any kind (None, False, 0, "" and {} included), or {interrupt id or key: answer}.
    update: change of the state. goto: the node(s) to go to. graph: None for this graph, Command.PARENT for the one
    around.
    """

    __slots__ = ("goto", "graph", "resume", "update")
    PARENT: ClassVar[Literal["__parent__"]] = "__parent__"

    def __init__(
        self,
        *,
        graph: str | None = None,
        update: Any | None = None,
        resume: Any = MISSING,
        goto: Send | Sequence[Send | N] | N = (),
    ) -> None:
        self.graph = graph
        self.update = update
        self.resume = resume
        self.goto = goto

    def __repr__(self) -> str:
        given = {"graph": self.graph, "update": self.update, "goto": self.goto}
        shown = [f"{name}={value!r}" for name, value in given.items() if value not in (None, ())]
        if self.resume is not MISSING:
            shown.append(f"resume={self.resume!r}")
        return f"Command({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Command):
            return NotImplemented
        mine: Any = self
        theirs: Any = other  # pyright: ignore[reportUnknownVariableType] - of any node type
        return all(getattr(mine, name) == getattr(theirs, name) for name in Command.__slots__)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Put this value in place of the state's, past its reducer."""

    value: Any
    type: Literal["__overwrite__"] = "__overwrite__"


@dataclass(frozen=True, slots=True)
class GraphOutput(Generic[OutputT]):
    """What `invoke(version="v2")` returns: the value, and the questions that the run waits on."""

    value: OutputT
    interrupts: tuple[Interrupt, ...] = ()


class StateUpdate(NamedTuple):
    """One change for `bulk_update_state`."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


class PregelTask(NamedTuple):
    """A task of a snapshot: what is to run next, or did run."""

    id: str
    name: str
    path: tuple[Any, ...]
    error: Exception | None = None
    interrupts: tuple[Interrupt, ...] = ()
    state: Any = None
    result: Any = None


class StateSnapshot(NamedTuple):
    """The state of a thread at one checkpoint. next: the nodes that would run; () when the run is over."""

    values: Any
    next: tuple[str, ...]
    config: Any
    metadata: Any
    created_at: str | None
    parent_config: Any
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]


def interrupt(
    value: Any,
    *,
    response_schema: Any = None,
    key: str | None = None,
    expires: float | timedelta | None = None,
    default: Any = MISSING,
) -> Any:
    """Ask a person (or another program) something and wait for the answer, however long that takes.

    The run stops here; `invoke` returns the question. `Command(resume=answer)` runs the function again from its top
    with finished tasks replayed, and this call returns the answer. The n-th question of a function gets the n-th
    answer; its value is compared with the recorded one.

    value: any serialisable value, shown to the client. response_schema: a type or JSON schema that the answer must
    fit; checked before anything is saved. key: the answer belongs to this name, wherever the call stands.
    expires: seconds (or timedelta) after which `default` is the answer.
    Raises: GraphInterrupt (no Exception: `except Exception` does not stop it); OutsideWorkflowError outside a run;
    NonDeterminismError when another question is on record here.
    """
    frame = _run.current.get()
    if frame is None:
        raise OutsideWorkflowError("interrupt() works inside a workflow, task or node; none is running here")
    seconds = _seconds(expires)
    if seconds is not None and default is MISSING:
        raise ValueError("interrupt(expires=...) needs default=, the answer when nobody gives one in time")
    return frame.interrupt(value, key=key, response_schema=response_schema, expires=seconds, default=default)


def is_invalid_resume(error: BaseException) -> bool:
    """Say whether a resume was refused because its answer fits no pending question."""
    return isinstance(error, UnknownInterruptError)


def ensure_valid_checkpointer(checkpointer: Any) -> Any:
    """Return the checkpointer; raises TypeError with the way out when it is none."""
    if checkpointer is None or isinstance(checkpointer, bool) or hasattr(checkpointer, "get_tuple"):
        return checkpointer
    hint = ""
    if hasattr(checkpointer, "__enter__") or hasattr(checkpointer, "__aenter__"):
        hint = "; it is a context manager: use it with `with ... as saver:` and pass saver"
    raise TypeError(
        f"checkpointer must be a BaseCheckpointSaver, a bool or None, not {type(checkpointer).__name__}{hint}"
    )
