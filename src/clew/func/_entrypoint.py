"""`@entrypoint`: a function as a durable workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from clew.func._task import learn, name_of, policies
from clew.pregel._pregel import Pregel
from clew.pregel._spec import injected, is_async
from clew.types import TimeoutPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from clew.checkpoint import _records as R
    from clew.checkpoint._journal import Row
    from clew.pregel._begin import Start
    from clew.pregel._flow import Flow
    from clew.pregel._thread import Known, Values
    from clew.types import CachePolicy, Durability, Multitask, PregelTask, RetryPolicy

V = TypeVar("V")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(Generic[V, S]):
    """What an entrypoint returns to give its caller one thing and its next run another.

    value: for the caller. save: the next run's `previous`. None is a value for both.
    """

    value: V
    save: S


Final.__name__ = "final"
Final.__qualname__ = "entrypoint.final"


class Workflow(Pregel):
    """A function that runs on threads. Its body runs again from the top on resume; finished tasks are replayed."""

    is_task = True
    refuses_input = True
    default_mode: ClassVar[Any] = "updates"

    def __init__(
        self,
        func: Callable[..., Any],
        name: str,
        *,
        timeout: TimeoutPolicy | None = None,
        cache_policy: CachePolicy | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self.func = func
        self.__doc__ = getattr(func, "__doc__", None)
        self.__wrapped__ = func
        self.is_async = is_async(func)
        self.inject = injected(func, anywhere=True)
        self.wants_previous = bool(self.inject & {"previous", "runtime"})
        self.timeout = timeout
        self.cache_policy = cache_policy

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"

    async def body(self, flow: Flow) -> Any:
        """Call the function, or take its value from the cache."""
        if self.is_async and not flow.awaited:
            raise TypeError(f"workflow {self.name!r} is async: call it with ainvoke or astream")
        if self.cache_policy is not None and flow.root.cache is not None:
            return await self._cached(flow)
        return await self._run(flow)

    async def _cached(self, flow: Flow) -> Any:
        """Return the value of an earlier run with this input, or run and keep it."""
        from clew.pregel._attempts import cache_key
        from clew.pregel._spec import Spec

        policy, cache = self.cache_policy, flow.root.cache
        assert policy is not None
        key = cache_key(Spec(self.func, self.name, cache=policy), (flow.input,), {})
        found: dict[Any, Any] = await cache.aget([key]) if flow.awaited else cache.get([key])
        if key in found:
            return found[key]
        outcome = await self._run(flow)
        pairs = {key: (self.shown(outcome), policy.ttl)}
        if flow.awaited:
            await cache.aset(pairs)
        else:
            cache.set(pairs)
        return outcome

    async def _run(self, flow: Flow) -> Any:
        """Call the function, with its timeout and retries."""
        from clew.pregel._frame import prepare

        func, frame, inject = self.func, flow.frame, self.inject
        if not self.retry_policy and self.timeout is None and not flow.awaited:
            return func(flow.input, **prepare(frame, inject, {})) if inject else func(flow.input)

        async def call() -> Any:
            kwargs = prepare(frame, inject, {}) if inject else {}
            running = flow.run(func, flow.input, is_async=self.is_async, **kwargs)
            if self.timeout is not None:
                from clew.pregel._awaiting import within

                return await within(running, frame, self.timeout)
            return await running

        if self.retry_policy:
            from clew.pregel._flow import with_retries

            return await with_retries(flow, call)
        return await call()

    async def finish(self, flow: Flow, start: Start, outcome: Any) -> None:
        """Save the result."""
        from clew.pregel._end import finish

        if isinstance(outcome, Final):
            await finish(flow.root, start, outcome.value, outcome.save)  # pyright: ignore[reportUnknownMemberType] - of any type
        else:
            await finish(flow.root, start, outcome, outcome)

    def shown(self, outcome: Any) -> Any:
        """Return what the caller gets."""
        return outcome.value if isinstance(outcome, Final) else outcome  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]

    def tell(self, flow: Flow, outcome: Any, error: BaseException | None) -> None:
        """Send the end of the body to the stream."""
        from clew.errors import GraphInterrupt

        sink, frame, root = flow.root.sink, flow.frame, flow.root
        if sink is None:
            return
        if isinstance(error, GraphInterrupt):
            asked = tuple(error.interrupts)
            sink.ended(frame.task_id(), self.name, frame.namespace, interrupts=asked)
            for mode in ("updates", "values"):
                sink.emit(mode, {"__interrupt__": asked}, frame.namespace)
        elif error is not None:
            sink.ended(frame.task_id(), self.name, frame.namespace, error=repr(error))
        else:
            sink.ended(frame.task_id(), self.name, frame.namespace, result=outcome)
            sink.update(self.name, outcome, frame.namespace)
            sink.emit("values", outcome, frame.namespace)
        if root.keeps and flow.start is not None:
            from clew.func._events import tell_checkpoint

            tell_checkpoint(self, flow, outcome, error)

    # -- state ---------------------------------------------------------------------------------------

    async def values_of(self, values: Values, body: R.Body) -> Any:
        """Return the last value."""
        from clew.pregel._begin import END

        return await values.value(body.values.get(END))

    async def tasks_of(self, values: Values, row: Row, body: R.Body, known: Known) -> tuple[PregelTask, ...]:
        """Return the body, while the run is not over."""
        from clew.pregel._state import body_task

        return (body_task(self, values, row, known),) if self.is_open(body) else ()

    async def updated(
        self, values: Values, body: R.Body | None, known: Known, update: Any, as_node: str | None, *, forks: bool
    ) -> tuple[dict[str, R.Ref], list[tuple[int, int, bytes]], bytes | None]:
        """Return `update` as the value and as the next run's `previous`."""
        from clew.pregel._begin import END, PREVIOUS

        ref, rows = values.write(values.codec.encode(update))
        return {END: ref, PREVIOUS: ref}, rows, None

    # -- what it looks like --------------------------------------------------------------------------

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """Return the JSON schema of the input, as the function's annotation says."""
        from clew.func._schema import input_schema

        return input_schema(self.func)

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """Return the JSON schema of the value, as the function's annotation says."""
        from clew.func._schema import output_schema

        return output_schema(self.func)

    def get_graph(self, config: Any = None, *, xray: int | bool = False) -> Any:
        """Return a drawing of what the function may call, read from its code."""
        from clew.func._graph import graph_of

        return graph_of(self)


