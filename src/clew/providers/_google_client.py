"""The door to the google-genai SDK: its API client builds and sends requests, the bytes of the reply are ours.

The SDK's public methods parse each reply into its own classes and drop what they don't know, and don't close a stream
that is left early; its API client underneath does neither. It is not public: the versions that were tested are pinned
in the `google` extra.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, NamedTuple

from clew._lazy import need
from clew.errors import ModelAuthenticationError
from clew.providers import _clients


class GoogleClient(NamedTuple):
    """A configuration, and what can be done with it. timeout: seconds."""

    api_key: str | None
    base_url: str | None
    api_version: str | None
    timeout: float | None
    headers: tuple[tuple[str, str], ...]
    vertexai: bool = False
    project: str | None = None
    location: str | None = None
    credentials: Any = None

    def post(self, path: str, body: dict[str, Any]) -> str:
        """Return the body of the reply."""
        return self._api().request("post", path, body, None).body or ""

    async def apost(self, path: str, body: dict[str, Any]) -> str:
        """Return the body of the reply."""
        return (await (await self._aapi()).async_request("post", path, body, None)).body or ""

    def open(self, path: str, body: dict[str, Any]) -> Any:
        """Return the open HTTP response of a stream."""
        api = self._api()
        return api._request(api._build_request("post", path, body, None), None, stream=True).response_stream

    async def aopen(self, path: str, body: dict[str, Any]) -> Any:
        """Return the open HTTP response of a stream."""
        api = await self._aapi()
        request = api._build_request("post", path, body, None)
        return (await api._async_request(http_request=request, http_options=None, stream=True)).response_stream

    def _api(self) -> Any:
        return _clients.blocking(self, lambda: self._new(is_async=False), _http_of)._api_client

    async def _aapi(self) -> Any:
        client = await _clients.for_this_loop(self, lambda: self._new(is_async=True), _aclose)
        return client._api_client

    def _new(self, *, is_async: bool) -> Any:
        genai: Any = need("google.genai", "google", "Google's models")
        options: dict[str, Any] = {"api_version": self.api_version or ("v1" if self.vertexai else "v1beta")}
        if self.base_url:
            options["base_url"] = self.base_url
        if self.timeout is not None:
            options["timeout"] = max(1, int(self.timeout * 1000))
        if self.headers:
            options["headers"] = dict(self.headers)
        httpx = _httpx()
        settings: dict[str, Any] = {"timeout": self.timeout, "follow_redirects": True}
        settings["verify"] = _clients.ssl_context(httpx.__name__)
        if is_async:  # with a client given, the SDK leaves out aiohttp and the retry of its own that comes with it
            options["httpx_async_client"] = httpx.AsyncClient(**settings)
        if os.environ.get("GOOGLE_API_USE_CLIENT_CERTIFICATE", "").lower() != "true":
            options["httpx_client"] = httpx.Client(**settings)
        arguments: dict[str, Any] = {
            "vertexai": self.vertexai or None, "project": self.project, "location": self.location,
            "api_key": self._key(), "credentials": self.credentials, "http_options": options,
        }  # fmt: skip
        try:
            return genai.Client(**{k: v for k, v in arguments.items() if v is not None})
        except ValueError as error:
            raise ModelAuthenticationError(f"google: {error}", provider="google") from error

    def _key(self) -> str | None:
        if self.api_key or self.vertexai:
            return self.api_key
        return (
            os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY") or ("none" if self.base_url else None)
        )


def _http_of(client: Any) -> Any:
    return client._api_client._httpx_client


def _httpx() -> Any:
    try:
        return importlib.import_module("httpx")
    except ModuleNotFoundError:
        return importlib.import_module("httpx2")


async def _aclose(client: Any) -> None:
    api = client._api_client
    await api._async_httpx_client.aclose()
    api._httpx_client.close()
