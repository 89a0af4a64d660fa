"""Our histories, against the suite that third parties run too, on real servers and the stand-ins that there are."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import servers

from clew.chat_history import InMemoryChatMessageHistory
from clew.testing.history import HistoryConformance


def unique(word: str) -> str:
    return f"{word}_{uuid.uuid4().hex[:12]}"


class TestInMemory(HistoryConformance):
    keeps_objects = True

    @pytest.fixture
    def open(self) -> Any:
        kept: dict[str, InMemoryChatMessageHistory] = {}
        return lambda session_id: kept.setdefault(session_id, InMemoryChatMessageHistory())


class TestFile(HistoryConformance):
    @pytest.fixture
    def open(self, tmp_path: Any) -> Any:
        from clew.chat_message_histories import FileChatMessageHistory

        names: dict[str, str] = {}  # a file's name is the program's choice, not the session's
        return lambda session_id: FileChatMessageHistory(
            str(tmp_path / names.setdefault(session_id, f"{len(names)}.json"))
        )


class TestReadableFile(TestFile):
    @pytest.fixture
    def open(self, tmp_path: Any) -> Any:
        from clew.chat_message_histories import FileChatMessageHistory

        names: dict[str, str] = {}
        return lambda session_id: FileChatMessageHistory(
            str(tmp_path / names.setdefault(session_id, f"{len(names)}.json")), ensure_ascii=False
        )


class TestSqlite(HistoryConformance):
    @pytest.fixture
    def open(self, tmp_path: Any) -> Any:
        from clew.chat_message_histories import SQLChatMessageHistory

        return lambda session_id: SQLChatMessageHistory(session_id, connection=f"sqlite:///{tmp_path}/chat.db")


class TestAlchemy(HistoryConformance):
    """SQLAlchemy itself, over Postgres: another table than PostgresChatMessageHistory's."""

    many = 2_000

    @pytest.fixture
    def open(self, pg_url: str) -> Iterator[Any]:
        from clew.chat_message_histories import SQLChatMessageHistory

        sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs: pip install sqlalchemy")
        engine = sqlalchemy.create_engine(pg_url.replace("postgresql://", "postgresql+psycopg://"))
        yield lambda session_id: SQLChatMessageHistory(session_id, connection=engine)
        engine.dispose()


class TestAlchemyAwaited(HistoryConformance):
    """An async engine: its blocking face is refused, so only the awaited one is tested."""

    faces = ("awaited",)
    can_compact = False
    many = 2_000

    @pytest.fixture
    def open(self, pg_url: str) -> Any:
        from clew.chat_message_histories import SQLChatMessageHistory

        sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs: pip install sqlalchemy")
        pytest.importorskip("greenlet", reason="needs: pip install greenlet (SQLAlchemy's async engines use it)")
        from sqlalchemy.ext.asyncio import create_async_engine

        url = pg_url.replace("postgresql://", "postgresql+psycopg://")
        engine = create_async_engine(url, poolclass=sqlalchemy.NullPool)  # each test has several loops
        return lambda session_id: SQLChatMessageHistory(session_id, connection=engine)

    def test_writers_lose_and_tear_nothing(self, open: Any) -> None:
        with pytest.raises(TypeError, match="async"):
            _ = open("s").messages


class TestMysql(HistoryConformance):
    many = 2_000

    @pytest.fixture
    def open(self, mysql_url: str) -> Any:
        from clew.chat_message_histories import SQLChatMessageHistory

        table = unique("chat")
        return lambda session_id: SQLChatMessageHistory(session_id, table_name=table, connection=mysql_url)


class TestPostgres(HistoryConformance):
    @pytest.fixture
    def open(self, pg_url: str) -> Any:
        from clew.chat_message_histories import PostgresChatMessageHistory

        return lambda session_id: PostgresChatMessageHistory(session_id, connection_string=pg_url)


class TestRedis(HistoryConformance):
    @pytest.fixture
    def open(self, redis_url: str) -> Any:
        from clew.chat_message_histories import RedisChatMessageHistory

        return lambda session_id: RedisChatMessageHistory(session_id, url=redis_url)


class TestRedisWithTtl(TestRedis):
    @pytest.fixture
    def open(self, redis_url: str) -> Any:
        from clew.chat_message_histories import RedisChatMessageHistory

        return lambda session_id: RedisChatMessageHistory(session_id, url=redis_url, ttl=1000)


