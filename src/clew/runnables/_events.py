"""`astream_events`: what happens in a whole call tree, as one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clew.runnables._stream import closing
from clew.runnables.config import inherit, merge_configs
from clew.tracers._event_stream import EventHandler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from clew.config import RunnableConfig


class Filter(NamedTuple):
    """Which runs are heard: all, or those with one of the included and none of the excluded names, types, tags."""

    include_names: Sequence[str] | None = None
    include_types: Sequence[str] | None = None
    include_tags: Sequence[str] | None = None
    exclude_names: Sequence[str] | None = None
    exclude_types: Sequence[str] | None = None
    exclude_tags: Sequence[str] | None = None

    def wants(self, name: str, kind: str, tags: list[str]) -> bool:
        """Tell whether a run is heard."""
        included = (self.include_names, self.include_types, self.include_tags)
        if any(group is not None for group in included) and not _matches(included, name, kind, tags):
            return False
        return not _matches((self.exclude_names, self.exclude_types, self.exclude_tags), name, kind, tags)


def _matches(groups: tuple[Sequence[str] | None, ...], name: str, kind: str, tags: list[str]) -> bool:
    names, kinds, wanted_tags = groups
    return name in (names or ()) or kind in (kinds or ()) or any(tag in (wanted_tags or ()) for tag in tags)


async def stream_events(
    runnable: Any, input: Any, config: RunnableConfig | None, version: str, chosen: Filter, kwargs: dict[str, Any]
) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of one streamed call; closing early cancels the call and waits for its end.

    Raises: NotImplementedError for a version other than v2; what the call raises, after its error event.
    """
    if version != "v2":
        raise NotImplementedError(f"only version 'v2' of the events is offered, got {version!r}")
    import asyncio

    loop = asyncio.get_running_loop()
    events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def send(event: dict[str, Any]) -> None:
        if asyncio._get_running_loop() is loop:
            events.put_nowait(event)
        else:
            loop.call_soon_threadsafe(events.put_nowait, event)

    handler = EventHandler(send, chosen.wants)
    full = merge_configs(inherit(config), cast("RunnableConfig", {"callbacks": [handler]}))

    async def consume() -> None:
        try:
            async with closing(runnable.astream(input, full, **kwargs)) as chunks:
                async for _ in chunks:
                    pass
        finally:
            loop.call_soon(events.put_nowait, None)

    work = asyncio.ensure_future(consume())
    try:
        while (event := await events.get()) is not None:
            yield event
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
