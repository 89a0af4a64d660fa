"""The mark of handlers that want tokens: a model that can stream does so while one of them listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["_StreamingCallbackHandler"]

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from uuid import UUID


class _StreamingCallbackHandler:
    """Mix-in for handlers: `invoke` of models streams, and streamed runs hand their chunks through the handler."""

    _taps_streams = True

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return the stream of a run, seen by the handler as it passes."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        """Return the stream of a run, seen by the handler as it passes."""
        return output
