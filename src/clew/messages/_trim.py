"""Fit a conversation into a token budget.

Messages are cut in units: an AI message with tool calls and the tool messages that answer it stay or go together.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, cast

from clew.messages._convert import convert_to_messages
from clew.messages._select import as_runnable, type_tests
from clew.messages._tokens import count_tokens_approximately
from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.messages.system import SystemMessage
from clew.messages.tool import ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clew.prompt_values import PromptValue

_UNSET: Any = object()
Types = str | type[BaseMessage] | list[str | type[BaseMessage]] | tuple[str | type[BaseMessage], ...]
Unit = list[BaseMessage]


def trim_messages(
    messages: Iterable[Any] | PromptValue = _UNSET,
    *,
    max_tokens: int,
    token_counter: Any,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Types | None = None,
    start_on: Types | None = None,
    include_system: bool = False,
    text_splitter: Any = None,
) -> list[BaseMessage]:
    """Keep the newest (or oldest) messages that fit in a token budget.

    messages: n message-likes, oldest first; not mutated. Left out, a step for chains is returned.
    max_tokens: budget in tokens, as counted by token_counter over the kept list.
    token_counter: a function of a list of messages, a function of one message (its parameter annotated as a message),
      a model, or "approximate".
    allow_partial: a message that doesn't fit may be shortened, in blocks or pieces of text_splitter (default: lines).
    start_on, end_on: types that the kept list must start or end with. include_system: keep a leading system message.
    Returns: at most n messages. A tool call never parts from its results.
    Raises: ValueError for a negative budget or options that don't go together.
    Cost: one count per message and two of the kept list, O(n), for counters that add up; O(n log n) for others.
    """
    options = {key: value for key, value in locals().items() if key != "messages"}
    _check(max_tokens, strategy, start_on, include_system)
    if messages is _UNSET:
        return as_runnable(trim_messages, options)
    whole = convert_to_messages(cast("Any", messages))
    budget = _Budget(max_tokens, token_counter)
    split = _splitter(text_splitter)
    if strategy == "first":
        kept = _keep_first(whole, budget, split if allow_partial else None)
        return _cut_end(kept, end_on)
    return _keep_last(whole, budget, split if allow_partial else None, start_on, end_on, include_system)


def _check(max_tokens: int, strategy: str, start_on: Any, include_system: bool) -> None:
    if max_tokens < 0:
        raise ValueError(f"max_tokens must not be negative, it is {max_tokens}")
    if strategy not in ("first", "last"):
        raise ValueError(f"strategy must be 'first' or 'last', not {strategy!r}")
    if strategy == "first" and (start_on is not None or include_system):
        raise ValueError("start_on and include_system go with strategy='last' only")


class _Budget:
    """Counts messages against the limit."""

    def __init__(self, limit: int, counter: Any) -> None:
        self.limit = limit
        self._one: Callable[[Any], int] | None = None
        self._many: Callable[[Any], int]
        if counter == "approximate":
            self._many = count_tokens_approximately
        elif hasattr(counter, "get_num_tokens_from_messages"):
            self._many = counter.get_num_tokens_from_messages
        elif callable(counter):
            count: Any = counter
            if _counts_one(count):
                self._one = count
            self._many = count
        else:
            raise ValueError(
                f"token_counter must be a function, a language model or 'approximate', not {type(counter).__name__}"
            )

    def count(self, messages: list[BaseMessage]) -> int:
        if self._one is not None:
            return sum(map(self._one, messages))
        return self._many(messages) if messages else 0

    def fits(self, messages: list[BaseMessage]) -> bool:
        return self.count(messages) <= self.limit

    def most(self, units: Sequence[Unit], fixed: list[BaseMessage]) -> int:
        """Return how many of the units, from the first on, fit together with the fixed messages."""
        base = self.count(fixed)
        if not units:
            return 0
        sums = list(accumulate((self.count(unit) for unit in units), initial=base))
        guess = bisect_right(sums, self.limit) - 1
        guess = max(guess, 0)
        if self._one is not None:
            return guess
        adds_up = all(self.count([*fixed, *_flat(units[:n])]) == sums[n] for n in (guess, guess + 1) if n <= len(units))
        return guess if adds_up else self._search(units, fixed)

    def _search(self, units: Sequence[Unit], fixed: list[BaseMessage]) -> int:
        low, high = 0, len(units)
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits([*fixed, *_flat(units[:middle])]):
                low = middle
            else:
                high = middle - 1
        return low


def _counts_one(counter: Any) -> bool:
    """Whether the function's first parameter is annotated as a message."""
    code = getattr(counter, "__code__", None)
    hints = getattr(counter, "__annotations__", None)
    if code is None or not hints:
        return False
    names = code.co_varnames[: code.co_argcount]
    hint = hints.get(names[0]) if names else None
    if isinstance(hint, str):
        return hint.rsplit(".", 1)[-1].endswith("Message")
    return isinstance(hint, type) and issubclass(hint, BaseMessage)