class TestDynamo(HistoryConformance):
    many = 1_000

    @pytest.fixture
    def open(self, aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
        import boto3

        from clew.chat_message_histories import DynamoDBChatMessageHistory

        table = unique("chat")
        session = boto3.Session(
            aws_access_key_id=aws["aws_access_key_id"],
            aws_secret_access_key=aws["aws_secret_access_key"],
            region_name=aws["region_name"],
        )
        key = [{"AttributeName": "SessionId", "AttributeType": "S"}]
        session.client("dynamodb", endpoint_url=aws["endpoint_url"]).create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=key,
            KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
        )
        return lambda session_id: DynamoDBChatMessageHistory(
            table, session_id, endpoint_url=aws["endpoint_url"], boto3_session=session
        )


class TestMongo(HistoryConformance):
    """The official drivers over a stand-in's documents, or the server that CLEW_TEST_MONGODB_URL names."""

    many = 200

    @pytest.fixture
    def open(self, mongo_url: str) -> Any:
        from clew.chat_message_histories import MongoDBChatMessageHistory

        collection = unique("chat")
        return lambda session_id: MongoDBChatMessageHistory(mongo_url, session_id, collection_name=collection)


class TestFirestore(HistoryConformance):
    many = 1_000

    @pytest.fixture
    def open(self, firestore_host: str) -> Any:
        from clew.chat_message_histories import FirestoreChatMessageHistory

        collection = unique("chat")
        return lambda session_id: FirestoreChatMessageHistory(collection, session_id, "ann")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")  # the emulator's certificate is its own
class TestCosmos(HistoryConformance):
    """Each request to the emulator opens a connection of its own, so the numbers are small."""

    many = 600
    writers, writes = 3, 3
    ids = ("plain", "../x", "'; DROP TABLE c; --", "会话 🙂", "s" * 300, "nul\x00inside", "a/b\\c")  # type: ignore[assignment]

    @pytest.fixture
    def open(self, cosmos_url: str) -> Any:
        from clew.chat_message_histories import CosmosDBChatMessageHistory

        container = unique("chat")
        return lambda session_id: CosmosDBChatMessageHistory(
            cosmos_url, "clew", container, session_id, "ann", credential=servers.COSMOS_KEY
        )


# the services themselves, where variables name them: what their stand-ins can't show

REAL = {
    "CLEW_REAL_FIRESTORE_PROJECT": "a project to write to: preconditions, which the emulator ignores",
    "CLEW_REAL_COSMOS_CONNECTION": "a connection string: size limits and partitions",
    "CLEW_REAL_DYNAMODB_TABLE": "a table with the key SessionId: atomic items under many writers",
}


@pytest.mark.parametrize("variable", REAL)
def test_a_service_that_is_named_gets_the_whole_suite(variable: str) -> None:
    if variable not in os.environ:
        pytest.skip(f"needs: {variable}, {REAL[variable]}")
    assert any(name.startswith("TestReal") for name in globals())


if project := os.environ.get("CLEW_REAL_FIRESTORE_PROJECT"):

    class TestRealFirestore(HistoryConformance):
        @pytest.fixture
        def open(self, monkeypatch: pytest.MonkeyPatch) -> Any:
            monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", str(project))
            monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)
            from clew.chat_message_histories import FirestoreChatMessageHistory

            collection = unique("chat")
            return lambda session_id: FirestoreChatMessageHistory(collection, session_id, "ann")


if connection := os.environ.get("CLEW_REAL_COSMOS_CONNECTION"):

    class TestRealCosmos(HistoryConformance):
        @pytest.fixture
        def open(self) -> Any:
            from clew.chat_message_histories import CosmosDBChatMessageHistory

            container = unique("chat")
            return lambda session_id: CosmosDBChatMessageHistory(
                "", "clew", container, session_id, "ann", connection_string=connection
            )


if table := os.environ.get("CLEW_REAL_DYNAMODB_TABLE"):

    class TestRealDynamo(HistoryConformance):
        @pytest.fixture
        def open(self) -> Any:
            from clew.chat_message_histories import DynamoDBChatMessageHistory

            mark = unique("chat")
            return lambda session_id: DynamoDBChatMessageHistory(str(table), f"{mark} {session_id}")
