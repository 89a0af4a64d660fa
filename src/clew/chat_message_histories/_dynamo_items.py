"""The items of one session in a DynamoDB table: their keys, and how they are read, changed and deleted."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

from clew._ids import new_id
from clew.chat_message_histories._codec import bound_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SessionItems", "code_of"]

_PART = 300_000  # bytes of one item that holds a part of a big write
_MARK = "\x1f"  # between a session's key and what is added to it


class SessionItems:
    """The items of one session. refused: the client's error class."""

    def __init__(
        self,
        client: Any,
        refused: type[Exception],
        table: str,
        key: dict[str, str],
        primary: str,
        names: dict[str, str],
    ) -> None:
        self.client = client
        self.refused = refused
        self.table = table
        self.names = names
        self._key = key
        self._primary = primary
        self._list = names["#list"]
        self._ends = names["#ends"]

    def key(self, part: int | str) -> dict[str, Any]:
        """Return the key of one of the session's items; 0 is the session's own."""
        key = {name: {"S": value} for name, value in self._key.items()}
        base = bound_text(self._key[self._primary])
        if _MARK in base:
            base = "\ue000" + json.dumps(self._key[self._primary])
        key[self._primary] = {"S": base if part == 0 else f"{base}{_MARK}{part}"}
        return key

    def alive(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Return the items with these numbers that are there and have not expired."""
        now = time.time()
        found = self.get([self.key(number) for number in numbers])
        return [i for i in found if i is not None and float(i.get(self._ends, {"N": "inf"})["N"]) > now]

    def get(self, keys: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the items of keys, in their order."""
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(keys), 100):
            wanted: dict[str, Any] = {self.table: {"Keys": keys[start : start + 100], "ConsistentRead": True}}
            while wanted:
                answer = self.client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self.table, []):
                    found[item[self._primary]["S"]] = item
                wanted = answer.get("UnprocessedKeys") or {}
        return [found.get(key[self._primary]["S"]) for key in keys]

    def rows(self, items: list[dict[str, Any]], last: int | None = None) -> list[str]:
        """Return the rows of items, fetching what was put aside; with `last`, of the newest entries only."""
        entries = [entry for item in items for entry in item.get(self._list, {"L": []})["L"]]
        if last is not None:
            entries = entries[-last:] if last > 0 else []
        keys = [key for entry in entries for key in self.part_keys(entry)]
        parts = iter(self.get(keys) if keys else [])
        return [row for entry in entries for row in self._rows_of(entry, parts)]

    def _rows_of(self, entry: dict[str, Any], parts: Iterator[dict[str, Any] | None]) -> list[str]:
        if "S" in entry:
            return [entry["S"]]
        if "Aside" not in entry["M"]:
            return [json.dumps(_plain(entry))]
        texts = [next(parts) for _ in self.part_keys(entry)]
        return json.loads("".join(part["Part"]["S"] for part in texts if part is not None))

    def part_keys(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the keys of the items that hold a big write; none for an ordinary one."""
        aside = entry.get("M", {}).get("Aside")
        if aside is None:
            return []
        return [self.key(f"{aside['S']}{_MARK}{n}") for n in range(int(entry["M"]["Parts"]["N"]))]

    def change_if(
        self, number: int, change: str, values: dict[str, Any], names: dict[str, str], condition: str
    ) -> None:
        """Change an item if it meets a condition; pass over one that doesn't."""
        try:
            self.client.update_item(
                TableName=self.table, Key=self.key(number), UpdateExpression=change,
                ConditionExpression=condition, ExpressionAttributeNames=names, ExpressionAttributeValues=values,
            )  # fmt: skip
        except self.refused as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise

    def put_aside(self, rows: list[str], ttl: int | None) -> dict[str, Any]:
        """Store a big write in items of its own; return the entry that names them."""
        name = new_id()
        text = json.dumps(rows)  # ASCII: one byte a character, so it may be cut anywhere
        parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
        for number, part in enumerate(parts):
            item = {**self.key(f"{name}{_MARK}{number}"), "Part": {"S": part}}
            if ttl is not None:
                item[self._ends] = {"N": str(math.ceil(time.time() + 2 * ttl))}
            self.client.put_item(TableName=self.table, Item=item)
        return {"M": {"Aside": {"S": name}, "Parts": {"N": str(len(parts))}}}

    def delete(self, keys: list[dict[str, Any]]) -> None:
        """Delete items; keys that are not there are passed over."""
        for start in range(0, len(keys), 25):
            requests = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]
            wanted: dict[str, Any] = {self.table: requests}
            while wanted:
                wanted = self.client.batch_write_item(RequestItems=wanted).get("UnprocessedItems") or {}


def code_of(error: Exception) -> str:
    """Return the service's code of an error."""
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
