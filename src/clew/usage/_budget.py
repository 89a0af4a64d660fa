"""A limit on what a block of code may spend on models."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from clew._kernel.usage import combine
from clew._lazy import need
from clew.callbacks import BaseCallbackHandler, ambient_handlers
from clew.callbacks._usage import ABANDONED, UNKNOWN_MODEL, is_free, reports_of
from clew.errors import BudgetExceededError, MissingDependencyError
from clew.usage._prices import Prices, cost_of

if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

    from clew.outputs import LLMResult


class Budget(BaseCallbackHandler):
    """Count and limit what the model calls of a block cost.

        with Budget(max_cost=0.10) as spent:
            ...
        spent.cost, spent.total_tokens

    max_cost: dollars. max_tokens: input and output together. prices: as in `cost_of`. The limits are checked before a
    call, which is not made any more once one is reached (BudgetExceededError), so the last call may pass it. With a
    max_cost, a model whose price is unknown is refused from its second call on: the budget could not be kept. Budgets
    nest: a call counts in all that are around it. Answers from a cache are free.
    Raises: MissingDependencyError for a max_cost when there are neither prices nor the package `genai-prices`.
    Use one object for one block at a time; `async with` works too. Threads that do not carry the caller's context are
    not counted.
    """

    raise_error = True

    def __init__(
        self, max_cost: float | None = None, *, max_tokens: int | None = None, prices: Prices | None = None
    ) -> None:
        if max_cost is not None and prices is None:
            need("genai_prices", "prices", "Budget(max_cost=) without prices=")
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.prices = prices
        self.usage_metadata: dict[str, Any] = {}
        self.calls = 0
        self.cache_hits = 0
        self.unpriced: set[str] = set()
        self._cost = 0.0
        self._lock = threading.Lock()
        self._token: Token[tuple[BaseCallbackHandler, ...]] | None = None

    @property
    def cost(self) -> float | None:
        """Dollars spent so far; None when the price of a model that was used is not known (see `unpriced`)."""
        return None if self.unpriced else self._cost

    @property
    def total_tokens(self) -> int:
        """Tokens paid for so far."""
        return sum(usage["total_tokens"] for usage in self.usage_metadata.values())

    def check(self) -> None:
        """Refuse to go on when a limit is reached.

        Raises: BudgetExceededError.
        """
        if self.max_tokens is not None and self.total_tokens >= self.max_tokens:
            raise BudgetExceededError(f"the budget of {self.max_tokens} tokens is used up ({self.total_tokens})")
        if self.max_cost is None:
            return
        if self.unpriced:
            names = ", ".join(sorted(self.unpriced))
            raise BudgetExceededError(f"the price of {names} is not known, so max_cost can't be kept: give prices=")
        if self._cost >= self.max_cost:
            raise BudgetExceededError(f"the budget of ${self.max_cost:g} is used up (${self._cost:g})")

    def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        """Check the limits before a call of a text model."""
        self.check()

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """Check the limits before a call of a chat model."""
        self.check()

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count an answer."""
        for model, usage in reports_of(response):
            self.add(model, usage)

    def on_llm_error(self, error: BaseException, *, response: LLMResult | None = None, **kwargs: Any) -> None:
        """Count what a call had used when it broke off, as far as the provider had said."""
        if response is not None:
            self.on_llm_end(response)

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Count an answer that nobody waited for any more."""
        if name == ABANDONED:
            self.on_llm_end(data)

    def add(self, model: str, usage: Any) -> None:
        """Count one answer."""
        with self._lock:
            if is_free(usage):
                self.cache_hits += 1
                return
            self.calls += 1
            self.usage_metadata[model] = combine(self.usage_metadata.get(model), usage)
            price = self._price(model, usage)
            if price is None:
                self.unpriced.add(model)
            else:
                self._cost += price

    def _price(self, model: str, usage: Any) -> float | None:
        if model == UNKNOWN_MODEL and not self.prices:
            return None
        try:
            return cost_of(model, usage, prices=self.prices)
        except MissingDependencyError:  # no max_cost then: see __init__
            return None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise RuntimeError("this Budget is around another block already: make one for each")
        self._token = ambient_handlers.set((*ambient_handlers.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._token is not None
        ambient_handlers.reset(self._token)
        self._token = None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)
