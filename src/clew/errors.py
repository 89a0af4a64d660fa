"""Every error that clew raises, in one tree.

    ClewError
    ├─ MissingDependencyError(ImportError)      an extra is not installed
    ├─ ModelError                               .provider .status_code .is_retryable .retry_after .partial
    │  ├─ ModelInvalidRequestError              400
    │  │  ├─ ContextOverflowError               the prompt is longer than the model's window
    │  │  └─ ModelContentFilterError            the provider's filter stopped it
    │  ├─ ModelAuthenticationError              401
    │  ├─ ModelPermissionDeniedError            403
    │  ├─ ModelNotFoundError                    404
    │  ├─ ModelRateLimitError                   429, worth a retry
    │  │  └─ ModelQuotaError                    429, not worth one
    │  ├─ ModelAPIError                         5xx
    │  │  └─ ModelOverloadedError               503, 529
    │  ├─ ModelConnectionError(ConnectionError) no answer, or a stream that was cut
    │  │  └─ ModelTimeoutError(TimeoutError)
    │  └─ ModelRefusalError                     the model said no
    ├─ BudgetExceededError                      the next call would pass a limit that the caller set
    ├─ OutputParserException(ValueError)        .llm_output
    ├─ ToolError / ToolException                .tool .call_id
    │  └─ ToolTimeoutError(TimeoutError)        the tool ran longer than its timeout
    ├─ StorageError                             .backend
    │  ├─ StorageCorruptError                   the file or row is not what clew wrote
    │  └─ StorageConflictError                  another writer was first (compare-and-set)
    └─ WorkflowError
       ├─ MissingThreadError(ValueError)        a saver is set and no thread_id given
       ├─ MissingSaverError(ValueError)         this needs a saver, and the workflow has none
       ├─ EmptyInputError(ValueError)           nothing to continue
       ├─ ThreadBusyError(RuntimeError)         the thread has a run in progress
       ├─ PendingInterruptError(RuntimeError)   a new input while a question waits for its answer
       ├─ UnknownInterruptError(RuntimeError)   an answer that fits no pending question
       ├─ RunCancelledError                     another caller ended this run
       ├─ NonDeterminismError(RuntimeError)     the code does not do what the record says
       ├─ SerializationError(TypeError)         .path; on write
       ├─ DeserializationError(ValueError)      on load
       ├─ OutsideWorkflowError(RuntimeError)    a task or interrupt with no run around it
       ├─ InvalidUpdateError(ValueError)        two writers to one plain channel
       ├─ GraphRecursionError(RecursionError)   the step limit was reached
       ├─ GraphDrained                          stopped on request, saved
       ├─ NodeCancelledError
       └─ NodeTimeoutError(TimeoutError)        .kind ("run" | "idle")
    Signal(BaseException)                       not errors: `except Exception` must not swallow them
    ├─ GraphInterrupt                           .interrupts
    └─ Cancelled

Errors derive from the builtin that users would catch. Errors of users' own models, stores and tools pass unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence


class ClewError(Exception):
    """Base of all errors raised by clew."""


class MissingDependencyError(ClewError, ImportError):
    """An optional package is not installed; the message says how to install it."""


# -- models -----------------------------------------------------------------------------------------


class ModelError(ClewError):
    """A call to a model failed.

    provider: "openai", "anthropic", … or None. status_code: HTTP status or None. retry_after: seconds to wait, as the
    provider asked, or None. partial: the message as far as a stream had brought it, or None.
    """

    is_retryable: bool = False

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        status_code: int | None = None,
        retry_after: float | None = None,
        is_retryable: bool | None = None,
        partial: Any = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status_code = status_code
        self.retry_after = retry_after
        self.partial = partial
        if is_retryable is not None:
            self.is_retryable = is_retryable


class ModelInvalidRequestError(ModelError):
    """The provider can't serve this request as it stands (400)."""


class ContextOverflowError(ModelInvalidRequestError):
    """The prompt does not fit the model's context window."""


class ModelContentFilterError(ModelInvalidRequestError):
    """The provider's content filter stopped the prompt or the answer."""


class ModelAuthenticationError(ModelError):
    """No key, or a wrong one (401)."""


class ModelPermissionDeniedError(ModelError):
    """The key may not do this (403)."""


class ModelNotFoundError(ModelError):
    """No such model or endpoint (404)."""


class ModelRateLimitError(ModelError):
    """Too many requests or tokens (429)."""

    is_retryable = True


class ModelQuotaError(ModelRateLimitError):
    """The account's quota or credit is used up: waiting does not help."""

    is_retryable = False


class ModelAPIError(ModelError):
    """The provider failed (5xx)."""

    is_retryable = True


class ModelOverloadedError(ModelAPIError):
    """The provider has no capacity right now (503, 529)."""


class ModelConnectionError(ModelError, ConnectionError):
    """The provider could not be reached, or a stream was cut before its end."""

    is_retryable = True


class ModelTimeoutError(ModelConnectionError, TimeoutError):
    """The provider did not answer in time."""


