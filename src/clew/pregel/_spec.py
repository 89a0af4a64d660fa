"""What a task is: a function with its name and policies, looked at once, when it is decorated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.types import CachePolicy, RetryPolicy, TimeoutPolicy

INJECTED = frozenset(("config", "store", "writer", "runtime", "previous"))
_ANNOTATED = {"config": "RunnableConfig", "store": "BaseStore", "writer": "StreamWriter", "runtime": "Runtime"}


def _call_of(thing: Any) -> Any:
    """Return the method that calling an object runs."""
    return getattr(cast("Any", type(thing)), "__call__", None)  # noqa: B004 - the method itself is wanted


def is_async(function: Any) -> bool:
    """Say whether calling this gives a coroutine."""
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(_call_of(function), "__code__", None)
        if hasattr(function, "__func__"):
            code = getattr(function.__func__, "__code__", None)
    return bool(code is not None and code.co_flags & 0x180)  # CO_COROUTINE | CO_ITERABLE_COROUTINE


def injected(function: Any, *, anywhere: bool = False) -> frozenset[str]:
    """Return which of config, store, writer, runtime and previous the function wants filled in.

    These are keyword-only parameters of that name, and (anywhere: always, else when annotated with the fitting type)
    others.
    """
    bound = set[str]()
    while hasattr(function, "func") and hasattr(function, "keywords"):
        bound |= set(function.keywords)
        function = function.func
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is None:
        plain = _call_of(function)
        code = getattr(plain, "__code__", None)
        if code is None:
            return frozenset()
    count = code.co_argcount
    keyword_only = code.co_varnames[count : count + code.co_kwonlyargcount]
    wanted = {name for name in keyword_only if name in INJECTED}
    notes = getattr(plain, "__annotations__", {})
    for name in code.co_varnames[1:count] if anywhere else code.co_varnames[:count]:
        if name in INJECTED and (name in _ANNOTATED and _ANNOTATED[name] in str(notes.get(name, ""))):
            wanted.add(name)
    return frozenset(wanted - bound)


class View(Protocol):
    """How a task looks to observers when its own values are the runtime's business."""

    @staticmethod
    def input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what to show of the arguments."""
        ...

    @staticmethod
    def result(outcome: Any) -> Any:
        """Return what to show of the result."""
        ...


class Spec:
    """A durable unit.

    match: what must be as recorded: "args" (name and arguments), "name", or "place" (the name; arguments are not
    even looked at). hidden: for streams it is part of what called it. view: what observers see of its arguments and
    result; None for the things themselves.
    """

    __slots__ = (
        "cache",
        "fn",
        "hidden",
        "identity",
        "inject",
        "is_async",
        "match",
        "name",
        "retry",
        "timeout",
        "view",
    )

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str,
        *,
        retry: Sequence[RetryPolicy] = (),
        cache: CachePolicy | None = None,
        timeout: TimeoutPolicy | None = None,
        match: str = "args",
        hidden: bool = False,
        is_coroutine: bool | None = None,
        inject: frozenset[str] | None = None,
        view: type[View] | None = None,
    ) -> None:
        self.fn = fn
        self.name = name
        self.retry = retry
        self.cache = cache
        self.timeout = timeout
        self.match = match
        self.hidden = hidden
        self.is_async = is_async(fn) if is_coroutine is None else is_coroutine
        self.inject = injected(fn) if inject is None else inject
        self.identity: str | None = None
        self.view = view
