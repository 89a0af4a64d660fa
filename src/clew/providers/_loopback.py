"""A small HTTP/1.1 client for the model server that we run ourselves on 127.0.0.1: standard library only.

One connection per request, JSON in, JSON or server-sent events out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from clew.providers._errors import from_reply

if TYPE_CHECKING:
    import asyncio
    import http.client
    from collections.abc import AsyncIterator, Iterator


class Request:
    """What to send. url: "http://host:port/path". timeout: seconds for each read, or None."""

    def __init__(self, url: str, key: str, body: Any, timeout: float | None) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.path = parts.hostname or "127.0.0.1", parts.port or 80, parts.path
        self.data = msgspec.json.encode(body)
        self.timeout = timeout
        self.headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "Connection": "close"}


def post(request: Request) -> http.client.HTTPResponse:
    """Send and return the open response. Raises: ModelError for a status of 400 and above, OSError."""
    import http.client  # here, since it brings ssl along

    connection = http.client.HTTPConnection(request.host, request.port, timeout=request.timeout)
    try:
        connection.request("POST", request.path, request.data, request.headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise from_reply("local", response.status, response.read(), dict(response.getheaders()))
    except http.client.HTTPException as error:
        connection.close()
        raise ConnectionResetError(f"{type(error).__name__}: {error}") from error
    except BaseException:
        connection.close()
        raise
    return response


def chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it comes. Raises: OSError when it is cut."""
    import http.client

    try:
        while data := response.read1(65536):
            yield data
    except http.client.HTTPException as error:
        raise ConnectionResetError(f"{type(error).__name__}: {error}") from error


class AsyncResponse:
    """An open response in an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout: float | None) -> None:
        self._reader, self._writer, self._timeout = reader, writer, timeout
        self.status = 0
        self.headers: dict[str, str] = {}

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([data async for data in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises: OSError when it is cut."""
        import asyncio

        reader = self._reader
        try:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                while size := int((await self._in_time(reader.readline())).split(b";")[0] or b"x", 16):
                    yield (await self._in_time(reader.readexactly(size + 2)))[:-2]
            elif length := self.headers.get("content-length"):
                yield await self._in_time(reader.readexactly(int(length)))
            else:
                while data := await self._in_time(reader.read(65536)):
                    yield data
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise ConnectionResetError("the answer was cut") from error

    async def head(self) -> None:
        """Read the status line and headers."""
        first = await self._in_time(self._reader.readline())
        if not first:
            raise ConnectionResetError("no answer")
        self.status = int(first.split()[1])
        while line := (await self._in_time(self._reader.readline())).strip():
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.lower()] = value.strip()

    async def _in_time(self, read: Any) -> bytes:
        import asyncio

        return await (asyncio.wait_for(read, self._timeout) if self._timeout else read)

    async def aclose(self) -> None:
        """Close the connection."""
        import contextlib

        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def apost(request: Request) -> AsyncResponse:
    """Send and return the open response. Raises: ModelError for a status of 400 and above, OSError."""
    import asyncio

    reader, writer = await asyncio.open_connection(request.host, request.port)
    response = AsyncResponse(reader, writer, request.timeout)
    try:
        head = {**request.headers, "Host": f"{request.host}:{request.port}", "Content-Length": str(len(request.data))}
        lines = [f"POST {request.path} HTTP/1.1", *(f"{k}: {v}" for k, v in head.items()), "", ""]
        writer.write("\r\n".join(lines).encode("latin-1") + request.data)
        await writer.drain()
        await response.head()
        if response.status >= 400:
            raise from_reply("local", response.status, await response.read(), response.headers)
    except BaseException:
        await response.aclose()
        raise
    return response
