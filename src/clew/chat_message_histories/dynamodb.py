"""A DynamoDB table for all sessions: lists of messages in items that never outgrow 400 kB.

The first item of a session has the session's id as its key, and the next ones that id with a number. A write is one
UpdateItem that appends to the newest item, on condition that it has room; when it has none, the item is sealed and the
next one begins, so nobody writes behind what comes after. Writes that are big in themselves (a message of a megabyte)
are put aside in items of their own first, and the list then names them: a write is all or none either way.
"""

from __future__ import annotations

import functools
import math
import time
from typing import TYPE_CHECKING, Any

from clew._lazy import need
from clew.chat_message_histories._dynamo_items import SessionItems, code_of
from clew.chat_message_histories._rows import RowHistory
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DynamoDBChatMessageHistory"]

_WHAT = "DynamoDBChatMessageHistory"
_ROOM = 350_000  # bytes of messages in one item; the service takes 400 kB with names and overhead
_ASIDE = 100_000  # bytes from which a write goes to items of its own
_TRIES = 100


@functools.lru_cache(maxsize=16)
def _client(endpoint_url: str | None) -> Any:
    return need("boto3", "dynamodb", _WHAT).client("dynamodb", endpoint_url=endpoint_url)


class DynamoDBChatMessageHistory(RowHistory):
    """The messages of one session in a DynamoDB table, which must exist, with a string partition key.

    table_name: of the table. session_id: any text that isn't empty. endpoint_url: of a local DynamoDB.
    primary_key_name: of the partition key. key: the whole key, where the table has a sort key too. boto3_session: a
    session of yours. ttl: seconds after the last write until the session is gone: it is not read from then on, and the
    service deletes it where its TTL is on for `ttl_key_name`. history_size: read no more than the newest so many.
    history_messages_key: the attribute of the list.
    Lists that others made of maps are read. Async calls run in worker threads: boto3 has no others.
    Raises: StorageError when the service can't do its work.
    """

    def __init__(
        self,
        table_name: str,
        session_id: str,
        endpoint_url: str | None = None,
        primary_key_name: str = "SessionId",
        key: dict[str, str] | None = None,
        boto3_session: Any = None,
        kms_key_id: str | None = None,
        ttl: int | None = None,
        ttl_key_name: str = "expireAt",
        history_size: int | None = None,
        history_messages_key: str = "History",
    ) -> None:
        if kms_key_id is not None:
            raise ValueError("encryption by kms_key_id is not offered: turn on the table's own encryption at rest")
        self.table_name = table_name
        self.session_id = session_id
        self.ttl = ttl
        self.history_size = history_size
        self.client = _client(endpoint_url) if boto3_session is None else boto3_session.client(
            "dynamodb", endpoint_url=endpoint_url
        )  # fmt: skip
        self._refused: type[Exception] = need("botocore.exceptions", "dynamodb", _WHAT).ClientError
        self._errors: type[Exception] = need("botocore.exceptions", "dynamodb", _WHAT).BotoCoreError
        self._key = {primary_key_name: session_id} if key is None else dict(key)
        self._names = {"#list": history_messages_key, "#ends": ttl_key_name, "#bytes": "Bytes", "#sealed": "Sealed"}
        self._list = history_messages_key
        self._ends = ttl_key_name
        self._stored = SessionItems(
            self.client, self._refused, table_name, self._key, primary_key_name, self._names
        )
        self._newest: int | None = None  # number of the item to append to, as far as this handle knows

    # -- what a store gives ---------------------------------------------------------------------------

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if self.history_size is not None and last is None:
            rows = list(self._run("reading a history", lambda: self._stored.rows(self._items())))[-self.history_size :]
            return rows[after:]
        if last is None:
            return self._run("reading a history", lambda: self._stored.rows(self._items()))[after:]
        return self._run("reading a history", lambda: self._last_rows(last))

    def _append(self, rows: list[str]) -> None:
        self._run("appending to a history", lambda: self._add(rows))

    def _replace(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        return self._run("compacting a history", lambda: self._swap(count, same, rows))

    def _clear(self) -> None:
        self._run("clearing a history", self._delete)

    def _run(self, doing: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (self._refused, self._errors) as error:
            raise StorageError(f"DynamoDB failed while {doing}: {error}", backend="dynamodb") from error

    # -- reading --------------------------------------------------------------------------------------

    def _items(self) -> list[dict[str, Any]]:
        """Return the session's items, oldest first, without those that have expired."""
        items = self._stored.alive([0])
        if not items:
            return []
        newest = int(items[0].get("Newest", {"N": "0"})["N"])
        items += self._stored.alive(list(range(1, newest + 1)))
        while items and "Sealed" in items[-1]:  # a writer that crashed before it said so, or one at work
            more = self._stored.alive([newest := newest + 1])
            if not more:
                break
            items += more
        return items

    def _last_rows(self, n: int) -> list[str]:
        """Return the newest rows, reading items backwards from the newest."""
        head = self._stored.alive([0])
        if not head:
            return []
        newest = int(head[0].get("Newest", {"N": "0"})["N"])
        if newest == 0:
            return self._stored.rows(self._items() if "Sealed" in head[0] else head, n)[-n:]
        rows: list[str] = []
        for number in range(newest + 1, -1, -1):
            rows = self._stored.rows(self._stored.alive([number]), n - len(rows)) + rows
            if len(rows) >= n:
                break
        return rows[-n:]

    # -- writing --------------------------------------------------------------------------------------

    def _add(self, rows: list[str]) -> None:
        size = sum(len(row.encode()) + 8 for row in rows)
        entries = [{"S": row} for row in rows]
        if size > _ASIDE:
            entries, size = [self._stored.put_aside(rows, self.ttl)], 200
        for _ in range(_TRIES):
            number = self._newest
            if number is None:
                number = self._newest = self._newest_number()
            if self._appended(number, entries, size):
                self._keep_alive(number)
                return
            self._advance(number)
        raise StorageError(f"DynamoDB: {_TRIES} tries to append failed; nothing was written", backend="dynamodb")

    def _appended(self, number: int, entries: list[Any], size: int) -> bool:
        """Append to an item if it has room and is the newest."""
        values: dict[str, Any] = {
            ":new": {"L": entries}, ":none": {"L": []}, ":size": {"N": str(size)}, ":zero": {"N": "0"},
            ":room": {"N": str(_ROOM - size)}, ":now": {"N": str(int(time.time()))},
        }  # fmt: skip
        change = (
            "SET #list = list_append(if_not_exists(#list, :none), :new), "
            "#bytes = if_not_exists(#bytes, :zero) + :size"
        )
        if self.ttl is not None:
            change += ", #ends = :ends"
            values[":ends"] = {"N": str(math.ceil(time.time() + self.ttl))}
        condition = (
            "attribute_not_exists(#sealed) AND (attribute_not_exists(#bytes) OR #bytes <= :room) "
            "AND (attribute_not_exists(#ends) OR #ends > :now)"
        )
        try:
            self.client.update_item(
                TableName=self.table_name, Key=self._stored.key(number), UpdateExpression=change,
                ConditionExpression=condition, ExpressionAttributeNames=self._names, ExpressionAttributeValues=values,
            )  # fmt: skip
        except self._refused as error:
            if code_of(error) == "ConditionalCheckFailedException" or "size" in str(error).lower():
                return False
            raise
        return True

    def _advance(self, number: int) -> None:
        """Seal an item that has no room, and name the next one; start anew where the session has expired."""
        head = self._stored.get([self._stored.key(0)])[0]
        if head is not None and float(head.get(self._ends, {"N": "inf"})["N"]) <= time.time():
            self._delete()
            return
        self._stored.change_if(
            number, "SET #sealed = :it", {":it": {"BOOL": True}}, {"#sealed": "Sealed", "#list": self._list},
            "attribute_exists(#list)",
        )  # fmt: skip
        self._stored.change_if(
            0, "SET #newest = :it", {":it": {"N": str(number + 1)}}, {"#newest": "Newest"},
            "attribute_not_exists(#newest) OR #newest < :it",
        )  # fmt: skip
        self._newest = self._newest_number()

    def _keep_alive(self, number: int) -> None:
        """Let the older items live as long as the newest."""
        if self.ttl is not None:
            ends = {":it": {"N": str(math.ceil(time.time() + self.ttl))}}
            for older in range(number):
                names = {"#ends": self._ends, "#list": self._list}
                self._stored.change_if(older, "SET #ends = :it", ends, names, "attribute_exists(#list)")

    def _newest_number(self) -> int:
        head = self._stored.get([self._stored.key(0)])[0]
        return int(head["Newest"]["N"]) if head and "Newest" in head else 0

    def _swap(self, count: int, same: Callable[[Sequence[str | bytes]], bool], rows: list[str]) -> bool:
        """Cut the oldest entries off the items that hold them, in one transaction that finds them as they were read."""
        items = self._items()
        puts: list[dict[str, Any]] = []
        gone: list[dict[str, Any]] = []
        seen: list[str] = []
        for place, item in enumerate(items):
            entries = item.get(self._list, {"L": []})["L"]
            taken = 0
            while taken < len(entries) and len(seen) < count:
                seen += self._stored.rows([{self._list: {"L": [entries[taken]]}}])
                gone.append(entries[taken])
                taken += 1
            fresh = ([{"S": row} for row in rows] if place == 0 else []) + entries[taken:]
            puts.append(self._put_if(item, len(entries), fresh))
            if len(seen) >= count:
                break
        if len(seen) != count or not same(seen) or not puts:  # a big write can only go as a whole
            return False
        try:
            self.client.transact_write_items(TransactItems=puts)
        except self._refused as error:
            if code_of(error) == "TransactionCanceledException":
                return False
            raise
        self._stored.delete([key for entry in gone for key in self._stored.part_keys(entry)])
        return True

    def _put_if(self, item: dict[str, Any], length: int, entries: list[dict[str, Any]]) -> dict[str, Any]:
        size = sum(len(entry["S"].encode()) + 8 if "S" in entry else 200 for entry in entries)
        return {
            "Put": {
                "TableName": self.table_name,
                "Item": {**item, self._list: {"L": entries}, "Bytes": {"N": str(size)}},
                "ConditionExpression": "size(#list) = :length",
                "ExpressionAttributeNames": {"#list": self._list},
                "ExpressionAttributeValues": {":length": {"N": str(length)}},
            }
        }

    def _delete(self) -> None:
        found = [item for item in self._stored.get([self._stored.key(0)]) if item]
        newest = int(found[0]["Newest"]["N"]) if found and "Newest" in found[0] else 0
        found += [item for item in self._stored.get([self._stored.key(n) for n in range(1, newest + 2)]) if item]
        entries = [entry for item in found for entry in item.get(self._list, {"L": []})["L"]]
        parts = [key for entry in entries for key in self._stored.part_keys(entry)]
        self._stored.delete([*parts, *({name: item[name] for name in self._key} for item in found)])
        self._newest = None
