"""The documented saver interface over a journal: written once for every backend of ours.

A checkpoint's values are references: small ones inline, large ones a place in a chain of deltas. Task outcomes,
questions
and answers show as pending writes of the checkpoint that their run started from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clew._drive import drive
from clew.checkpoint import _delta
from clew.checkpoint import _records as R
from clew.checkpoint._codec import Codec, codec_for
from clew.checkpoint._io import Awaiting, Blocking
from clew.checkpoint._journal import Batch, Place, Row
from clew.checkpoint.base import (
    VERSION,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    timestamp,
)
from clew.errors import MissingThreadError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from clew.checkpoint._io import Io
    from clew.config import RunnableConfig

INLINE = 128  # bytes up to which a value stands in the checkpoint itself
DOCUMENTED = [
    "get_tuple",
    "list",
    "put",
    "put_writes",
    "delete_thread",
    "aget_tuple",
    "alist",
    "aput",
    "aput_writes",
    "adelete_thread",
]


def is_native(saver: Any) -> bool:
    """Say whether the saver's journal may be used: nothing documented is overridden below the class that has it."""
    if not isinstance(saver, JournalSaver):
        return False
    for cls in type(saver).__mro__:
        if "_journal_home" in cls.__dict__:
            return True
        if any(name in cls.__dict__ for name in DOCUMENTED):
            return False
    return False


def thread_of(config: RunnableConfig | None) -> tuple[str, str]:
    """Return (thread_id, checkpoint_ns) of a config."""
    place = (config or {}).get("configurable") or {}
    thread_id = place.get("thread_id")
    if thread_id is None or thread_id == "":
        raise MissingThreadError("this needs to know the thread: config={'configurable': {'thread_id': ...}}")
    return str(thread_id), str(place.get("checkpoint_ns") or "")


