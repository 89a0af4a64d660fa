"""An Azure Cosmos DB container for all sessions, an item per write.

An item's id is its session and its number, so the service refuses a number that another writer took, and the next one
is tried: that is the order. A write that is bigger than an item may be puts its text into further items first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clew._ids import new_id
from clew._lazy import need
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._rows import RowHistory
from clew.chat_message_histories._shared import shared
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CosmosDBChatMessageHistory"]

_WHAT = "CosmosDBChatMessageHistory"
_ROOM = 700_000  # bytes of text in one item, which doubles at worst when it is escaped; the service takes 2 MB
_TRIES = 200  # numbers tried by one write before it gives up
_WHERE = "WHERE c.user_id = @user AND c.session_id = @session AND c.kind = @kind"
_WRITES = f"SELECT * FROM c {_WHERE} ORDER BY c.seq"
_NEWEST = f"SELECT TOP @n * FROM c {_WHERE} ORDER BY c.seq DESC"
_ALL = "SELECT c.id FROM c WHERE c.user_id = @user AND c.session_id = @session"


def _arguments(endpoint: str, credential: Any, connection_string: str | None, more: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a client; an emulator on this machine has no certificate to check."""
    if connection_string is not None:
        parts = dict(part.split("=", 1) for part in connection_string.rstrip(";").split(";"))
        endpoint, credential = parts["AccountEndpoint"], parts["AccountKey"]
    if urlsplit(endpoint).hostname in ("127.0.0.1", "localhost", "::1"):
        more = {"connection_verify": False, **more}
    return {"url": endpoint, "credential": credential, **more}


def _client(key: tuple[Any, ...]) -> Any:
    endpoint, credential, connection_string, more = key
    make = need("azure.cosmos", "cosmos", _WHAT).CosmosClient
    arguments = _arguments(endpoint, credential, connection_string, dict(more))
    return shared(("cosmos", *key), lambda: make(**arguments), lambda client: client.__exit__(None, None, None))


async def _aclient(key: tuple[Any, ...]) -> Any:
    endpoint, credential, connection_string, more = key
    module = need("azure.cosmos.aio", "cosmos", _WHAT)
    return await module.CosmosClient(**_arguments(endpoint, credential, connection_string, dict(more))).__aenter__()


_prepared: set[tuple[Any, ...]] = set()


