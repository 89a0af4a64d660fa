"""Server-sent events out of bytes that are cut anywhere: no I/O, no copies of what is already read.

Source: the WHATWG specification of the event stream format (fields `event` and `data`; the others are not used).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator


class Decoder:
    """Collects bytes and gives the events that are complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Return (event name or "", data) of each event that this chunk completes."""
        if b"\r" in chunk or self._rest.endswith(b"\r"):
            return self._feed_carriage_returns(chunk)
        return self._lines(chunk)

    def _feed_carriage_returns(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Rewrite CRLF and CR as LF; a CR at the very end waits for what follows."""
        if self._rest.endswith(b"\r"):
            self._rest, chunk = self._rest[:-1], b"\r" + chunk
        wait = chunk.endswith(b"\r")
        body = chunk[:-1] if wait else chunk
        events = self._lines(body.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        if wait:
            self._rest += b"\r"
        return events

    def _lines(self, chunk: bytes) -> list[tuple[str, bytes]]:
        *lines, self._rest = (self._rest + chunk).split(b"\n") if self._rest else chunk.split(b"\n")
        events: list[tuple[str, bytes]] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if self._data:
                    events.append((self._event, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)))
                    self._data = []
                self._event = ""
            elif line.startswith(b"event:"):
                self._event = line[6:].strip().decode()
        return events

    def flush(self) -> list[tuple[str, bytes]]:
        """Return the last event when its closing blank line never came (some servers leave it out)."""
        return self.feed(b"\n\n") if self._rest or self._data else []


def events(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield (event, data) from byte chunks."""
    decoder = Decoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.flush()


async def aevents(chunks: AsyncIterable[bytes]) -> AsyncIterator[tuple[str, bytes]]:
    """Yield (event, data) from byte chunks."""
    decoder = Decoder()
    async for chunk in chunks:
        for event in decoder.feed(chunk):
            yield event
    for event in decoder.flush():
        yield event
