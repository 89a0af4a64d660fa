"""Remove what is known of a session or a person, everywhere, and say what was removed where.

Deleting a row leaves its bytes in the file until something overwrites them. So every SQLite file that was touched is
rewritten afterwards: word indexes are merged, the pages vacuumed, the write-ahead log truncated. JSON files are
overwritten before they go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from clew.errors import StorageError
from clew.runnables.config import run_in_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["ForgetReport", "Forgotten", "aforget", "forget"]

_DEPTH = 3  # how far below a component its database may be


@dataclass(frozen=True, slots=True)
class Forgotten:
    """One place. kind: "history", "entities" …; where: the component; removed: how many, None when it can't tell."""

    kind: str
    where: str
    removed: int | None


@dataclass(slots=True)
class ForgetReport:
    """What was removed where. files: embedded files that were rewritten, so that no deleted byte is left in them."""

    places: list[Forgotten] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def removed(self) -> int:
        """How many things were removed, where that can be counted."""
        return sum(place.removed or 0 for place in self.places)

    def __str__(self) -> str:
        lines = [f"{p.kind}: {p.where}: {'all' if p.removed is None else p.removed} removed" for p in self.places]
        return "\n".join([*lines, *(f"file rewritten: {name}" for name in self.files)])


def forget(
    session: str | None = None,
    *,
    user: str | None = None,
    histories: Iterable[Any] = (),
    entity_stores: Iterable[Any] = (),
    memories: Iterable[Any] = (),
    vector_stores: Iterable[Any] = (),
    checkpointers: Iterable[Any] = (),
    stores: Iterable[Any] = (),
    caches: Iterable[Any] = (),
    threads: Sequence[str] | None = None,
    session_key: str = "session_id",
    user_key: str = "user_id",
) -> ForgetReport:
    """Remove a session or a person from all the places that are named.

    histories, entity_stores: of the session, or functions that return one for the session's id. memories: cleared.
    vector_stores: documents whose metadata has session or user under `session_key` or `user_key`. checkpointers: the
    threads (the session's id unless `threads` names others). stores: items below a namespace with the session's or
    the user's label. caches: cleared as a whole, since answers are not kept by session.
    Every place is tried; then the SQLite files behind them are rewritten, whatever had failed.
    Raises: ValueError when neither session nor user is given; the places' own errors, several as an ExceptionGroup.
    """
    if session is None and user is None:
        raise ValueError("forget needs a session or a user")
    labels = {label for label in (session, user) if label is not None}
    names = list(threads) if threads is not None else ([session] if session is not None else [])
    report, errors, touched = ForgetReport(), list[Exception](), list[Any]()

    def each(kind: str, things: Iterable[Any], remove: Callable[[Any], int | None], *, may_open: bool = False) -> None:
        for thing in things:
            try:
                place = thing(session) if may_open and callable(thing) else thing
                touched.append(place)
                report.places.append(Forgotten(kind, _named(place), remove(place)))
            except Exception as error:
                errors.append(error)

    each("history", histories, _clear_history, may_open=True)
    each("entities", entity_stores, _clear, may_open=True)
    each("memory", memories, _clear)
    each("vectors", vector_stores, lambda store: _clear_vectors(store, {session_key: session, user_key: user}))
    each("checkpoints", checkpointers, lambda saver: _clear_threads(saver, names))
    each("store", stores, lambda store: _clear_store(store, labels))
    each("cache", caches, _clear)
    for path in dict.fromkeys(name for place in touched for name in _files(place, _DEPTH)):
        try:
            _scrub(path)
            report.files.append(path)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else ExceptionGroup("some places could not be cleared", errors)
    return report


async def aforget(session: str | None = None, **places: Any) -> ForgetReport:
    """Remove a session or a person from all the places that are named; see `forget`. Runs in a worker thread."""
    return await run_in_executor(None, lambda: forget(session, **places))


def _named(place: Any) -> str:
    inner = getattr(place, "file_path", None) or getattr(place, "session_id", None)
    return f"{type(place).__name__}({inner})" if inner else type(place).__name__


def _clear_history(history: Any) -> int:
    count = len(history.messages)
    history.clear()
    return count


def _clear(place: Any) -> None:
    place.clear()


def _clear_vectors(store: Any, wanted: dict[str, str | None]) -> int:
    if not hasattr(store, "delete_where"):
        raise StorageError(f"{type(store).__name__} can't delete by metadata: delete by id, or clear its memory")
    return sum(store.delete_where({key: value}) for key, value in wanted.items() if value is not None)


def _clear_threads(saver: Any, names: Sequence[str]) -> int:
    count = 0
    for name in names:
        count += saver.get_tuple({"configurable": {"thread_id": name, "checkpoint_ns": ""}}) is not None
        saver.delete_thread(name)
    return count


def _clear_store(store: Any, labels: set[str]) -> int:
    count = 0
    for namespace in cast("list[tuple[str, ...]]", store.list_namespaces(limit=None)):
        if labels.intersection(namespace):
            for item in store.search(namespace, limit=None):
                store.delete(item.namespace, item.key)
                count += 1
    return count


def _files(place: Any, depth: int) -> Iterator[str]:
    """Yield the SQLite files behind a component."""
    from clew._sqlite import Database

    inside = list(getattr(place, "__dict__", {}).values())
    for cls in type(place).__mro__:
        inside += [getattr(place, name, None) for name in getattr(cls, "__slots__", ()) if not name.startswith("__")]
    for value in inside:
        if isinstance(value, Database):
            if value.path != ":memory:":
                yield value.path
        elif type(value).__module__.startswith("clew.checkpoint.sqlite"):
            path = getattr(value, "path", None)
            if isinstance(path, str) and path not in ("", ":memory:"):
                yield path
        elif depth > 0 and type(value).__module__.startswith("clew."):
            yield from _files(value, depth - 1)


def _scrub(path: str) -> None:
    """Leave no deleted byte in an SQLite file.

    Raises: StorageError when another connection reads on and keeps old pages alive.
    """
    from clew import _sqlite

    connection = _sqlite.connect(path)
    try:
        indexes = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
        ).fetchall()
        for (name,) in indexes:
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f"INSERT INTO {quoted} ({quoted}) VALUES ('optimize')")
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise StorageError(
                f"{path!r} is being read elsewhere, so deleted pages are still in its log: forget again later",
                backend="sqlite",
            )
    except _sqlite.sqlite3.Error as error:
        raise _sqlite.wrap(error, path) from error
    finally:
        connection.close()