class ModelRefusalError(ModelError):
    """The model declined to answer."""


class BudgetExceededError(ClewError):
    """The budget is used up: the call was not made."""


class OutputParserException(ClewError, ValueError):
    """The model's answer is not what the parser expects.

    llm_output: the text that could not be parsed. observation: advice for the model, sent back to it when
    send_to_llm is true.
    """

    def __init__(
        self, error: Any = "", observation: str | None = None, llm_output: str | None = None, send_to_llm: bool = False
    ) -> None:
        super().__init__(error)
        if send_to_llm and (observation is None or llm_output is None):
            raise ValueError("send_to_llm=True needs both observation and llm_output")
        self.observation = observation
        self.llm_output = llm_output
        self.send_to_llm = send_to_llm


class ToolError(ClewError):
    """A tool failed in a way that the model may be told about."""

    def __init__(self, message: str = "", *, tool: str | None = None, call_id: str | None = None) -> None:
        super().__init__(message)
        self.tool = tool
        self.call_id = call_id


ToolException = ToolError


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool ran longer than its timeout allows."""


# -- storage ----------------------------------------------------------------------------------------


class StorageError(ClewError):
    """A store, history, cache or saver could not do its work.

    backend: "sqlite", "postgres", "redis", "file", …
    """

    def __init__(self, message: str = "", *, backend: str | None = None) -> None:
        super().__init__(message)
        self.backend = backend


class StorageCorruptError(StorageError):
    """What is stored is not what clew wrote; nothing was changed."""


class StorageConflictError(StorageError):
    """A compare-and-set found another version than the expected one; nothing was changed. Read again and retry."""


# -- workflows --------------------------------------------------------------------------------------


class WorkflowError(ClewError):
    """Base of the errors of the runtime."""


class MissingThreadError(WorkflowError, ValueError):
    """The workflow saves its progress and was not told on which thread."""


class MissingSaverError(WorkflowError, ValueError):
    """What was asked needs a saver, and the workflow was made without one."""


class EmptyInputError(WorkflowError, ValueError):
    """There is nothing to run and nothing to continue."""


class ThreadBusyError(WorkflowError, RuntimeError):
    """The thread has a run in progress."""


class PendingInterruptError(WorkflowError, RuntimeError):
    """A new input came while the thread waits for an answer; the question is in the message."""


class UnknownInterruptError(WorkflowError, RuntimeError):
    """An answer fits no pending question; nothing was saved."""

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"] = "not_pending",
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)


class RunCancelledError(WorkflowError):
    """Another caller ended this run."""


class NonDeterminismError(WorkflowError, RuntimeError):
    """On resume the code does something other than what is on record; nothing was run and nothing saved."""


class SerializationError(WorkflowError, TypeError):
    """A value can't be saved.

    path: where it is in the saved value, as in "$.user.tags[2]".
    """

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class DeserializationError(WorkflowError, ValueError):
    """Stored bytes can't be turned back into a value."""


class OutsideWorkflowError(WorkflowError, RuntimeError):
    """A task, interrupt or context function was called with no workflow running."""


class InvalidUpdateError(WorkflowError, ValueError):
    """A node or caller gave an update that the state can't take."""


class GraphRecursionError(WorkflowError, RecursionError):
    """The graph did not end within recursion_limit steps."""


class GraphDrained(WorkflowError):
    """The run stopped at the next step because a drain was requested; its progress is saved."""

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(reason)
        self.reason = reason


class NodeCancelledError(WorkflowError):
    """A node or task was cancelled."""

    def __init__(self, node: str, message: str | None = None) -> None:
        super().__init__(message or f"{node!r} was cancelled")
        self.node = node


class NodeError:
    """What a node's error handler is told: no exception itself. node: its name. error: what it raised."""

    __slots__ = ("error", "node")

    def __init__(self, node: str, error: BaseException) -> None:
        self.node = node
        self.error = error

    def __repr__(self) -> str:
        return f"NodeError(node={self.node!r}, error={self.error!r})"


class NodeTimeoutError(WorkflowError, TimeoutError):
    """A node or task ran longer than its timeout allows.

    kind: "run" for the whole attempt, "idle" for the time without a sign of life. elapsed: seconds.
    """

    is_retryable: ClassVar[bool] = True

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        limit = run_timeout if kind == "run" else idle_timeout
        super().__init__(f"{node!r} passed its {kind} timeout of {limit} s (after {elapsed:.3f} s)")
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.idle_timeout = idle_timeout
        self.run_timeout = run_timeout


# -- signals ----------------------------------------------------------------------------------------


class Signal(BaseException):
    """Control flow of the runtime, no error: `except Exception` does not see it."""


class GraphInterrupt(Signal):
    """The run waits for answers. interrupts: the questions that were asked."""

    def __init__(self, interrupts: Sequence[Any] = ()) -> None:
        super().__init__(tuple(interrupts))
        self.interrupts: tuple[Any, ...] = tuple(interrupts)


class Cancelled(Signal):
    """Another caller ended this run."""