def units_of(messages: Sequence[BaseMessage]) -> list[Unit]:
    """Group messages so that a tool exchange is one unit."""
    units: list[Unit] = []
    open_ids: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in open_ids:
            units[-1].append(message)
            continue
        units.append([message])
        open_ids = {call["id"] for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    return units


def _flat(units: Iterable[Unit]) -> list[BaseMessage]:
    return [message for unit in units for message in unit]


def _keep_first(messages: list[BaseMessage], budget: _Budget, split: Any) -> list[BaseMessage]:
    units = units_of(messages)
    taken = budget.most(units, [])
    kept = _flat(units[:taken])
    if split is not None and taken < len(units):
        part = _part_of(units[taken], lambda m: budget.fits([*kept, m]), split, from_end=False)
        if part is not None:
            kept.append(part)
    return kept


def _keep_last(
    messages: list[BaseMessage],
    budget: _Budget,
    split: Any,
    start_on: Types | None,
    end_on: Types | None,
    include_system: bool,
) -> list[BaseMessage]:
    messages = _cut_end(messages, end_on)
    fixed: list[BaseMessage] = []
    if include_system and messages and isinstance(messages[0], SystemMessage):
        fixed, messages = messages[:1], messages[1:]
        if not budget.fits(fixed):
            return []
    units = units_of(messages)[::-1]
    taken = budget.most(units, fixed)
    kept = _flat(units[:taken][::-1])
    if taken < len(units):
        if split is not None:
            part = _part_of(units[taken], lambda m: budget.fits([*fixed, m, *kept]), split, from_end=True)
            if part is not None:
                kept.insert(0, part)
        while kept and isinstance(kept[0], ToolMessage):  # its call was lost before
            del kept[0]
    if start_on is not None:
        is_start = type_tests(start_on)
        first = next((at for at, message in enumerate(kept) if is_start(message)), len(kept))
        kept = kept[first:]
    return [*fixed, *kept]


def _cut_end(messages: list[BaseMessage], end_on: Types | None) -> list[BaseMessage]:
    if end_on is None:
        return messages
    is_end = type_tests(end_on)
    last = len(messages)
    while last and not is_end(messages[last - 1]):
        last -= 1
    return messages[:last]


def _splitter(given: Any) -> Callable[[str], list[str]]:
    if given is None:
        return lambda text: text.splitlines(keepends=True)
    return given.split_text if hasattr(given, "split_text") else given


def _part_of(unit: Unit, fits: Callable[[BaseMessage], bool], split: Any, *, from_end: bool) -> BaseMessage | None:
    """Return the most of a message that fits, or None. A tool exchange is not divided."""
    if len(unit) != 1 or isinstance(unit[0], ToolMessage) or getattr(unit[0], "tool_calls", None):
        return None
    message = unit[0]
    content = message.content
    if isinstance(content, str):
        pieces: list[Any] = split(content)
    else:
        pieces = list(content)
        if len(pieces) == 1 and isinstance(pieces[0], dict) and pieces[0].get("type") == "text":  # pyright: ignore[reportUnknownMemberType]
            pieces = [{**pieces[0], "text": text} for text in split(pieces[0]["text"])]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def with_first(n: int) -> BaseMessage:
        some = (pieces[len(pieces) - n :] if from_end else pieces[:n]) if n else []
        return message.model_copy(update={"content": "".join(some) if isinstance(content, str) else some})

    low, high = 0, len(pieces) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(with_first(middle)):
            low = middle
        else:
            high = middle - 1
    return with_first(low) if low and fits(with_first(low)) else None
