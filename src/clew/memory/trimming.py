"""Which part of a talk fits: whole turns, counted once, from the newest backwards.

A turn begins with the question of a person and ends before the next one, so a tool call never parts from its result
and an answer never stands without its question. The newest turn is always kept, and so are system messages at the
beginning. A talk with no question in it is cut between exchanges instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from clew.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.memory._types import AnyModel

__all__ = ["Trimmed", "fit_to_tokens", "last_turns"]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What was kept of a talk, and what was not.

    kept, dropped: messages, oldest first. head: how many of the kept ones (system messages) stand before the dropped.
    tokens: what the kept ones cost. limit: the budget.
    """

    kept: list[BaseMessage]
    dropped: list[BaseMessage] = field(default_factory=list)
    head: int = 0
    tokens: int = 0
    limit: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the newest turn alone is more than the budget, and was kept all the same."""
        return self.tokens > self.limit


def fit_to_tokens(
    messages: Sequence[BaseMessage], limit: int, counter: AnyModel | Callable[[list[BaseMessage]], int]
) -> Trimmed:
    """Keep the newest whole turns that fit in a token budget.

    messages: n messages, oldest first; not mutated. limit: tokens. counter: a model (its own tokenizer decides) or a
    function of a list of messages.
    Raises: ValueError if limit < 0.
    Cost: one count per message of the window and one more; O(n) comparisons at worst.
    Source: memory document, 13.5 (prune from the oldest); differs: cuts at turns, keeps the newest one.
    """
    if limit < 0:
        raise ValueError(f"a token budget can't be negative, and {limit} is")
    count = cast("Callable[[list[BaseMessage]], int]", getattr(counter, "get_num_tokens_from_messages", counter))
    head = _system_head(messages)
    base = _overhead(count)
    tokens = base + sum(count([message]) - base for message in messages[:head])
    start, kept_tokens = len(messages), tokens
    starts = _cuts(messages, head)
    for place in range(len(messages) - 1, head - 1, -1):
        tokens += count([messages[place]]) - base
        if tokens > limit and start < len(messages):
            break
        if place in starts:
            start, kept_tokens = place, tokens
    kept = [*messages[:head], *messages[start:]]
    return Trimmed(kept, list(messages[head:start]), head, kept_tokens, limit)


def _overhead(count: Callable[[list[BaseMessage]], int]) -> int:
    """Return what a model adds once per request, which is no message's own; 0 where it counts no empty list."""
    try:
        return count([])
    except Exception:
        return 0  # each message then carries it: the window is a little smaller than it could be


def last_turns(read: Callable[[int], list[BaseMessage]], k: int) -> list[BaseMessage]:
    """Return the newest k turns, reading no more of a history than they need.

    read: gives the newest n messages (`history.get_last_messages`).
    A talk without questions counts two messages as a turn.
    """
    n = 2 * k
    while n > 0:
        found = read(n)
        kept = newest_turns(found, k)
        if kept is not None or len(found) < n:
            return found if kept is None else kept
        n *= 2
    return []


def newest_turns(messages: list[BaseMessage], k: int) -> list[BaseMessage] | None:
    """Return the newest k turns of these messages, or None when they hold fewer, so that more must be read."""
    starts = sorted(_turn_starts(messages, 0))
    if len(starts) >= k:
        return messages[starts[-k] :]
    if not starts and not any(isinstance(message, (HumanMessage, ToolMessage)) for message in messages):
        return messages[-2 * k :]
    return None


def _system_head(messages: Sequence[BaseMessage]) -> int:
    """Count the system messages at the beginning."""
    for place, message in enumerate(messages):
        if not isinstance(message, SystemMessage):
            return place
    return len(messages)


def _cuts(messages: Sequence[BaseMessage], head: int) -> set[int]:
    """Return where a window may begin: at questions, or where there is none, between exchanges."""
    return _turn_starts(messages, head) or _exchange_starts(messages, head)


def _turn_starts(messages: Sequence[BaseMessage], head: int) -> set[int]:
    starts: set[int] = set()
    before_is_human = False
    for place in range(head, len(messages)):
        is_human = isinstance(messages[place], HumanMessage)
        if is_human and not before_is_human:
            starts.add(place)
        before_is_human = is_human
    return starts


def _exchange_starts(messages: Sequence[BaseMessage], head: int) -> set[int]:
    starts: set[int] = set()
    for place in range(head, len(messages)):
        message = messages[place]
        before = messages[place - 1] if place > head else None
        answers = isinstance(message, ToolMessage)
        calls = isinstance(before, ToolMessage) or (isinstance(before, AIMessage) and bool(before.tool_calls))
        if not answers and not calls:
            starts.add(place)
    return starts or ({head} if len(messages) > head else set())
