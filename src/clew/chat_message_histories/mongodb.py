"""One MongoDB collection for all sessions, a document per message.

The documents of one write carry its number and how many there are. Numbers are taken by trying: a unique index on
session, number and place refuses a number that another writer took, and the next one is tried, so order is the
server's. A write that a crash cut in the middle is incomplete, and reading passes over it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from clew._lazy import need
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._rows import RowHistory
from clew.chat_message_histories._shared import shared
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MongoDBChatMessageHistory"]

_WHAT = "MongoDBChatMessageHistory"
_NUMBER, _PLACE, _SIZE = "WriteNumber", "WritePlace", "WriteSize"
_UP = [(_NUMBER, 1), (_PLACE, 1), ("_id", 1)]
_DOWN = [(_NUMBER, -1), (_PLACE, -1), ("_id", -1)]
_TRIES = 200  # numbers tried by one write before it gives up
_TAKEN = 11000  # the server's code of a duplicate key
_INDEX: dict[str, Any] = {"unique": True, "partialFilterExpression": {_NUMBER: {"$exists": True}}}
_indexed: WeakKeyDictionary[Any, set[tuple[str, ...]]] = WeakKeyDictionary()  # which collections have it, by client
_indexing = threading.Lock()


def _client(url: str) -> Any:
    """Return the one client of a URL: it holds the pool of connections."""
    make = need("pymongo", "mongodb", _WHAT).MongoClient
    return shared(("mongodb", url), lambda: make(url), lambda client: client.close())


class MongoDBChatMessageHistory(RowHistory):
    """The messages of one session in a MongoDB collection.

    connection_string: of the server. session_id: any text. database_name, collection_name: where. session_id_key,
    history_key: names of the fields. create_index: make the indexes at the first use. client: a MongoClient of yours
    instead of the URL.
    Documents that others made with these two fields are read, before all of ours.
    Raises: StorageError when the server can't do its work.
    """

    def __init__(
        self,
        connection_string: str | None,
        session_id: str,
        database_name: str = "chat_history",
        collection_name: str = "message_store",
        *,
        session_id_key: str = "SessionId",
        history_key: str = "History",
        create_index: bool = True,
        client: Any = None,
    ) -> None:
        if client is None and connection_string is None:
            raise ValueError("MongoDBChatMessageHistory needs connection_string or client")
        self.connection_string = connection_string
        self.session_id = session_id
        self.database_name = database_name
        self.collection_name = collection_name
        self.session_id_key = session_id_key
        self.history_key = history_key
        self._errors: type[Exception] = need("pymongo.errors", "mongodb", _WHAT).PyMongoError
        self._client = client
        self._makes_index = create_index
        self._next: int | None = None

    # -- blocking -------------------------------------------------------------------------------------

    def _collection(self) -> Any:
        client = self._client if self._client is not None else _client(str(self.connection_string))
        collection = client[self.database_name][self.collection_name]
        if not self._is_indexed(client):
            with _indexing:
                if not self._is_indexed(client):
                    collection.create_index(self._index_keys(), **_INDEX)
                    self._set_indexed(client)
        return collection

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        def work() -> Sequence[str]:
            collection = self._collection()
            if last is None:
                return self._whole(list(collection.find(self._mine()).sort(_UP)))[after:]
            found = list(collection.find(self._mine()).sort(_DOWN).limit(last + _beyond(last)))
            return self._whole(found[::-1], cut=len(found) > last)[-last:]

        return self._run("reading a history", work)

    def _append(self, rows: list[str]) -> None:
        def work() -> None:
            collection = self._collection()
            for _ in range(_TRIES):
                number = self._next
                if number is None:
                    newest = list(collection.find(self._mine()).sort(_DOWN).limit(1))
                    number = (newest[0].get(_NUMBER) or 0) + 1 if newest else 1
                try:
                    collection.insert_many(self._documents(rows, number), ordered=True)
                except self._errors as error:
                    if not _is_taken(error):
                        raise
                    self._next = None
                else:
                    self._next = number + 1
                    return
            raise StorageError(f"MongoDB: {_TRIES} other writers were faster; nothing was written", backend="mongodb")

        self._run("appending to a history", work)

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        def work() -> bool:
            collection = self._collection()
            found = list(collection.find(self._mine()).sort(_UP).limit(count))
            if len(found) < count or len(rows) > count or not same(self._texts(found)):
                return False
            # the last old documents take the new rows, one by one; only then do the others go
            kept = found[count - len(rows) :]
            for document, row in zip(kept, rows, strict=True):
                collection.update_one({"_id": document["_id"]}, {"$set": {self.history_key: row, _SIZE: 0}})
            gone = [document["_id"] for document in found[: count - len(rows)]]
            collection.update_many(self._of_writes(found), {"$set": {_SIZE: 0}})
            collection.delete_many({"_id": {"$in": gone}})
            return True

        return self._run("compacting a history", work)

    def _clear(self) -> None:
        def work() -> None:
            self._collection().delete_many(self._mine())
            self._next = None

        self._run("clearing a history", work)

    def _run(self, doing: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._errors as error:
            raise StorageError(f"MongoDB failed while {doing}: {error}", backend="mongodb") from error

    # -- awaited --------------------------------------------------------------------------------------

    async def _acollection(self) -> Any:
        url = str(self.connection_string)
        make = need("pymongo", "mongodb", _WHAT).AsyncMongoClient
        client = await loop_client(("mongodb", url), lambda: make(url), lambda client: client.close())
        collection = client[self.database_name][self.collection_name]
        if not self._is_indexed(client):
            await collection.create_index(self._index_keys(), **_INDEX)
            self._set_indexed(client)
        return collection

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if self._client is not None:
            return await super()._aread(last=last, after=after)
        try:
            collection = await self._acollection()
            if last is None:
                return self._whole(await collection.find(self._mine()).sort(_UP).to_list())[after:]
            found = await collection.find(self._mine()).sort(_DOWN).limit(last + _beyond(last)).to_list()
            return self._whole(found[::-1], cut=len(found) > last)[-last:]
        except self._errors as error:
            raise StorageError(f"MongoDB failed while reading a history: {error}", backend="mongodb") from error

    async def _aappend(self, rows: list[str]) -> None:
        if self._client is not None:
            await super()._aappend(rows)
            return
        try:
            collection = await self._acollection()
            for _ in range(_TRIES):
                number = self._next
                if number is None:
                    newest = await collection.find(self._mine()).sort(_DOWN).limit(1).to_list()
                    number = (newest[0].get(_NUMBER) or 0) + 1 if newest else 1
                try:
                    await collection.insert_many(self._documents(rows, number), ordered=True)
                except self._errors as error:
                    if not _is_taken(error):
                        raise
                    self._next = None
                else:
                    self._next = number + 1
                    return
        except self._errors as error:
            raise StorageError(f"MongoDB failed while appending to a history: {error}", backend="mongodb") from error
        raise StorageError(f"MongoDB: {_TRIES} other writers were faster; nothing was written", backend="mongodb")

    # -- documents ------------------------------------------------------------------------------------

    def _index_keys(self) -> list[tuple[str, int]]:
        return [(self.session_id_key, 1), (_NUMBER, 1), (_PLACE, 1)]

    def _is_indexed(self, client: Any) -> bool:
        return not self._makes_index or self._index_place() in _indexed.setdefault(client, set())

    def _set_indexed(self, client: Any) -> None:
        _indexed.setdefault(client, set()).add(self._index_place())

    def _index_place(self) -> tuple[str, ...]:
        return (self.database_name, self.collection_name, self.session_id_key)

    def _mine(self) -> dict[str, Any]:
        return {self.session_id_key: bound_text(self.session_id)}

    def _of_writes(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self._mine(), _NUMBER: {"$in": sorted({d[_NUMBER] for d in found if _NUMBER in d})}}

    def _documents(self, rows: list[str], number: int) -> list[dict[str, Any]]:
        return [
            {**self._mine(), self.history_key: row, _NUMBER: number, _PLACE: place, _SIZE: len(rows)}
            for place, row in enumerate(rows)
        ]

    def _texts(self, documents: list[dict[str, Any]]) -> list[str]:
        return [document[self.history_key] for document in documents]

    def _whole(self, documents: list[dict[str, Any]], *, cut: bool = False) -> list[str]:
        """Return the texts of whole writes. cut: the first write may have begun before what was read."""
        found: dict[Any, int] = {}
        for document in documents:
            found[document.get(_NUMBER)] = found.get(document.get(_NUMBER), 0) + 1
        first = documents[0].get(_NUMBER) if documents and cut else None
        return [
            document[self.history_key]
            for document in documents
            if document.get(_SIZE, 0) <= found[document.get(_NUMBER)] or (cut and document.get(_NUMBER) == first)
        ]


def _beyond(last: int) -> int:
    """Read one more than asked for, to see whether the first write was cut."""
    return 1 if last else 0


def _is_taken(error: Exception) -> bool:
    """Whether the first document was refused because its number is another writer's."""
    if getattr(error, "code", None) == _TAKEN:
        return True
    details: Any = getattr(error, "details", None) or {}
    failed = details.get("writeErrors", [])
    return bool(failed) and failed[0].get("code") == _TAKEN and failed[0].get("index") == 0