def config_of(thread_id: str, ns: str, checkpoint_id: str | None) -> Any:
    """Return the config that names a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


class Refs:
    """Reads the values of checkpoints of one place."""

    def __init__(self, io: Io, codec: Codec, place: Place) -> None:
        self.io = io
        self.codec = codec
        self.place = place
        self.known: dict[R.Ref, Any] = {}

    async def raw(self, ref: R.Ref) -> bytes | bytearray:
        """Return the encoded value."""
        if isinstance(ref, bytes):
            return ref
        bodies = await self.io.chain(self.place, ref[0], ref[1])
        unseal, thread = self.codec.unseal, self.place.thread_id
        return _delta.join([unseal(thread, body) for body in bodies])

    async def value(self, ref: R.Ref) -> Any:
        """Return the value, a fresh copy each time."""
        return self.codec.decode(await self.raw(ref))


def metadata_of(body: R.Body, codec: Codec) -> dict[str, Any]:
    """Return the metadata of a checkpoint."""
    found: dict[str, Any] = {"source": body.source, "step": body.step, "parents": {}}
    if body.metadata is not None:
        found.update(codec.decode(body.metadata))
    return found


def records_of(codec: Codec, thread_id: str, bodies: Sequence[bytes]) -> list[R.Record]:
    """Return records in the order they were written."""
    if codec.seals:
        bodies = [codec.unseal(thread_id, body) for body in bodies]
    return R.unpack_all(bodies)


def pending_writes(codec: Codec, thread_id: str, checkpoint_id: str, records: Sequence[R.Record]) -> list[PendingWrite]:
    """Return what records show to readers of the documented interface: (task id, channel, value), the same once."""
    from clew.types import Interrupt

    found: dict[tuple[str, str, int], PendingWrite] = {}
    owners: dict[str, str] = {}
    for index, record in enumerate(records):
        if isinstance(record, R.Write):
            key = (record.task_id, record.channel if record.index < 0 else "", record.index)
            if record.index >= 0 and key in found:
                continue
            found[key] = (record.task_id, record.channel, codec.decode(record.value))
        elif isinstance(record, R.Result):
            if record.how == "step":  # its value is in the next checkpoint
                continue
            task = R.task_id(thread_id, checkpoint_id, record.path)
            found[task, "return", 0] = (task, "__return__", codec.decode(record.value))
        elif isinstance(record, R.Failure):
            task = R.task_id(thread_id, checkpoint_id, record.path)
            found[task, "error", 0] = (task, "__error__", record.text)
        elif isinstance(record, R.Question):
            task = owners[record.id] = R.task_id(thread_id, checkpoint_id, record.owner)
            asked = Interrupt(codec.decode(record.value), record.id, None, record.key, record.expires)
            found[task, "ask", index] = (task, "__interrupt__", [asked])
        elif isinstance(record, R.Answer):
            task = owners.get(record.id, record.id)
            found[task, "answer", index] = (task, "__resume__", [codec.decode(record.value)])
    return list(found.values())


async def _tuple(io: Io, codec: Codec, place: Place, row: Row, records: Sequence[bytes]) -> CheckpointTuple:
    thread_id = place.thread_id
    body = R.unpack_body(codec.unseal(thread_id, row.body))
    refs = Refs(io, codec, place)
    checkpoint: Checkpoint = {
        "v": VERSION,
        "id": row.id,
        "ts": body.ts or timestamp(body.at),
        "channel_values": {name: await refs.value(ref) for name, ref in body.values.items()},
        "channel_versions": body.versions or {},
        "versions_seen": body.seen or {},
        "updated_channels": None,
    }
    parent = config_of(thread_id, place.ns, row.parent) if row.parent else None
    writes = pending_writes(codec, thread_id, row.id, records_of(codec, thread_id, records))
    metadata: Any = metadata_of(body, codec)
    return CheckpointTuple(config_of(thread_id, place.ns, row.id), checkpoint, metadata, parent, writes)


async def _get(io: Io, codec: Codec, config: RunnableConfig) -> CheckpointTuple | None:
    thread_id, ns = thread_of(config)
    place = await io.load(thread_id, ns, get_checkpoint_id(config))
    if place is None or place.head is None:
        return None
    return await _tuple(io, codec, place, place.head, place.records)


async def _list(
    io: Io,
    codec: Codec,
    config: RunnableConfig | None,
    filter: dict[str, Any] | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> AsyncIterator[CheckpointTuple]:
    thread_id, ns, only = None, None, None
    if config is not None and "thread_id" in config.get("configurable", {}):
        thread_id, _ = thread_of(config)
        ns = config["configurable"].get("checkpoint_ns")  # pyright: ignore[reportTypedDictNotRequiredAccess] - just looked
        only = get_checkpoint_id(config)
    older = get_checkpoint_id(before) if before is not None else None
    left = limit if limit is not None else -1
    pages = limit if limit is not None and not filter and only is None else None
    for thread, space, row in await io.checkpoints(thread_id, ns, before=older, limit=pages):
        if left == 0:
            return
        if only is not None and row.id != only:
            continue
        if filter:
            found = metadata_of(R.unpack_body(codec.unseal(thread, row.body)), codec)
            if any(key not in found or found[key] != value for key, value in filter.items()):
                continue
        place = await io.load(thread, space, row.id)
        if place is None:
            continue
        left -= 1
        yield await _tuple(io, codec, place, row, place.records)


async def _put(
    io: Io, codec: Codec, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> RunnableConfig:
    thread_id, ns = thread_of(config)
    known: dict[str, Any] = dict(get_checkpoint_metadata(config, metadata))
    source, step = known.pop("source", "loop"), known.pop("step", 0)
    if not known.get("parents"):
        known.pop("parents", None)
    values: dict[str, R.Ref] = {}
    chains: list[tuple[int, int, bytes]] = []
    import time

    for name, value in checkpoint.get("channel_values", {}).items():
        raw = codec.encode(value)
        if len(raw) > INLINE:
            chain = time.time_ns() + len(chains)
            chains.append((chain, 0, codec.seal(thread_id, raw)))
            values[name] = (chain, 0, True)
        else:
            values[name] = raw
    body = R.Body(
        time.time(), source, step, values,
        metadata=codec.encode(known) if known else None,
        versions=checkpoint.get("channel_versions") or None,
        seen=checkpoint.get("versions_seen") or None,
        ts=checkpoint.get("ts"),
    )  # fmt: skip
    row = Row(checkpoint.get("id", ""), get_checkpoint_id(config), codec.seal(thread_id, R.pack(body)))
    await io.commit(Place(thread_id, ns), Batch(checkpoint=row, values=chains))
    return config_of(thread_id, ns, row.id)


async def _put_writes(
    io: Io, codec: Codec, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, path: str
) -> None:
    from clew.checkpoint.base import WRITES_IDX_MAP

    thread_id, ns = thread_of(config)
    checkpoint_id = get_checkpoint_id(config)
    if checkpoint_id is None:
        raise ValueError("put_writes needs the checkpoint: config={'configurable': {..., 'checkpoint_id': ...}}")
    records = [
        (checkpoint_id, -1, codec.seal(thread_id, R.pack(R.Write(
            task_id, WRITES_IDX_MAP.get(channel, index), channel, codec.encode(value), path
        ))))
        for index, (channel, value) in enumerate(writes)
    ]  # fmt: skip
    await io.commit(Place(thread_id, ns), Batch(records=records))


async def _prune(
    io: Io, codec: Codec, thread_ids: Sequence[str], strategy: str, keep: int, older_than: float | None
) -> None:
    import time

    from clew.checkpoint._prune import keep_newest

    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"strategy is 'keep_latest' or 'delete', not {strategy!r}")
    if keep < 1:
        raise ValueError(f"keep is a positive number, not {keep}; strategy='delete' forgets everything")
    before = None if older_than is None else time.time() - older_than
    for thread_id in thread_ids:
        if strategy == "delete":
            await io.delete(thread_id)
        else:
            await keep_newest(io, codec, thread_id, keep=keep, older_than=before)


async def _delete_for_runs(io: Io, codec: Codec, run_ids: Sequence[str]) -> None:
    from clew.checkpoint._prune import drop_runs

    await drop_runs(io, codec, frozenset(run_ids))


class JournalSaver(BaseCheckpointSaver[str]):
    """Base of our savers: the documented interface over `journal`.

    journal: a Journal, an AsyncJournal, or both. A subclass that brings a journal sets `_journal_home = True`.
    """

    _loop_only: ClassVar[bool] = False  # blocking calls are refused inside a running event loop

    def __init__(self, journal: Any, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self.journal = journal
        self.codec = codec_for(serde)

    def _blocking(self) -> Io:
        if self._loop_only:
            _refuse_in_loop(type(self).__name__)
        return Blocking(self.journal)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint with metadata, parent and pending writes, or None."""
        return drive(_get(self._blocking(), self.codec, config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first. filter: metadata that must be equal."""
        items = _list(self._blocking(), self.codec, config, filter, before, limit)
        while True:
            try:
                yield drive(items.__anext__())  # type: ignore[arg-type] - an async generator's step is a coroutine
            except StopAsyncIteration:
                return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint after the one that the config names; return its own config."""
        return drive(_put(self._blocking(), self.codec, config, checkpoint, metadata))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote, beside the checkpoint that the config names."""
        drive(_put_writes(self._blocking(), self.codec, config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        drive(self._blocking().delete(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs wrote."""
        drive(_delete_for_runs(self._blocking(), self.codec, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with all its checkpoints, under another id."""
        from clew.checkpoint._prune import copy_thread

        drive(copy_thread(self._blocking(), self.codec, source_thread_id, target_thread_id))

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: Literal["keep_latest", "delete"] = "keep_latest",
        keep: int = 1,
        older_than: float | None = None,
    ) -> None:
        """Forget the history of threads: what is not among the newest `keep` checkpoints, or everything ("delete").

        older_than: seconds; younger checkpoints stay, however many they are.
        """
        drive(_prune(self._blocking(), self.codec, thread_ids, strategy, keep, older_than))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Awaitable `get_tuple`."""
        return await _get(Awaiting(self.journal), self.codec, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Awaitable `list`."""
        async for item in _list(Awaiting(self.journal), self.codec, config, filter, before, limit):
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Awaitable `put`."""
        return await _put(Awaiting(self.journal), self.codec, config, checkpoint, metadata)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Awaitable `put_writes`."""
        await _put_writes(Awaiting(self.journal), self.codec, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Awaitable `delete_thread`."""
        await Awaiting(self.journal).delete(str(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Awaitable `delete_for_runs`."""
        await _delete_for_runs(Awaiting(self.journal), self.codec, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Awaitable `copy_thread`."""
        from clew.checkpoint._prune import copy_thread

        await copy_thread(Awaiting(self.journal), self.codec, source_thread_id, target_thread_id)

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: Literal["keep_latest", "delete"] = "keep_latest",
        keep: int = 1,
        older_than: float | None = None,
    ) -> None:
        """Awaitable `prune`."""
        await _prune(Awaiting(self.journal), self.codec, thread_ids, strategy, keep, older_than)


def _refuse_in_loop(name: str) -> None:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        f"a blocking call of {name} inside a running event loop would stop it: use the awaitable methods"
    )
