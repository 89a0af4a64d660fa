"""The doors to the openai and anthropic SDKs, which share a generator: raw bytes in and out, retries off.

`client.post(path, cast_to=Response)` is both SDKs' documented way to an HTTP response that they have not parsed; what
comes back is decoded once, by us.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import msgspec

from clew.errors import ModelAuthenticationError
from clew.providers import _clients
from clew.providers._base import AsyncEvents, Events, WireChatModel
from clew.providers._json import is_object
from clew.providers._sse import aevents, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import ModuleType

    from clew.providers._blocks import JSON

DONE: JSON = {}
"""Stands for the closing `data: [DONE]`."""


class StainlessChatModel(WireChatModel):
    """A WireChatModel whose SDK is openai's or anthropic's."""

    # -- what a provider gives

    def _sdk(self) -> ModuleType:
        raise NotImplementedError

    def _client_arguments(self) -> tuple[str, JSON]:
        """Return (stem of the SDK's client classes, their arguments), all hashable but headers."""
        raise NotImplementedError

    def _path(self, body: JSON) -> str:
        raise NotImplementedError

    def _request_options(self, body: JSON) -> JSON:
        """Return per-request options (headers, query), taking what is none of the body out of it."""
        return {}

    # -- clients

    def _client(self) -> Any:
        return blocking_client(self._sdk(), self.provider, *self._client_arguments())

    async def _aclient(self) -> Any:
        return await async_client(self._sdk(), self.provider, *self._client_arguments())

    # -- doors

    def _post(self, body: JSON) -> JSON:
        client = self._client()
        options = self._request_options(body)
        reply = client.post(self._path(body), cast_to=response_type(self._sdk()), body=body, options=options)
        return decoded(reply.content)

    async def _apost(self, body: JSON) -> JSON:
        client = await self._aclient()
        options = self._request_options(body)
        reply = await client.post(self._path(body), cast_to=response_type(self._sdk()), body=body, options=options)
        return decoded(reply.content)

    def _open(self, body: JSON) -> Events:
        sdk, client, options = self._sdk(), self._client(), self._request_options(body)
        reply = client.post(
            self._path(body), cast_to=response_type(sdk), body=body, options=options, stream=True, stream_cls=sdk.Stream
        )
        return Events(_stream(reply), reply.close, client)

    async def _aopen(self, body: JSON) -> AsyncEvents:
        sdk, client, options = self._sdk(), await self._aclient(), self._request_options(body)
        reply = await client.post(
            self._path(body),
            cast_to=response_type(sdk),
            body=body,
            options=options,
            stream=True,
            stream_cls=sdk.AsyncStream,
        )
        return AsyncEvents(_astream(reply), reply.aclose)


def decoded(content: bytes) -> JSON:
    """Return the JSON of a body. Some gateways put blank lines before it to keep the connection open."""
    return msgspec.json.decode(content.strip())


def _stream(reply: Any) -> Iterator[JSON]:
    decode = msgspec.json.decode
    for _, data in events(reply.iter_bytes()):
        yield DONE if data == b"[DONE]" else decode(data)


async def _astream(reply: Any) -> AsyncIterator[JSON]:
    decode = msgspec.json.decode
    async for _, data in aevents(reply.aiter_bytes()):
        yield DONE if data == b"[DONE]" else decode(data)


def blocking_client(sdk: ModuleType, provider: str, stem: str, arguments: JSON) -> Any:
    """Return the SDK's blocking client. Raises: ModelAuthenticationError when it finds no key."""
    cls = getattr(sdk, stem)
    return _clients.blocking(
        _key(sdk, stem, arguments),
        lambda: _make(cls, provider, arguments, sdk.DefaultHttpxClient),
        lambda client: client._client,
    )


async def async_client(sdk: ModuleType, provider: str, stem: str, arguments: JSON) -> Any:
    """Return the SDK's client for the running loop. Raises: ModelAuthenticationError when it finds no key."""
    cls = getattr(sdk, f"Async{stem}")
    key = _key(sdk, stem, arguments)
    return await _clients.for_this_loop(
        key, lambda: _make(cls, provider, arguments, sdk.DefaultAsyncHttpxClient), lambda client: client.close()
    )


def _key(sdk: ModuleType, stem: str, arguments: JSON) -> tuple[Any, ...]:
    values = ((k, tuple(v.items()) if is_object(v) else v) for k, v in arguments.items())
    return (sdk.__name__, stem, *values)


def _make(cls: Callable[..., Any], provider: str, arguments: JSON, http: Any) -> Any:
    given = {k: v for k, v in arguments.items() if v is not None}
    try:
        return cls(max_retries=0, http_client=http(verify=_clients.ssl_context(_http_package(http))), **given)
    except Exception as error:
        if "api_key" in str(error) or "auth" in str(error).lower():
            raise ModelAuthenticationError(f"{provider}: {error}", provider=provider) from error
        raise


def response_type(sdk: ModuleType) -> Any:
    """Return the Response class of the HTTP library that this SDK is built on (httpx, or httpx2 in newer ones)."""
    found = _response_types.get(sdk.__name__)
    if found is None:
        package = importlib.import_module(_http_package(sdk.DefaultHttpxClient))
        found = _response_types[sdk.__name__] = package.Response
    return found


_response_types: dict[str, Any] = {}


def _http_package(client: Any) -> str:
    """Return "httpx" or "httpx2": the package that the SDK's client class derives from."""
    packages = [cls.__module__.split(".")[0] for cls in client.__mro__]
    return next(name for name in packages if name.startswith("httpx"))
