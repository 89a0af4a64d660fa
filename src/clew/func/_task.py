"""`@task`: a step whose result is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from clew._run import current
from clew.errors import OutsideWorkflowError
from clew.pregel._spec import Spec
from clew.types import RetryPolicy, TimeoutPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from datetime import timedelta

    from clew.pregel._future import TaskFuture
    from clew.types import CachePolicy

P = ParamSpec("P")
T = TypeVar("T")

if TYPE_CHECKING:

    class Outcome(TaskFuture, Generic[T]):
        """What a type checker sees of a call's future: that its result is a T."""

        def result(self, timeout: float | None = None) -> T: ...
        def __await__(self) -> Generator[Any, None, T]: ...

    class Decorator(Protocol):
        """`@task(...)` with options keeps the function's parameters and result too."""

        @overload
        def __call__(self, func: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
        @overload
        def __call__(self, func: Callable[P, T], /) -> TaskFunction[P, T]: ...


class TaskFunction(Generic[P, T]):
    """A function whose calls are durable. Calling it starts it and returns a future at once."""

    def __init__(self, func: Callable[P, Any], spec: Spec) -> None:
        self.func = func
        self.spec = spec
        self.name = self.__name__ = spec.name
        self.__doc__ = getattr(func, "__doc__", None)
        self.__module__ = getattr(func, "__module__", type(self).__module__)
        self.__qualname__ = getattr(func, "__qualname__", spec.name)
        self.__wrapped__ = func

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Outcome[T]:
        """Start the task. Works in an entrypoint, another task or a graph node.

        Returns: a future; `.result()` waits for it, `await` does in async code.
        Raises: OutsideWorkflowError (a RuntimeError) elsewhere.
        """
        frame = current.get()
        if frame is None:
            raise OutsideWorkflowError(
                f"task {self.name!r} was called outside of a workflow: call it from an @entrypoint, a task or a graph "
                f"node, or call the function itself: {self.name}.func(...)"
            )
        return frame.call(self.spec, args, kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def clear_cache(self, cache: Any) -> None:
        """Forget all results of this task in a cache."""
        from clew.pregel._attempts import cache_namespace

        cache.clear([cache_namespace(self.spec)])

    async def aclear_cache(self, cache: Any) -> None:
        """Awaitable `clear_cache`."""
        from clew.pregel._attempts import cache_namespace

        await cache.aclear([cache_namespace(self.spec)])


def policies(policy: RetryPolicy | Sequence[RetryPolicy] | None) -> tuple[RetryPolicy, ...]:
    """Return retry policies as a tuple; the first that matches an error is used."""
    if policy is None:
        return ()
    return (policy,) if isinstance(policy, RetryPolicy) else tuple(policy)


def name_of(func: Any) -> str:
    """Return what a callable is called."""
    found = getattr(func, "__name__", None)
    while found is None and hasattr(func, "func"):
        func = func.func
        found = getattr(func, "__name__", None)
    return found or type(func).__name__


@overload
def task(func: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
@overload
def task(func: Callable[P, T], /) -> TaskFunction[P, T]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    match: Literal["args", "name"] = "args",
) -> Decorator: ...
@overload
def task(
    func: Callable[P, Any],
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    match: Literal["args", "name"] = "args",
) -> TaskFunction[P, Any]: ...
def task(
    func: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    match: Literal["args", "name"] = "args",
    hidden: bool = False,
) -> Any:
    """Make a function a durable step of workflows: its result is saved, and a resumed run does not call it again.

    name: how streams and records call it. retry_policy: what is tried again, and how often; the first policy that
    matches
    an error is used. cache_policy: keep results for other runs, in the cache of the entrypoint. timeout: seconds,
    timedelta or TimeoutPolicy, for async functions. match: "name" when arguments hold a clock or a random value, so a
    resumed call need not have the recorded ones. hidden: not in the `updates` stream.
    Raises: ValueError for a timeout on a function that is not async.
    """
    if match not in ("args", "name"):
        raise ValueError(f"match is 'args' or 'name', not {match!r}")

    def decorate(function: Any) -> TaskFunction[..., Any]:
        spec = Spec(
            function, name or name_of(function), retry=policies(retry_policy), cache=cache_policy,
            timeout=TimeoutPolicy.coerce(timeout), match=match, hidden=hidden,
        )  # fmt: skip
        if spec.timeout is not None and not spec.is_async:
            raise ValueError(
                f"task {spec.name!r} has a timeout and is not async: a thread can't be stopped from outside; make it "
                "`async def`, or give the call inside it a timeout of its own"
            )
        learn(function)
        return TaskFunction(function, spec)

    return decorate if func is None else decorate(func)


def learn(function: Any) -> None:
    """Let the serialiser know the classes that a function's annotations name."""
    if getattr(function, "__annotations__", None):
        from clew import _serde

        _serde.register_from_annotations(function)
