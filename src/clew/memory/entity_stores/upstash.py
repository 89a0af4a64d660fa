"""Notes in a serverless Redis, spoken to over HTTPS with nothing but the standard library.

One command is one POST of a JSON list, answered `{"result": …}`. Answers are asked for in base64, so any text comes
back as it was.
"""

from __future__ import annotations

import base64
import http.client
import json
import threading
import urllib.parse
from typing import Any, cast

from clew.errors import StorageError
from clew.memory.entity_stores._ttl import RECALL_TTL, TTL, pattern, session_prefix
from clew.memory.entity_stores.base import BaseEntityStore

__all__ = ["UpstashRedisEntityStore"]

_TIMEOUT = 30.0  # seconds
_PAGE = 500  # keys of one round trip


class UpstashRedisEntityStore(BaseEntityStore):
    """Notes of one session in Upstash Redis.

    session_id: any text. url, token: of the database's REST interface. key_prefix, ttl, recall_ttl: as in
    RedisEntityStore.
    Raises: StorageError when the service refuses or can't be reached.
    """

    def __init__(
        self,
        session_id: str = "default",
        url: str = "",
        token: str = "",
        key_prefix: str = "memory_store",
        ttl: int | None = TTL,
        recall_ttl: int | None = RECALL_TTL,
    ) -> None:
        target = urllib.parse.urlsplit(url)
        if target.scheme not in ("http", "https") or not target.netloc:
            raise ValueError(f"url must be the database's REST address, such as https://….upstash.io, and not {url!r}")
        if not token:
            raise ValueError("token must be the database's REST token")
        self.session_id = session_id
        self.key_prefix = key_prefix
        self.ttl = ttl
        self.recall_ttl = recall_ttl
        self._rest = _Rest(target, token)

    @property
    def full_key_prefix(self) -> str:
        """What the keys of this session begin with."""
        return session_prefix(self.key_prefix, _escaped(self.session_id))

    def get(self, key: str, default: str | None = None) -> str:  # never None: "" when nothing is known
        """Return the note about a thing, or the default."""
        place = self._place(key)
        command = ("GET", place) if self.recall_ttl is None else ("GETEX", place, "EX", self.recall_ttl)
        return _plain(self._rest.run(*command)) or default or ""

    def set(self, key: str, value: str | None) -> None:
        """Write the note about a thing; an empty one deletes it."""
        if not value:
            self.delete(key)
            return
        life = () if self.ttl is None else ("EX", self.ttl)
        self._rest.run("SET", self._place(key), _escaped(value), *life)

    def delete(self, key: str) -> None:
        """Delete the note about a thing; it need not be there."""
        self._rest.run("DEL", self._place(key))

    def exists(self, key: str) -> bool:
        """Tell whether there is a note about a thing."""
        return self._rest.run("EXISTS", self._place(key)) == 1

    def clear(self) -> None:
        """Delete all notes of this session."""
        cursor = "0"
        while True:
            cursor, keys = self._rest.run("SCAN", cursor, "MATCH", pattern(self.full_key_prefix), "COUNT", _PAGE)
            if keys:
                self._rest.run("DEL", *keys)
            if cursor == "0":
                return

    def _place(self, key: str) -> str:
        return f"{self.full_key_prefix}:{_escaped(key)}"


class _Rest:
    """One kept connection a thread; a connection that the service closed meanwhile is opened anew, once."""

    def __init__(self, target: urllib.parse.SplitResult, token: str) -> None:
        self._target = target
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Upstash-Encoding": "base64",
        }
        self._local = threading.local()

    def run(self, *command: Any) -> Any:
        body = json.dumps([str(word) for word in command]).encode()
        try:
            status, raw = self._post(body)
        except (OSError, http.client.HTTPException) as error:
            raise StorageError(f"Upstash could not be reached: {error!r}", backend="upstash") from error
        answer = self._read(status, raw)
        if status != 200 or "error" in answer:
            raise StorageError(f"Upstash refused {command[0]} ({status}): {answer.get('error')}", backend="upstash")
        return _decoded(answer["result"])

    def _post(self, body: bytes) -> tuple[int, bytes]:
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            try:
                return self._exchange(kept, body)
            except (OSError, http.client.HTTPException):
                kept.close()
        self._local.connection = fresh = self._connect()
        return self._exchange(fresh, body)

    def _connect(self) -> http.client.HTTPConnection:
        cls = http.client.HTTPSConnection if self._target.scheme == "https" else http.client.HTTPConnection
        return cls(self._target.netloc, timeout=_TIMEOUT)

    def _exchange(self, connection: http.client.HTTPConnection, body: bytes) -> tuple[int, bytes]:
        connection.request("POST", self._target.path or "/", body, self._headers)
        with connection.getresponse() as response:
            return response.status, response.read()

    def _read(self, status: int, raw: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(raw)
        except ValueError as error:
            raise StorageError(f"Upstash answered {status} with no JSON: {raw[:80]!r}", backend="upstash") from error
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {"error": repr(answer)}


def _decoded(value: Any) -> Any:
    """Return an answer with its base64 texts decoded; "OK" comes as it is."""
    if isinstance(value, list):
        return [_decoded(item) for item in cast("list[Any]", value)]
    if isinstance(value, str) and value != "OK":
        try:
            return base64.b64decode(value, validate=True).decode("utf-8", "surrogatepass")
        except ValueError:
            return value
    return value


def _escaped(text: str) -> str:
    """Return text that UTF-8 can carry: half a surrogate pair, and the mark itself, are written out."""
    if "\ue000" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return "\ue000" + json.dumps(text)


def _plain(text: str | None) -> str | None:
    return json.loads(text[1:]) if text and text.startswith("\ue000") else text
