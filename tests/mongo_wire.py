"""The part of MongoDB's wire protocol that a message history uses, over mongomock: `python mongo_wire.py PORT`.

No MongoDB server can be had from pip, npm or apt, so this lets the official drivers (blocking and async) talk to the
stand-in. One command at a time, which gives the stand-in the server's atomic documents. Source: MongoDB's "Wire
Protocol" page (OP_MSG, and OP_QUERY for the first greeting).
"""

from __future__ import annotations

import socketserver
import struct
import sys
import threading
from typing import Any

import bson
import mongomock
import pymongo.errors

OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
GREETING = {
    "ismaster": True, "isWritablePrimary": True, "helloOk": True, "maxBsonObjectSize": 16_777_216,
    "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 21,
    "readOnly": False, "ok": 1.0,
}  # fmt: skip
client, turn = mongomock.MongoClient(), threading.Lock()
partly_unique: dict[str, list[tuple[list[str], list[str]]]] = {}
"""Unique indexes over the documents that have some fields, by collection: (keys, those fields)."""


def run(command: dict[str, Any]) -> dict[str, Any]:
    """Do one command on the stand-in; return the server's answer."""
    name, target = next(iter(command.items()))
    if name.lower() in ("hello", "ismaster"):
        return GREETING
    if name in ("ping", "endSessions", "buildInfo"):
        return {"ok": 1.0}
    rows = client[command["$db"]][str(target)]
    if name == "insert":
        return insert(rows, command["documents"])
    if name == "find":
        found = rows.find(command.get("filter", {}))
        if command.get("sort"):
            found = found.sort(list(command["sort"].items()))
        return cursor(list(found.limit(command.get("limit", 0))), command)
    if name == "aggregate":
        return cursor(list(rows.aggregate(command["pipeline"])), command)
    if name == "createIndexes":
        for index in command["indexes"]:
            partial = index.get("partialFilterExpression")
            if partial and index.get("unique"):  # the stand-in would apply it to all documents
                partly_unique.setdefault(rows.full_name, []).append((list(index["key"]), list(partial)))
            else:
                rows.create_index(list(index["key"].items()), name=index["name"], unique=index.get("unique", False))
        return {"ok": 1.0}
    if name == "update":
        done = [(rows.update_many if u.get("multi") else rows.update_one)(u["q"], u["u"]) for u in command["updates"]]
        return {"n": sum(d.matched_count for d in done), "nModified": sum(d.modified_count for d in done), "ok": 1.0}
    if name == "delete":
        gone = [(rows.delete_one if d.get("limit") else rows.delete_many)(d["q"]) for d in command["deletes"]]
        return {"n": sum(d.deleted_count for d in gone), "ok": 1.0}
    return {"ok": 0.0, "code": 59, "errmsg": f"no such command: {name}"}


def insert(rows: Any, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Insert in order, up to the first that is refused."""
    for place, document in enumerate(documents):
        try:
            for key, needed in partly_unique.get(rows.full_name, []):
                if all(name in document for name in needed) and rows.find_one({n: document.get(n) for n in key}):
                    raise pymongo.errors.DuplicateKeyError(f"E11000 duplicate key: {key}")
            rows.insert_one(document)
        except pymongo.errors.DuplicateKeyError as error:
            return {"n": place, "writeErrors": [{"index": place, "code": 11000, "errmsg": str(error)}], "ok": 1.0}
    return {"n": len(documents), "ok": 1.0}


def cursor(documents: list[dict[str, Any]], command: dict[str, Any]) -> dict[str, Any]:
    """Return all documents in the first batch."""
    return {"cursor": {"firstBatch": documents, "id": 0, "ns": f"{command['$db']}.x"}, "ok": 1.0}


def read_command(opcode: int, body: bytes) -> dict[str, Any]:
    """Return the command of a message; document sequences are put in their place."""
    if opcode == OP_QUERY:
        return bson.decode(body[body.index(b"\x00", 4) + 9 :])
    command: dict[str, Any] = {}
    place = 4
    while place < len(body):
        kind, size = body[place], struct.unpack_from("<i", body, place + 1)[0]
        part = body[place + 1 : place + 1 + size]
        if kind == 0:
            command = bson.decode(part) | command
        else:
            end = part.index(b"\x00", 4)
            command[part[4:end].decode()] = bson.decode_all(part[end + 1 :])
        place += 1 + size
    first = next(key for key in command if key not in ("documents", "updates", "deletes"))
    return {first: command[first], **command}


class Connection(socketserver.BaseRequestHandler):
    """Answers messages until the driver hangs up."""

    def handle(self) -> None:
        while header := self.exactly(16):
            size, request, _, opcode = struct.unpack("<4i", header)
            command = read_command(opcode, self.exactly(size - 16))
            with turn:
                try:
                    answer = bson.encode(run(command))
                except Exception as error:
                    answer = bson.encode({"ok": 0.0, "code": 8, "errmsg": repr(error)})
            if opcode == OP_QUERY:
                body, code = struct.pack("<iqii", 8, 0, 0, 1) + answer, OP_REPLY
            else:
                body, code = b"\x00\x00\x00\x00\x00" + answer, OP_MSG
            self.request.sendall(struct.pack("<4i", 16 + len(body), 0, request, code) + body)

    def exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.request.recv(size - len(found))
            if not part:
                return b""
            found += part
        return found


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Connection).serve_forever()
