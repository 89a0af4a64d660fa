"""Many inputs at once: in their order, as they finish, or step by step through a sequence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from clew.runnables._entry import plain
from clew.runnables._together import arun_together, run_together
from clew.runnables.config import get_config_list

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

KEPT = (Exception,)


def configs_for(config: Any, count: int) -> list[Any]:
    """Return a config per input, None where there is nothing to say."""
    if config is None and plain():
        return [None] * count
    return get_config_list(config, count)


def concurrency(configs: list[Any]) -> int | None:
    """Return the limit that the first config sets."""
    first: Any = configs[0] if configs else None
    return None if first is None else first.get("max_concurrency")


def calls_of(
    function: Callable[..., Any], inputs: Sequence[Any], configs: list[Any], kwargs: dict[str, Any]
) -> list[Any]:
    """Return one call per input."""
    if kwargs:
        return [partial(function, each, config, **kwargs) for each, config in zip(inputs, configs, strict=True)]
    return [partial(function, each, config) for each, config in zip(inputs, configs, strict=True)]


def batch(
    runnable: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> list[Any]:
    """Return the outputs of `invoke` for many inputs."""
    configs = configs_for(config, len(inputs))
    calls = calls_of(runnable.invoke, inputs, configs, kwargs)
    return run_together(calls, concurrency(configs), KEPT if return_exceptions else ())


async def abatch(
    runnable: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> list[Any]:
    """Return the outputs of `ainvoke` for many inputs."""
    configs = configs_for(config, len(inputs))
    calls = calls_of(runnable.ainvoke, inputs, configs, kwargs)
    return await arun_together(calls, concurrency(configs), KEPT if return_exceptions else ())


def batch_steps(
    sequence: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> list[Any]:
    """Batch each step in turn; an input that failed at a step keeps its error and leaves the later steps."""
    configs = configs_for(config, len(inputs))
    with _Runs(sequence, inputs, configs) as runs:
        for position, step in enumerate(sequence.steps):
            alive = runs.alive()
            if alive:
                values = [runs.values[i] for i in alive]
                below = [runs.child(i, position) for i in alive]
                outputs = step.batch(values, _given(below), return_exceptions=return_exceptions, **kwargs)
                runs.take(alive, outputs, return_exceptions)
            kwargs = {}
        return runs.values


async def abatch_steps(
    sequence: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> list[Any]:
    """Batch each step in turn; as `batch_steps`."""
    configs = configs_for(config, len(inputs))
    async with _Runs(sequence, inputs, configs) as runs:
        for position, step in enumerate(sequence.steps):
            alive = runs.alive()
            if alive:
                values = [runs.values[i] for i in alive]
                below = [runs.child(i, position) for i in alive]
                outputs = await step.abatch(values, _given(below), return_exceptions=return_exceptions, **kwargs)
                runs.take(alive, outputs, return_exceptions)
            kwargs = {}
        return runs.values


def _given(configs: list[Any]) -> Any:
    return configs if any(config is not None for config in configs) else None


class _Runs:
    """The runs of a step-wise batch: one per input, reported where someone listens."""

    def __init__(self, sequence: Any, inputs: Sequence[Any], configs: list[Any]) -> None:
        self._sequence = sequence
        self._configs = configs
        self._runs: list[Any] = [None] * len(inputs)
        self._failed: dict[int, BaseException] = {}
        self.values: list[Any] = list(inputs)

    def alive(self) -> list[int]:
        """Return the positions that have not failed."""
        return [i for i in range(len(self.values)) if i not in self._failed]

    def child(self, position: int, step: int) -> Any:
        """Return the config of one input at one step."""
        from clew.runnables._entry import child_config, without_own

        config = self._configs[position]
        if config is None:
            return None
        return child_config(without_own(config), self._runs[position], f"seq:step:{step + 1}")

    def take(self, alive: list[int], outputs: list[Any], return_exceptions: bool) -> None:
        """Keep what a step returned."""
        for position, output in zip(alive, outputs, strict=True):
            self.values[position] = output
            if return_exceptions and isinstance(output, Exception):
                self._failed[position] = output

    def _managers(self, get: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        from clew.callbacks._manager import anyone_listening

        for position, config in enumerate(self._configs):
            if config is not None and anyone_listening(config.get("callbacks")):
                yield position, get(config)

    def _ends(self, error: BaseException | None) -> Iterator[tuple[Any, BaseException | None, Any]]:
        for position, run in enumerate(self._runs):
            if run is not None:
                yield run, error or self._failed.get(position), self.values[position]

    def __enter__(self) -> _Runs:
        from clew.runnables._entry import begin
        from clew.runnables.config import get_callback_manager_for_config

        for i, manager in self._managers(get_callback_manager_for_config):
            self._runs[i] = begin(manager, self._sequence, self.values[i], self._configs[i], None)
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        for run, failure, value in self._ends(error):
            if failure is None:
                run.on_chain_end(value)
            else:
                run.on_chain_error(failure)

    async def __aenter__(self) -> _Runs:
        from clew.runnables._entry import begin
        from clew.runnables.config import get_async_callback_manager_for_config

        for i, manager in self._managers(get_async_callback_manager_for_config):
            self._runs[i] = await begin(manager, self._sequence, self.values[i], self._configs[i], None)
        return self

    async def __aexit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        for run, failure, value in self._ends(error):
            if failure is None:
                await run.on_chain_end(value)
            else:
                await run.on_chain_error(failure)


def batch_as_completed(
    runnable: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> Iterator[tuple[int, Any]]:
    """Yield (position, output) as calls finish; closing early forgets what has not begun and waits for the rest."""
    from queue import SimpleQueue

    configs = configs_for(config, len(inputs))
    calls = calls_of(runnable.invoke, inputs, configs, kwargs)
    results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    from clew.runnables._together import crowd

    with crowd(calls, concurrency(configs), results.put):
        for _ in calls:
            position, output, error = results.get()
            if error is not None and not (return_exceptions and isinstance(error, Exception)):
                raise error
            yield position, output if error is None else cast("Any", error)


async def abatch_as_completed(
    runnable: Any, inputs: Sequence[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> AsyncIterator[tuple[int, Any]]:
    """Yield (position, output) as calls finish; closing early cancels the rest and awaits them."""
    import asyncio

    configs = configs_for(config, len(inputs))
    results: asyncio.Queue[tuple[int, Any, BaseException | None]] = asyncio.Queue()

    async def one(position: int) -> None:
        try:
            output = await runnable.ainvoke(inputs[position], configs[position], **kwargs)
        except Exception as error:
            results.put_nowait((position, None, error))
        else:
            results.put_nowait((position, output, None))

    async def everyone() -> None:
        await arun_together([partial(one, i) for i in range(len(inputs))], concurrency(configs))

    work = asyncio.ensure_future(everyone())
    try:
        for _ in inputs:
            position, output, error = await results.get()
            if error is not None and not return_exceptions:
                raise error
            yield position, output if error is None else error
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
