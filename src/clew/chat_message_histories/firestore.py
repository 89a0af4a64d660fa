"""One Firestore document per session, and below it one document per write.

A write is one `create`, in no transaction: nobody waits for anybody. The order is the server's: its commit time, then
an id that grows with time. A write that is bigger than a document puts its text into further documents first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clew._ids import sortable_id
from clew._lazy import need
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._firestore_docs import PARTS, WRITES, document_id, documents, part_id, rows_of
from clew.chat_message_histories._loops import loop_client
from clew.chat_message_histories._rows import RowHistory
from clew.chat_message_histories._shared import shared
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FirestoreChatMessageHistory"]

_WHAT = "FirestoreChatMessageHistory"
_BATCH = 400  # writes of one commit; the service takes 500


def _module() -> Any:
    return need("google.cloud.firestore", "firestore", _WHAT)


def _place() -> tuple[str | None, str | None]:
    """Return where the client's own settings lead: the emulator of a test, or the project."""
    return os.environ.get("FIRESTORE_EMULATOR_HOST"), os.environ.get("GOOGLE_CLOUD_PROJECT")


def _client() -> Any:
    return shared(("firestore", *_place()), lambda: _module().Client(), lambda client: client.close())


class FirestoreChatMessageHistory(RowHistory):
    """The messages of one session in Firestore.

    collection_name: of the sessions' documents. session_id: any text. user_id: kept with every write.
    firestore_client: a client of yours; else one that reads its settings from the environment.
    Raises: StorageError when the service can't do its work.
    """

    def __init__(
        self, collection_name: str, session_id: str, user_id: str, firestore_client: Any = None
    ) -> None:
        self.collection_name = collection_name
        self.session_id = session_id
        self.user_id = user_id
        self._errors: type[Exception] = need("google.api_core.exceptions", "firestore", _WHAT).GoogleAPIError
        self._given = firestore_client

    # -- blocking -------------------------------------------------------------------------------------

    def _session(self, client: Any) -> Any:
        return client.collection(self.collection_name).document(document_id(self.session_id))

    def _own(self) -> Any:
        return self._given if self._given is not None else _client()

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        def work() -> list[str]:
            session = self._session(self._own())
            writes = _ordered(list(_query(session, last).stream()))
            parts = {write.id: self._parts(session, write) for write in writes if write.get("parts")}
            return _rows(writes, parts)

        rows = self._run("reading a history", work)
        return rows[-last:] if last is not None else rows[after:]

    def _parts(self, session: Any, write: Any) -> list[str]:
        names = [part_id(write.get("name"), place) for place in range(write.get("parts"))]
        return [session.collection(PARTS).document(name).get().get("text") for name in names]

    def _append(self, rows: list[str]) -> None:
        def work() -> None:
            session = self._session(self._own())
            name, (head, parts) = sortable_id(), documents(rows)
            for place, text in enumerate(parts):
                session.collection(PARTS).document(part_id(name, place)).create({"text": text})
            session.collection(WRITES).document(name).create(self._head(head, name))

        self._run("appending to a history", work)

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        def work() -> bool:
            client = self._own()
            session = self._session(client)
            writes = _ordered(list(_query(session, None).stream()))
            parts = {write.id: self._parts(session, write) for write in writes if write.get("parts")}
            covered, seen = 0, list[str]()
            while len(seen) < count and covered < len(writes):
                seen += _rows(writes[covered : covered + 1], parts)
                covered += 1
            if len(seen) < count or covered == 0 or not same(seen[:count]):
                return False
            head, further = documents([*rows, *seen[count:]])
            kept, name = writes[covered - 1], sortable_id()
            for place, text in enumerate(further):  # under a new name: the old text is read until the commit
                session.collection(PARTS).document(part_id(name, place)).create({"text": text})
            batch = client.batch()
            batch.update(kept.reference, {**head, "name": name}, option=_as_read(client, kept))
            for write in writes[: covered - 1]:
                batch.delete(write.reference, option=_as_read(client, write))
            for write in writes[:covered]:
                for place in range(write.get("parts")):
                    batch.delete(session.collection(PARTS).document(part_id(write.get("name"), place)))
            batch.commit()
            return True

        return self._run("compacting a history", work)

    def _clear(self) -> None:
        def work() -> None:
            client = self._own()
            session = self._session(client)
            for name in (WRITES, PARTS):
                found = [document.reference for document in session.collection(name).stream()]
                for start in range(0, len(found), _BATCH):
                    batch = client.batch()
                    for reference in found[start : start + _BATCH]:
                        batch.delete(reference)
                    batch.commit()

        self._run("clearing a history", work)

    def _run(self, doing: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except self._errors as error:
            raise StorageError(f"Firestore failed while {doing}: {error}", backend="firestore") from error

    # -- awaited --------------------------------------------------------------------------------------

    async def _asession(self) -> Any:
        client = await loop_client(
            ("firestore", _place()), lambda: _module().AsyncClient(), lambda client: client.close()
        )
        return self._session(client)

    async def _aread(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if self._given is not None:
            return await super()._aread(last=last, after=after)
        try:
            session = await self._asession()
            writes = _ordered([write async for write in _query(session, last).stream()])
            parts: dict[str, list[str]] = {}
            for write in writes:
                if write.get("parts"):
                    names = [part_id(write.get("name"), place) for place in range(write.get("parts"))]
                    found = [await session.collection(PARTS).document(name).get() for name in names]
                    parts[write.id] = [part.get("text") for part in found]
        except self._errors as error:
            raise StorageError(f"Firestore failed while reading a history: {error}", backend="firestore") from error
        rows = _rows(writes, parts)
        return rows[-last:] if last is not None else rows[after:]

    async def _aappend(self, rows: list[str]) -> None:
        if self._given is not None:
            await super()._aappend(rows)
            return
        try:
            session = await self._asession()
            name, (head, parts) = sortable_id(), documents(rows)
            for place, text in enumerate(parts):
                await session.collection(PARTS).document(part_id(name, place)).create({"text": text})
            await session.collection(WRITES).document(name).create(self._head(head, name))
        except self._errors as error:
            raise StorageError(f"Firestore failed while appending a turn: {error}", backend="firestore") from error

    # -- documents ------------------------------------------------------------------------------------

    def _head(self, head: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the document that makes a write count. name: what its parts' ids begin with."""
        who = {"user_id": bound_text(self.user_id), "session_id": bound_text(self.session_id)[:500]}
        return {**head, **who, "name": name, "at": _module().SERVER_TIMESTAMP}


def _query(session: Any, last: int | None) -> Any:
    writes = session.collection(WRITES)
    if last is None:
        return writes.order_by("at")
    return writes.order_by("at", direction="DESCENDING").limit(last)  # every write holds at least one message


def _ordered(writes: list[Any]) -> list[Any]:
    return sorted(writes, key=lambda write: (write.get("at"), write.id))


def _rows(writes: list[Any], parts: dict[str, list[str]]) -> list[str]:
    return [row for write in writes for row in rows_of(write.to_dict(), parts.get(write.id, ()))]


def _as_read(client: Any, snapshot: Any) -> Any:
    return client.write_option(last_update_time=snapshot.update_time)
