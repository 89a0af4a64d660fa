"""The door to the ollama SDK: its client knows the address and the headers, requests and replies are raw JSON.

The SDK's `chat` reads replies into its own classes and loses a reply's headers on errors (Retry-After among them), so
requests go straight over the HTTP client that it holds.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clew._lazy import need
from clew.providers import _clients
from clew.providers._errors import from_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator


class OllamaClient(NamedTuple):
    """A configuration, and what can be done with it. timeout: seconds."""

    base_url: str | None
    api_key: str | None
    timeout: float | None
    headers: tuple[tuple[str, str], ...]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply. Raises: ModelError for a status of 400 and above."""
        reply = self._http().post(path, content=msgspec.json.encode(body))
        if reply.status_code >= 400:
            raise from_reply("ollama", reply.status_code, reply.content, reply.headers)
        return msgspec.json.decode(reply.content)

    async def apost(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply. Raises: ModelError for a status of 400 and above."""
        reply = await (await self._ahttp()).post(path, content=msgspec.json.encode(body))
        if reply.status_code >= 400:
            raise from_reply("ollama", reply.status_code, reply.content, reply.headers)
        return msgspec.json.decode(reply.content)

    def open(self, path: str, body: dict[str, Any]) -> Any:
        """Return the open HTTP response of a stream. Raises: ModelError for a status of 400 and above."""
        http = self._http()
        reply = http.send(http.build_request("POST", path, content=msgspec.json.encode(body)), stream=True)
        if reply.status_code >= 400:
            raise from_reply("ollama", reply.status_code, reply.read(), reply.headers)
        return reply

    async def aopen(self, path: str, body: dict[str, Any]) -> Any:
        """Return the open HTTP response of a stream. Raises: ModelError for a status of 400 and above."""
        http = await self._ahttp()
        reply = await http.send(http.build_request("POST", path, content=msgspec.json.encode(body)), stream=True)
        if reply.status_code >= 400:
            raise from_reply("ollama", reply.status_code, await reply.aread(), reply.headers)
        return reply

    def _http(self) -> Any:
        return _clients.blocking(("ollama", self), lambda: self._new("Client"), lambda client: client._client)._client

    async def _ahttp(self) -> Any:
        client = await _clients.for_this_loop(
            ("ollama", self), lambda: self._new("AsyncClient"), lambda client: client._client.aclose()
        )
        return client._client

    def _new(self, name: str) -> Any:
        with warnings.catch_warnings():  # the package's own models warn when they are defined
            warnings.simplefilter("ignore")
            sdk: Any = need("ollama", "ollama", "Ollama's models")
        headers = dict(self.headers)
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        verify = _clients.ssl_context("httpx")
        return getattr(sdk, name)(host=self.base_url, headers=headers, timeout=self.timeout, verify=verify)


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of byte chunks that are cut anywhere."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


async def alines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of byte chunks that are cut anywhere."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if rest.strip():
        yield rest