class CosmosDBChatMessageHistory(RowHistory):
    """The messages of one session of one user in a Cosmos DB container, which is made when it is missing.

    cosmos_endpoint, cosmos_database, cosmos_container: where; the container's partition key is /user_id. session_id,
    user_id: any text. credential: a key or a token credential; or connection_string. ttl: seconds that each write
    lives, where the container has TTL on. cosmos_client_kwargs: keywords for the client.
    Raises: ValueError without a way to sign in, StorageError when the service can't do its work.
    """

    def __init__(
        self,
        cosmos_endpoint: str,
        cosmos_database: str,
        cosmos_container: str,
        session_id: str,
        user_id: str,
        credential: Any = None,
        connection_string: str | None = None,
        ttl: int | None = None,
        cosmos_client_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if credential is None and connection_string is None:
            raise ValueError("CosmosDBChatMessageHistory needs a credential or a connection_string to sign in")
        self.cosmos_database = cosmos_database
        self.cosmos_container = cosmos_container
        self.session_id = session_id
        self.user_id = user_id
        self.ttl = ttl
        more = tuple(sorted((cosmos_client_kwargs or {}).items()))
        self._client_key = (cosmos_endpoint, credential, connection_string, more)
        self._errors = need("azure.core.exceptions", "cosmos", _WHAT)
        self._module = need("azure.cosmos", "cosmos", _WHAT)
        self._user = bound_text(user_id)
        self._session = bound_text(session_id)
        self._id = hashlib.sha256(self._session.encode()).hexdigest()[:32]
        self._next: int | None = None

    def prepare_cosmos(self) -> None:
        """Make the database and the container if they are missing; the first use does it otherwise."""
        self._run("preparing its container", self._container)

    # -- blocking -------------------------------------------------------------------------------------

    def _container(self) -> Any:
        client = _client(self._client_key)
        key = (*self._client_key[:3], self.cosmos_database, self.cosmos_container)
        if key not in _prepared:
            with contextlib.suppress(self._errors.ResourceExistsError):  # another process was faster
                client.create_database_if_not_exists(self.cosmos_database)
            database = client.get_database_client(self.cosmos_database)
            with contextlib.suppress(self._errors.ResourceExistsError):
                database.create_container_if_not_exists(**self._container_options())
            _prepared.add(key)
        return client.get_database_client(self.cosmos_database).get_container_client(self.cosmos_container)

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        def work() -> list[str]:
            container = self._container()
            writes = list(container.query_items(**self._query(last)))
            writes = writes if last is None else writes[::-1]
            return [row for write in writes for row in _rows(write, self._parts(container, write))]

        rows = self._run("reading a history", work)
        return rows[-last:] if last is not None else rows[after:]

    def _parts(self, container: Any, write: dict[str, Any]) -> list[str]:
        return [container.read_item(name, self._user)["text"] for name in self._part_ids(write)]

    def _append(self, rows: list[str]) -> None:
        def work() -> None:
            container = self._container()
            write, parts = self._write(rows)
            for part in parts:
                container.create_item(part)
            for _ in range(_TRIES):
                number = self._next
                if number is None:
                    newest = list(container.query_items(**self._query(1)))
                    number = newest[0]["seq"] + 1 if newest else 1
                try:
                    container.create_item(self._numbered(write, number))
                except self._errors.ResourceExistsError:
                    self._next = None
                else:
                    self._next = number + 1
                    return
            raise StorageError(f"Cosmos DB: {_TRIES} other writers were faster; nothing was written", backend="cosmos")

        self._run("appending to a history", work)

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        def work() -> bool:
            container = self._container()
            covered: list[dict[str, Any]] = []
            seen: list[str] = []
            for write in container.query_items(**self._query(None)):
                if len(seen) >= count:
                    break
                covered.append(write)
                seen += _rows(write, self._parts(container, write))
            if len(seen) < count or not covered or not same(seen[:count]):
                return False
            fresh, parts = self._write([*rows, *seen[count:]])
            for part in parts:
                container.create_item(part)
            kept = covered.pop()
            try:  # first the new beginning, then the old ones go: a crash between the two loses nothing
                container.replace_item(
                    kept["id"], self._numbered(fresh, kept["seq"]), etag=kept["_etag"],
                    match_condition=need("azure.core", "cosmos", _WHAT).MatchConditions.IfNotModified,
                )  # fmt: skip
            except self._errors.ResourceModifiedError:
                return False
            for write in covered:
                container.delete_item(write["id"], self._user)
            for write in (*covered, kept):
                for name in self._part_ids(write):
                    container.delete_item(name, self._user)
            return True

        return self._run("compacting a history", work)

    def _clear(self) -> None:
        def work() -> None:
            container = self._container()
            for item in list(container.query_items(query=_ALL, **self._of_session())):
                try:
                    container.delete_item(item["id"], self._user)
                except self._errors.ResourceNotFoundError:
                    continue
            self._next = None

        self._run("clearing a history", work)

    def _run(self, doing: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._errors.AzureError as error:
            raise StorageError(f"Cosmos DB failed while {doing}: {error}", backend="cosmos") from error

    # -- awaited --------------------------------------------------------------------------------------

    async def _acontainer(self) -> Any:
        client = await loop_client(
            ("cosmos", *self._client_key), lambda: _aclient(self._client_key), lambda client: client.close()
        )
        key = (*self._client_key[:3], self.cosmos_database, self.cosmos_container)
        if key not in _prepared:
            with contextlib.suppress(self._errors.ResourceExistsError):
                await client.create_database_if_not_exists(self.cosmos_database)
            database = client.get_database_client(self.cosmos_database)
            with contextlib.suppress(self._errors.ResourceExistsError):
                await database.create_container_if_not_exists(**self._container_options())
            _prepared.add(key)
        return client.get_database_client(self.cosmos_database).get_container_client(self.cosmos_container)

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        try:
            container = await self._acontainer()
            writes = [item async for item in container.query_items(**self._query(last))]
            rows: list[str] = []
            for write in writes if last is None else writes[::-1]:
                parts = [(await container.read_item(name, self._user))["text"] for name in self._part_ids(write)]
                rows += _rows(write, parts)
        except self._errors.AzureError as error:
            raise StorageError(f"Cosmos DB failed while reading a history: {error}", backend="cosmos") from error
        return rows[-last:] if last is not None else rows[after:]

    async def _aappend(self, rows: list[str]) -> None:
        try:
            container = await self._acontainer()
            write, parts = self._write(rows)
            for part in parts:
                await container.create_item(part)
            for _ in range(_TRIES):
                number = self._next
                if number is None:
                    newest = [item async for item in container.query_items(**self._query(1))]
                    number = newest[0]["seq"] + 1 if newest else 1
                try:
                    await container.create_item(self._numbered(write, number))
                except self._errors.ResourceExistsError:
                    self._next = None
                else:
                    self._next = number + 1
                    return
        except self._errors.AzureError as error:
            raise StorageError(f"Cosmos DB failed while appending to a history: {error}", backend="cosmos") from error
        raise StorageError(f"Cosmos DB: {_TRIES} other writers were faster; nothing was written", backend="cosmos")

    # -- items ----------------------------------------------------------------------------------------

    def _container_options(self) -> dict[str, Any]:
        return {
            "id": self.cosmos_container,
            "partition_key": self._module.PartitionKey("/user_id"),
            "default_ttl": self.ttl if self.ttl is not None else -1,
        }

    def _of_session(self, kind: str | None = None) -> dict[str, Any]:
        values = {"@user": self._user, "@session": self._session, **({"@kind": kind} if kind else {})}
        return {
            "parameters": [{"name": name, "value": value} for name, value in values.items()],
            "partition_key": self._user,
        }

    def _query(self, last: int | None) -> dict[str, Any]:
        found = self._of_session("write")
        if last is None:
            return {"query": _WRITES, **found}
        # every write holds at least one message
        return {"query": _NEWEST.replace("@n", str(int(last))), **found}

    def _write(self, rows: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the item of a write, without its number, and those of its further parts."""
        own: dict[str, Any] = {"user_id": self._user, "session_id": self._session}
        if self.ttl is not None:
            own["ttl"] = self.ttl
        name, texts = new_id(), list[str]()
        if sum(len(row.encode()) for row in rows) > _ROOM:
            text = json.dumps(rows)  # ASCII: one byte a character, so it may be cut anywhere
            texts = [text[start : start + _ROOM] for start in range(0, len(text), _ROOM)]
        write = {**own, "kind": "write", "name": name, "parts": len(texts), "rows": [] if texts else rows}
        parts = [
            {**own, "kind": "part", "id": part_id, "text": text}
            for part_id, text in zip(self._part_ids(write), texts, strict=True)
        ]
        return write, parts

    def _numbered(self, write: dict[str, Any], number: int) -> dict[str, Any]:
        return {**write, "seq": number, "id": f"{self._id}-{number:012d}"}

    def _part_ids(self, write: dict[str, Any]) -> list[str]:
        return [f"{self._id}-{write['name']}-{place}" for place in range(write["parts"])]


def _rows(write: dict[str, Any], parts: Sequence[str]) -> list[str]:
    return json.loads("".join(parts)) if write["parts"] else write["rows"]
