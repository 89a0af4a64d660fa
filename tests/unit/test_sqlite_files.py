"""One SQLite file, many threads and processes: nobody is locked out, nothing half written stays."""

from __future__ import annotations

import os
import pathlib
import sqlite3
import subprocess
import sys
import threading

import pytest

from clew import _sqlite
from clew._sqlite import Database, connect
from clew.errors import StorageCorruptError, StorageError

TABLE = ("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",)


def test_case_121_many_connections_are_never_locked_out(tmp_path: pathlib.Path) -> None:
    path, failed = tmp_path / "db.sqlite", list[BaseException]()

    def work() -> None:
        database = Database(path, migrations=TABLE)
        try:
            for _ in range(40):
                with database.transaction() as connection:
                    count = connection.execute("SELECT count(*) FROM t").fetchone()[0]
                    connection.execute("INSERT INTO t VALUES (?, 'x')", (count,))
        except BaseException as error:
            failed.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert Database(path).execute("SELECT count(*), count(DISTINCT a) FROM t") == [(240, 240)]


def test_processes_that_open_a_new_file_at_once(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys; from clew._sqlite import Database\n"
        "db = Database(sys.argv[1], migrations=('CREATE TABLE t (a)', 'CREATE TABLE u (a)'))\n"
        "[db.write('INSERT INTO t VALUES (1)') for _ in range(20)]"
    )
    path = str(tmp_path / "db.sqlite")
    running = [subprocess.Popen([sys.executable, "-c", code, path], stderr=subprocess.PIPE) for _ in range(4)]
    assert [one.communicate()[1] for one in running] == [b""] * 4
    assert Database(path).execute("SELECT count(*) FROM t") == [(80,)]


def test_case_085_a_failed_write_leaves_no_lock(tmp_path: pathlib.Path) -> None:
    database = Database(tmp_path / "db.sqlite", migrations=TABLE, timeout=0.2)
    database.write("INSERT INTO t VALUES (1, 'kept')")
    with pytest.raises(StorageError, match="UNIQUE"), database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (2, 'lost')")
        connection.execute("INSERT INTO t VALUES (1, 'twice')")
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (3, 'lost')")
        raise ZeroDivisionError
    other = Database(tmp_path / "db.sqlite", timeout=0.2)
    other.write("INSERT INTO t VALUES (4, 'other')")
    assert database.execute("SELECT a FROM t ORDER BY a") == [(1,), (4,)]
    database.close()
    other.close()


def test_a_lock_that_does_not_end_is_an_error_that_says_so(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "db.sqlite")
    database = Database(path, migrations=TABLE, timeout=0.2)
    database.execute("SELECT 1")
    holder = connect(path)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="timeout=") as caught:
        database.write("INSERT INTO t VALUES (1, 'x')")
    assert caught.value.backend == "sqlite"
    holder.execute("ROLLBACK")
    database.write("INSERT INTO t VALUES (1, 'x')")
    holder.close()
    database.close()


@pytest.mark.parametrize("content", [b"hello world" * 500, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: pathlib.Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StorageCorruptError, match=r"notes\.txt"):
        Database(path, migrations=TABLE).write("INSERT INTO t VALUES (1, 'x')")
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(StorageError, match="folder"):
        connect(tmp_path / "missing" / "db.sqlite")


def test_a_full_disk_keeps_what_was_there(tmp_path: pathlib.Path) -> None:
    database = Database(tmp_path / "db.sqlite", migrations=TABLE)
    database.write("INSERT INTO t VALUES (1, 'kept')")
    with database.read() as connection:  # the pool has this one connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(StorageError, match="disk is full"):
        database.write("INSERT INTO t VALUES (2, ?)", ("x" * 100_000,))
    assert database.execute("SELECT a FROM t") == [(1,)]
    database.write("INSERT INTO t VALUES (3, 'small')")
    database.close()


def test_migrations_run_once_and_only_the_new_ones(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "db.sqlite"
    Database(path, component="a", migrations=TABLE).write("INSERT INTO t VALUES (1, 'x')")
    grown = (*TABLE, "ALTER TABLE t ADD COLUMN c DEFAULT 7")
    assert Database(path, component="a", migrations=grown).execute("SELECT * FROM t") == [(1, "x", 7)]
    assert Database(path, component="a", migrations=TABLE).execute("SELECT c FROM t") == [(7,)]  # an older program
    Database(path, component="b", migrations=("CREATE TABLE other (a)",)).execute("SELECT 1 FROM other")
    with pytest.raises(StorageError, match="syntax"):
        Database(path, component="c", migrations=("CREATE TABLE good (a)", "CREATE NONSENSE")).execute("SELECT 1")
    with pytest.raises(StorageError, match="good"):
        Database(path).execute("SELECT 1 FROM good")


def test_memory_is_one_database_for_all_threads() -> None:
    database = Database(":memory:", migrations=TABLE)
    threads = [threading.Thread(target=database.write, args=("INSERT INTO t (b) VALUES ('x')",)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert database.execute("SELECT count(*) FROM t") == [(8,)]


def test_a_forked_child_uses_connections_of_its_own(tmp_path: pathlib.Path) -> None:
    database = Database(tmp_path / "db.sqlite", migrations=TABLE)
    database.write("INSERT INTO t VALUES (1, 'parent')")
    entered, release = threading.Event(), threading.Event()

    def hold() -> None:
        with database.exclusive():
            entered.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    child = os.fork()  # while another thread of the parent holds the lock
    if child == 0:
        code = 1
        try:
            database.write("INSERT INTO t VALUES (2, 'child')")
            code = 0
        finally:
            os._exit(code)
    release.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0
    database.write("INSERT INTO t VALUES (3, 'parent')")
    assert [row[0] for row in database.execute("SELECT a FROM t ORDER BY a")] == [1, 2, 3]


def test_readers_are_not_held_up_by_a_writer(tmp_path: pathlib.Path) -> None:
    database = Database(tmp_path / "db.sqlite", migrations=TABLE, timeout=0.2)
    database.write("INSERT INTO t VALUES (1, 'x')")
    with database.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (2, 'x')")
        seen: list[object] = []
        reader = threading.Thread(target=lambda: seen.append(database.execute("SELECT count(*) FROM t")))
        reader.start()
        reader.join(5)
        assert seen == [[(1,)]]


def test_connections_are_reused_and_closed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []
    real = _sqlite.connect

    def counting(*arguments: object, **options: object) -> sqlite3.Connection:
        opened.append(real(*arguments, **options))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr(_sqlite, "connect", counting)
    database = Database(tmp_path / "db.sqlite", migrations=TABLE)
    for n in range(50):
        database.write("INSERT INTO t VALUES (?, 'x')", (n,))
        database.execute("SELECT 1")
    assert len(opened) == 1
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        opened[0].execute("SELECT 1")
    with pytest.raises(StorageError, match="closed"):
        database.execute("SELECT 1")