class entrypoint:
    """Make a function of one input a durable workflow.

    checkpointer: a saver; keeps task results, questions and `previous`; without one nothing is kept. store: long-term
    memory. cache: for tasks with a cache_policy. context_schema: type of `context=`. retry_policy: for the body;
    finished tasks are not run again. timeout: of an async body. multitask_strategy: what happens to a call on a
    thread that is busy: "reject", "enqueue", "interrupt" (stop the running one) or "rollback" (and undo it). lease:
    seconds after
    which a run whose process is gone may be taken over by `recover`. nondeterminism: what a call that differs from
    the record
    does on resume: "raise", "warn" or "rerun". version: recorded with runs.
    The function gets what it declares keyword-only: previous, store, writer, config, runtime.
    """

    final = Final

    def __init__(
        self,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: Any = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        *,
        name: str | None = None,
        multitask_strategy: Multitask = "reject",
        lease: float = 30.0,
        nondeterminism: Literal["raise", "warn", "rerun"] = "raise",
        durability: Durability = "sync",
        version: str | int | None = None,
    ) -> None:
        self.name = name
        self.options: dict[str, Any] = {
            "checkpointer": checkpointer, "store": store, "cache": cache, "context_schema": context_schema,
            "cache_policy": cache_policy, "retry_policy": policies(retry_policy), "multitask": multitask_strategy,
            "lease": lease, "nondeterminism": nondeterminism, "durability": durability, "version": version,
            "timeout": TimeoutPolicy.coerce(timeout),
        }  # fmt: skip

    def __call__(self, func: Callable[..., Any]) -> Workflow:
        """Return the workflow.

        Raises: NotImplementedError for generators; ValueError for a function without an input; TypeError for one that
        needs more than one.
        """
        name = self.name or name_of(func)
        plain = getattr(func, "__func__", func)
        code = getattr(plain, "__code__", None)
        if code is not None:
            _check(name, plain, code, bound=plain is not func)
        if self.options["timeout"] is not None and not is_async(func):
            raise ValueError(
                f"workflow {name!r} has a timeout and is not async: a thread can't be stopped from outside"
            )
        learn(func)
        return Workflow(func, name, **self.options)


def _check(name: str, func: Any, code: Any, *, bound: bool) -> None:
    if code.co_flags & 0x220:  # CO_GENERATOR | CO_ASYNC_GENERATOR
        raise NotImplementedError(f"{name!r} is a generator: return the value, and use `writer` to stream on the way")
    count = code.co_argcount - bound
    takes_any = code.co_flags & 0x04
    if count == 0 and not takes_any:
        raise ValueError(f"{name!r} must take at least one parameter: the input")
    defaults = len(func.__defaults__ or ())
    if count - defaults > 1:
        wanted = code.co_varnames[bound : code.co_argcount]
        raise TypeError(
            f"{name!r} must take one input; it requires {', '.join(wanted)}: put several values into a dict"
        )
