"""`python bench/session.py [STORE …]`: many threads in several processes on one session: is every turn there, whole?

For each store: 4 processes of 13 threads (50 in all), each thread some turns through `RunnableWithMessageHistory`, all
on one session of a real server or file. Prints turns, turns lost, turns torn (a question whose next message is not its
own answer) and turns a second. Exit code 1 when anything is lost or torn. Servers are started by tests/servers.py; one
that can't run here is named with its reason.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

STORES = ("sqlite", "file", "postgres", "redis", "mongodb", "dynamodb", "firestore", "mysql", "cosmos")
PROCESSES, THREADS = 4, 50
TURNS = {"cosmos": 1, "dynamodb": 2, "mongodb": 2, "firestore": 4}
"""Turns per thread; fewer where a stand-in is slow."""


def open_history(store: str, place: str) -> Any:
    """Return a fresh handle on the one session of this run."""
    from clew import chat_message_histories as histories

    if store == "sqlite":
        return histories.SQLChatMessageHistory("shared", connection=f"sqlite:///{place}/chat.db")
    if store == "mysql":
        return histories.SQLChatMessageHistory("shared", connection=place)
    if store == "file":
        return histories.FileChatMessageHistory(f"{place}/chat.json")
    if store == "postgres":
        return histories.PostgresChatMessageHistory("shared", connection_string=place)
    if store == "redis":
        return histories.RedisChatMessageHistory("shared", url=place)
    if store == "mongodb":
        return histories.MongoDBChatMessageHistory(place, "shared")
    if store == "dynamodb":
        return histories.DynamoDBChatMessageHistory("bench", "shared", endpoint_url=place)
    if store == "firestore":
        return histories.FirestoreChatMessageHistory("bench", "shared", "user")
    if store == "cosmos":
        return histories.CosmosDBChatMessageHistory(place, "bench", "bench", "shared", "user", credential="ZHVtbXk=")
    raise SystemExit(f"unknown store {store!r}: one of {', '.join(STORES)}")


def talk(store: str, place: str, process: int, threads: int, turns: int) -> None:
    """Run one process's threads."""
    import threading
    import warnings

    from clew.messages import AIMessage
    from clew.runnables import RunnableLambda
    from clew.runnables.history import RunnableWithMessageHistory

    warnings.filterwarnings("ignore", message="Unverified HTTPS")
    answer = RunnableLambda(lambda messages: AIMessage(content="a" + messages[-1].content[1:]))
    chain = RunnableWithMessageHistory(answer, lambda _: open_history(store, place))
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for turn in range(turns):
                chain.invoke(f"q{process}.{thread}.{turn}", {"configurable": {"session_id": "shared"}})
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]


@contextlib.contextmanager
def place_of(store: str) -> Iterator[str]:
    """Start what a store needs; give where it is."""
    import servers

    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        if store in ("sqlite", "file"):
            yield enter(tempfile.TemporaryDirectory())
        elif store == "postgres":
            yield enter(servers.database(enter(servers.postgres())))
        elif store == "redis":
            yield enter(servers.valkey())
        elif store == "mongodb":
            yield enter(servers.mongo())
        elif store == "mysql":
            yield enter(servers.mariadb())
        elif store == "dynamodb":
            import boto3

            url = enter(servers.moto())
            boto3.client("dynamodb", endpoint_url=url).create_table(
                TableName="bench", BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
            )  # fmt: skip
            yield url
        elif store == "firestore":
            os.environ["FIRESTORE_EMULATOR_HOST"] = enter(servers.firestore())
            os.environ["GOOGLE_CLOUD_PROJECT"] = "bench"
            yield os.environ["FIRESTORE_EMULATOR_HOST"]
        else:
            yield enter(servers.cosmos())


def measure(
    store: str, *, processes: int = PROCESSES, threads: int = THREADS, turns: int | None = None
) -> dict[str, Any]:
    """Run a store; return how many turns there were, were lost, were torn, and how many a second.

    threads: in all processes together.
    """
    each = turns or TURNS.get(store, 10)
    shares = [threads // processes + (n < threads % processes) for n in range(processes)]
    with place_of(store) as place:
        open_history(store, place).clear()
        start = time.perf_counter()
        argv = [sys.executable, __file__, "--child", store, place]
        running = [
            subprocess.Popen([*argv, str(n), str(share), str(each)], env=os.environ) for n, share in enumerate(shares)
        ]
        codes = [process.wait() for process in running]
        seconds = time.perf_counter() - start
        stored = [message.content for message in open_history(store, place).messages]
    asked = {f"q{p}.{t}.{n}" for p, share in enumerate(shares) for t in range(share) for n in range(each)}
    whole = {a for a, b in zip(stored[::2], stored[1::2], strict=False) if a[0] == "q" and b == "a" + a[1:]}
    return {
        "store": store, "turns": len(asked), "lost": len(asked - set(stored)), "torn": len(asked & set(stored) - whole),
        "doubled": len(stored) - len(set(stored)), "failed": sum(code != 0 for code in codes),
        "per_second": len(asked) / seconds,
    }  # fmt: skip


def main() -> int:
    """Measure the stores that are named, or all."""
    if sys.argv[1:2] == ["--child"]:
        store, place, process, threads, turns = sys.argv[2:]
        talk(store, place, int(process), int(threads), int(turns))
        return 0
    import servers

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="*", default=STORES)
    parser.add_argument("--turns", type=int, help="turns per thread")
    options = parser.parse_args()
    bad = 0
    for store in options.stores:
        try:
            row = measure(store, turns=options.turns)
        except servers.Missing as reason:
            print(f"{store:10} not run: {reason}")
            continue
        bad += row["lost"] + row["torn"] + row["doubled"] + row["failed"]
        print(
            f"{store:10} turns {row['turns']:5}  lost {row['lost']}  torn {row['torn']}  doubled {row['doubled']}"
            f"  processes failed {row['failed']}  {row['per_second']:.0f} turns/s"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
