"""A DynamoDB table for all sessions: lists of messages in items that never outgrow 400 kB.

The first item of a session has the session's id as its key, and the next ones that id with a number. A write is one
UpdateItem that appends to the newest item, on condition that it has room; when it has none, the item is sealed and the
next one begins, so nobody writes behind what comes after. Writes that are big in themselves (a message of a megabyte)
are put aside in items of their own first, and the list then names them: a write is all or none either way.
"""

from __future__ import annotations

import functools
import json
import math
import time
from typing import TYPE_CHECKING, Any

from clew._ids import new_id
from clew._lazy import need
from clew.chat_message_histories._codec import bound_text
from clew.chat_message_histories._rows import RowHistory
from clew.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["DynamoDBChatMessageHistory"]

_WHAT = "DynamoDBChatMessageHistory"
_ROOM = 350_000  # bytes of messages in one item; the service takes 400 kB with names and overhead
_ASIDE = 100_000  # bytes from which a write goes to items of its own
_PART = 300_000  # bytes of one such item
_TRIES = 100
_MARK = "\x1f"  # between a session's key and what is added to it


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
        self._primary = primary_key_name
        self._names = {"#list": history_messages_key, "#ends": ttl_key_name, "#bytes": "Bytes", "#sealed": "Sealed"}
        self._list = history_messages_key
        self._ends = ttl_key_name
        self._newest: int | None = None  # number of the item to append to, as far as this handle knows

    # -- what a store gives ---------------------------------------------------------------------------

    def _read(self, *, last: int | None = None, after: int = 0) -> Sequence[str | bytes]:
        if self.history_size is not None and last is None:
            rows = list(self._run("reading a history", lambda: self._rows(self._items())))[-self.history_size :]
            return rows[after:]
        if last is None:
            return self._run("reading a history", lambda: self._rows(self._items()))[after:]
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
        items = self._get_many([0])
        if not items:
            return []
        newest = int(items[0].get("Newest", {"N": "0"})["N"])
        items += self._get_many(list(range(1, newest + 1)))
        while items and "Sealed" in items[-1]:  # a writer that crashed before it said so, or one at work
            more = self._get_many([newest := newest + 1])
            if not more:
                break
            items += more
        return items

    def _last_rows(self, n: int) -> list[str]:
        """Return the newest rows, reading items backwards from the newest."""
        head = self._get_many([0])
        if not head:
            return []
        newest = int(head[0].get("Newest", {"N": "0"})["N"])
        if newest == 0:
            return self._rows(self._items() if "Sealed" in head[0] else head, n)[-n:]
        rows: list[str] = []
        for number in range(newest + 1, -1, -1):
            rows = self._rows(self._get_many([number]), n - len(rows)) + rows
            if len(rows) >= n:
                break
        return rows[-n:]

    def _get_many(self, numbers: list[int]) -> list[dict[str, Any]]:
        now = time.time()
        found = self._get([self._item_key(number) for number in numbers])
        return [i for i in found if i is not None and float(i.get(self._ends, {"N": "inf"})["N"]) > now]

    def _get(self, keys: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the items of keys, in their order."""
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(keys), 100):
            wanted: dict[str, Any] = {self.table_name: {"Keys": keys[start : start + 100], "ConsistentRead": True}}
            while wanted:
                answer = self.client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self.table_name, []):
                    found[item[self._primary]["S"]] = item
                wanted = answer.get("UnprocessedKeys") or {}
        return [found.get(key[self._primary]["S"]) for key in keys]

    def _rows(self, items: list[dict[str, Any]], last: int | None = None) -> list[str]:
        """Return the rows of items, fetching what was put aside; with `last`, of the newest entries only."""
        entries = [entry for item in items for entry in item.get(self._list, {"L": []})["L"]]
        if last is not None:
            entries = entries[-last:] if last > 0 else []
        keys = [key for entry in entries for key in self._part_keys(entry)]
        parts = iter(self._get(keys) if keys else [])
        return [row for entry in entries for row in self._rows_of(entry, parts)]

    def _rows_of(self, entry: dict[str, Any], parts: Iterator[dict[str, Any] | None]) -> list[str]:
        if "S" in entry:
            return [entry["S"]]
        if "Aside" not in entry["M"]:
            return [json.dumps(_plain(entry))]
        texts = [next(parts) for _ in self._part_keys(entry)]
        return json.loads("".join(part["Part"]["S"] for part in texts if part is not None))

    def _part_keys(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        aside = entry.get("M", {}).get("Aside")
        if aside is None:
            return []
        return [self._item_key(f"{aside['S']}{_MARK}{n}") for n in range(int(entry["M"]["Parts"]["N"]))]

    # -- writing --------------------------------------------------------------------------------------

    def _add(self, rows: list[str]) -> None:
        size = sum(len(row.encode()) + 8 for row in rows)
        entries = [{"S": row} for row in rows]
        if size > _ASIDE:
            entries, size = [self._put_aside(rows)], 200
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
                TableName=self.table_name, Key=self._item_key(number), UpdateExpression=change,
                ConditionExpression=condition, ExpressionAttributeNames=self._names, ExpressionAttributeValues=values,
            )  # fmt: skip
        except self._refused as error:
            if _code(error) == "ConditionalCheckFailedException" or "size" in str(error).lower():
                return False
            raise
        return True

    def _advance(self, number: int) -> None:
        """Seal an item that has no room, and name the next one; start anew where the session has expired."""
        head = self._get([self._item_key(0)])[0]
        if head is not None and float(head.get(self._ends, {"N": "inf"})["N"]) <= time.time():
            self._delete()
            return
        self._try(
            number, "SET #sealed = :it", {":it": {"BOOL": True}}, {"#sealed": "Sealed", "#list": self._list},
            "attribute_exists(#list)",
        )  # fmt: skip
        self._try(
            0, "SET #newest = :it", {":it": {"N": str(number + 1)}}, {"#newest": "Newest"},
            "attribute_not_exists(#newest) OR #newest < :it",
        )  # fmt: skip
        self._newest = self._newest_number()

    def _try(self, number: int, change: str, values: dict[str, Any], names: dict[str, str], condition: str) -> None:
        """Change an item if it meets a condition; pass over one that doesn't."""
        try:
            self.client.update_item(
                TableName=self.table_name, Key=self._item_key(number), UpdateExpression=change,
                ConditionExpression=condition, ExpressionAttributeNames=names, ExpressionAttributeValues=values,
            )  # fmt: skip
        except self._refused as error:
            if _code(error) != "ConditionalCheckFailedException":
                raise

    def _keep_alive(self, number: int) -> None:
        """Let the older items live as long as the newest."""
        if self.ttl is not None:
            ends = {":it": {"N": str(math.ceil(time.time() + self.ttl))}}
            for older in range(number):
                names = {"#ends": self._ends, "#list": self._list}
                self._try(older, "SET #ends = :it", ends, names, "attribute_exists(#list)")

    def _newest_number(self) -> int:
        head = self._get([self._item_key(0)])[0]
        return int(head["Newest"]["N"]) if head and "Newest" in head else 0

    def _put_aside(self, rows: list[str]) -> dict[str, Any]:
        """Store a big write in items of its own; return the entry that names them."""
        name = new_id()
        text = json.dumps(rows)  # ASCII: one byte a character, so it may be cut anywhere
        parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
        for number, part in enumerate(parts):
            item = {**self._item_key(f"{name}{_MARK}{number}"), "Part": {"S": part}}
            if self.ttl is not None:
                item[self._ends] = {"N": str(math.ceil(time.time() + 2 * self.ttl))}
            self.client.put_item(TableName=self.table_name, Item=item)
        return {"M": {"Aside": {"S": name}, "Parts": {"N": str(len(parts))}}}

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
                seen += self._rows([{self._list: {"L": [entries[taken]]}}])
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
            if _code(error) == "TransactionCanceledException":
                return False
            raise
        self._delete_keys([key for entry in gone for key in self._part_keys(entry)])
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
        found = [item for item in self._get([self._item_key(0)]) if item]
        newest = int(found[0]["Newest"]["N"]) if found and "Newest" in found[0] else 0
        found += [item for item in self._get([self._item_key(n) for n in range(1, newest + 2)]) if item]
        entries = [entry for item in found for entry in item.get(self._list, {"L": []})["L"]]
        parts = [key for entry in entries for key in self._part_keys(entry)]
        self._delete_keys([*parts, *({name: item[name] for name in self._key} for item in found)])
        self._newest = None

    def _delete_keys(self, keys: list[dict[str, Any]]) -> None:
        for start in range(0, len(keys), 25):
            requests = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]
            wanted: dict[str, Any] = {self.table_name: requests}
            while wanted:
                wanted = self.client.batch_write_item(RequestItems=wanted).get("UnprocessedItems") or {}

    def _item_key(self, part: int | str) -> dict[str, Any]:
        """Return the key of one of the session's items; 0 is the session's own."""
        key = {name: {"S": value} for name, value in self._key.items()}
        base = bound_text(self._key[self._primary])
        if _MARK in base:
            base = "\ue000" + json.dumps(self._key[self._primary])
        key[self._primary] = {"S": base if part == 0 else f"{base}{_MARK}{part}"}
        return key


def _code(error: Exception) -> str:
    details: Any = getattr(error, "response", {})
    return details.get("Error", {}).get("Code", "")


def _plain(value: dict[str, Any]) -> Any:
    """Return a typed attribute as plain data, for lists that others wrote as maps."""
    kind, inner = next(iter(value.items()))
    if kind == "M":
        return {name: _plain(item) for name, item in inner.items()}
    if kind == "L":
        return [_plain(item) for item in inner]
    if kind == "N":
        return int(inner) if inner.lstrip("-").isdigit() else float(inner)
    return None if kind == "NULL" else inner
