"""Fixtures for every test: the two faces of a call, and real services that start when first asked for.

A service that can't run here skips its tests; the reason names what to install.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers

with contextlib.suppress(ImportError):
    import hypothesis

    # how fast the machine is at the moment is not what is tested
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("clew", deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("clew")


@contextlib.contextmanager
def started(service: contextlib.AbstractContextManager[Any]) -> Iterator[Any]:
    """Enter a service, or skip with the reason why it can't run."""
    try:
        value = service.__enter__()
    except servers.Missing as reason:
        pytest.skip(str(reason))
    try:
        yield value
    finally:
        service.__exit__(None, None, None)


@pytest.fixture(params=["blocking", "awaited"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """call(obj, "invoke", x) runs obj.invoke(x) or asyncio.run(obj.ainvoke(x))."""
    if request.param == "blocking":
        return lambda obj, name, *a, **k: getattr(obj, name)(*a, **k)

    def awaited(obj: Any, name: str, *a: Any, **k: Any) -> Any:
        async def run() -> Any:
            result = getattr(obj, "a" + name)(*a, **k)
            return [item async for item in result] if hasattr(result, "__aiter__") else await result

        return asyncio.run(run())

    return awaited


@pytest.fixture(scope="session")
def pg_server() -> Iterator[str]:
    """URL of a PostgreSQL without a database name."""
    with started(servers.postgres()) as url:
        yield url


@pytest.fixture
def pg_url(pg_server: str) -> Iterator[str]:
    """URL of an empty PostgreSQL database of this test's own."""
    with servers.database(pg_server) as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """URL of a Valkey shared by the session."""
    with started(servers.valkey()) as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> Iterator[str]:
    """URL of a Valkey; emptied after the test."""
    import redis

    yield redis_server
    with contextlib.closing(redis.Redis.from_url(redis_server)) as r:
        r.flushall()


@pytest.fixture
def upstash_url(redis_url: str) -> Iterator[str]:
    """URL of the Upstash REST protocol over `redis_url`; any token does."""
    with servers.upstash(redis_url) as url:
        yield url


@pytest.fixture(scope="session")
def aws_server() -> Iterator[str]:
    """URL of a DynamoDB and S3 shared by the session."""
    with started(servers.moto()) as url:
        yield url


@pytest.fixture
def aws(aws_server: str) -> Iterator[dict[str, str]]:
    """Keywords for boto3.client("dynamodb", **aws); emptied after the test."""
    yield {
        "endpoint_url": aws_server,
        "region_name": "us-east-1",
        "aws_access_key_id": "x",
        "aws_secret_access_key": "x",
    }
    urllib.request.urlopen(urllib.request.Request(f"{aws_server}/moto-api/reset", method="POST")).close()


@pytest.fixture(scope="session")
def mongo_url() -> Iterator[str]:
    """URL of a MongoDB: the server that CLEW_TEST_MONGODB_URL names, else its protocol over mongomock."""
    if url := os.environ.get("CLEW_TEST_MONGODB_URL"):
        yield url
        return
    with started(servers.mongo()) as url:
        yield url


@pytest.fixture
def firestore_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """host:port of an empty Firestore emulator; firestore.Client() and AsyncClient() go there."""
    with started(servers.firestore()) as host:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "test")
        yield host


@pytest.fixture
def cosmos_url() -> Iterator[str]:
    """URL of an empty Cosmos emulator: CosmosClient(url, servers.COSMOS_KEY, connection_verify=False)."""
    with started(servers.cosmos()) as url:
        yield url


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    """SQLAlchemy URL of a MariaDB database shared by the session."""
    with started(servers.mariadb()) as url:
        yield url


@pytest.fixture(scope="session")
def chat_url() -> Iterator[str]:
    """URL of a real small chat model behind an OpenAI-compatible server (add /v1)."""
    with started(servers.chat()) as url:
        yield url


@pytest.fixture(scope="session")
def replay() -> Iterator[Callable[..., str]]:
    """replay("openai/v1", "split=bytes:3") -> base URL of recorded exchanges."""
    with started(servers.replay()) as url:
        yield url
