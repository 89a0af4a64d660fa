"""The interface of a cache of model answers, and what every cache shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from clew._pool import run_in_executor
from clew.caches._flight import Flights
from clew.outputs import ChatGeneration, Generation

RETURN_VAL_TYPE = Sequence[Generation | ChatGeneration]


class BaseCache(ABC):
    """Keeps answers under (prompt, llm_string).

    prompt: the messages as `load.dumps` writes them, without their ids, or the text for a text model. llm_string: the
    model with all its parameters, bound tools, schema and stop. Subclasses write `lookup`, `update` and `clear`; the
    async twins run them in a worker thread unless written too. Rows that are not a list of generations count as misses.
    Source: models document, caching (BaseCache).
    """

    # Ours: set to the class's own `lookup`; a subclass that writes another one gets the documented prompt again.
    _compact: ClassVar[Any] = None

    flights: Flights

    def __new__(cls, *args: Any, **kwargs: Any) -> BaseCache:
        """Give each cache its own register of requests that are on their way."""
        self = super().__new__(cls)
        self.flights = Flights()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BaseCache:
        """Copies of a model share its cache."""
        return self

    @abstractmethod
    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the generations that are kept for this request, or None."""

    @abstractmethod
    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep the generations of this request."""

    @abstractmethod
    def clear(self, **kwargs: Any) -> None:
        """Forget everything."""

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the generations that are kept for this request, or None."""
        return await run_in_executor(None, self.lookup, prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Keep the generations of this request."""
        await run_in_executor(None, self.update, prompt, llm_string, return_val)

    async def aclear(self, **kwargs: Any) -> None:
        """Forget everything."""
        await run_in_executor(None, self.clear, **kwargs)


def takes_compact_prompts(cache: BaseCache) -> bool:
    """Whether the prompt may be a compact text of the messages: it is hashed and never read.

    Writing a thousand messages in the documented form costs fifty times what hashing them does.
    """
    cls = type(cache)
    return cls._compact is not None and cls.lookup is cls._compact  # pyright: ignore[reportPrivateUsage] - one module
