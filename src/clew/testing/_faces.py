"""Both faces of a call in one test: `face("get", x)` blocks or awaits."""

from __future__ import annotations

import asyncio
from typing import Any


class Face:
    """Calls methods of an object, blocking, or through their `a` twins on one event loop of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._runner = asyncio.Runner() if name == "awaited" else None

    def __call__(self, target: Any, method: str, *arguments: Any, **options: Any) -> Any:
        """Return target.method(…), or the awaited target.amethod(…); what is yielded comes as a list."""
        if self._runner is None:
            result = getattr(target, method)(*arguments, **options)
            return list(result) if hasattr(result, "__next__") else result
        return self._runner.run(self._awaited(target, "a" + method, arguments, options))

    async def _awaited(self, target: Any, method: str, arguments: Any, options: Any) -> Any:
        result = getattr(target, method)(*arguments, **options)
        return [one async for one in result] if hasattr(result, "__aiter__") else await result

    def run(self, body: Any) -> Any:
        """Run a coroutine on this face's event loop."""
        if self._runner is None:
            body.close()
            raise RuntimeError("the blocking face has no event loop")
        return self._runner.run(body)

    def together(self, calls: list[tuple[Any, str, tuple[Any, ...]]]) -> list[Any]:
        """Make calls at once, in threads or as tasks; return what each gave, exceptions included."""
        if self._runner is None:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(16, len(calls))) as pool:
                futures = [pool.submit(getattr(target, method), *arguments) for target, method, arguments in calls]
            return [future.exception() or future.result() for future in futures]

        async def gather() -> list[Any]:
            jobs = [self._awaited(target, "a" + method, arguments, {}) for target, method, arguments in calls]
            return await asyncio.gather(*jobs, return_exceptions=True)

        return self._runner.run(gather())

    def close(self) -> None:
        """End the event loop."""
        if self._runner is not None:
            self._runner.close()
