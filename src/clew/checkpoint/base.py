"""The documented interface of savers: what a program, or a saver that somebody else wrote, is asked for.

A *checkpoint* is the state of a thread at one moment; its *pending writes* are what was done since. A saver that
implements `get_tuple`, `list`, `put`, `put_writes` and `delete_thread` (or their `a` twins) works. Ours implement the
faster journal of `clew.checkpoint._journal` and get this interface from `clew.checkpoint._views`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from clew._ids import sortable_id

if TYPE_CHECKING:
    from clew.config import RunnableConfig

__all__ = [
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "PendingWrite",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
]

V = TypeVar("V", int, float, str)
ChannelVersions = dict[str, Any]
PendingWrite = tuple[str, str, Any]  # task id, channel, value

VERSION = 4
ERROR, SCHEDULED, INTERRUPT, RESUME = "__error__", "__scheduled__", "__interrupt__", "__resume__"
RETURN = "__return__"
WRITES_IDX_MAP = {ERROR: -1, SCHEDULED: -2, INTERRUPT: -3, RESUME: -4}


class CheckpointMetadata(TypedDict, total=False):
    """Where a checkpoint comes from. step: -1 for the first input, then counting up. Callers may add keys."""

    source: Literal["input", "loop", "update", "fork"]
    step: int
    parents: dict[str, str]
    run_id: str


class Checkpoint(TypedDict, total=False):
    """The state of a thread at one moment. id sorts by time; ts is ISO 8601 in UTC."""

    v: int
    id: str
    ts: str
    channel_values: dict[str, Any]
    channel_versions: ChannelVersions
    versions_seen: dict[str, ChannelVersions]
    updated_channels: list[str] | None


class CheckpointTuple(NamedTuple):
    """A checkpoint with what belongs to it."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: RunnableConfig | None = None
    pending_writes: list[PendingWrite] | None = None


def timestamp(seconds: float | None = None) -> str:
    """Return seconds since the epoch (now by default) as ISO 8601 in UTC."""
    import datetime

    when = time.time() if seconds is None else seconds
    return datetime.datetime.fromtimestamp(when, datetime.UTC).isoformat(timespec="microseconds")


def empty_checkpoint() -> Checkpoint:
    """Return a new checkpoint with an id and no values."""
    return {
        "v": VERSION,
        "id": sortable_id(),
        "ts": timestamp(),
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
        "updated_channels": None,
    }


def create_checkpoint(checkpoint: Checkpoint, values: dict[str, Any] | None, step: int) -> Checkpoint:
    """Return the successor of a checkpoint: new id and time, these values."""
    return {
        "v": VERSION,
        "id": sortable_id(),
        "ts": timestamp(),
        "channel_values": dict(checkpoint.get("channel_values", {}) if values is None else values),
        "channel_versions": dict(checkpoint.get("channel_versions", {})),
        "versions_seen": {k: dict(v) for k, v in checkpoint.get("versions_seen", {}).items()},
        "updated_channels": None,
    }


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """Return a copy whose dicts can be changed; values are shared."""
    copied = dict(checkpoint)
    copied["channel_values"] = dict(checkpoint.get("channel_values", {}))
    copied["channel_versions"] = dict(checkpoint.get("channel_versions", {}))
    copied["versions_seen"] = {k: dict(v) for k, v in checkpoint.get("versions_seen", {}).items()}
    return copied  # type: ignore[return-value]


def get_checkpoint_id(config: RunnableConfig) -> str | None:
    """Return the checkpoint that a config names, or None for the newest."""
    found = config.get("configurable", {}).get("checkpoint_id")
    return str(found) if found else None


def get_checkpoint_metadata(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """Return the metadata joined with that of the call, without what is private to the runtime."""
    joined: dict[str, Any] = {
        key: value
        for key, value in config.get("metadata", {}).items()
        if isinstance(value, (str, int, float, bool)) or value is None
    }
    joined.update(metadata)
    return joined  # type: ignore[return-value]


class BaseCheckpointSaver(Generic[V]):
    """Base of all savers. serde: turns values into bytes and back; the typed msgpack of clew when None.

    A saver of your own overrides the blocking methods, the awaitable ones, or both; the other kind is refused with
    NotImplementedError. It has no lease: runs of one thread are serialised within the process only.
    """

    serde: Any = None

    def __init__(self, *, serde: Any = None) -> None:
        if serde is not None:
            self.serde = serde

    @property
    def config_specs(self) -> list[Any]:
        """Nothing: a saver adds no options to a config."""
        return []

    def _none(self, method: str) -> Any:
        return NotImplementedError(f"{type(self).__name__} does not implement {method}")

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """Return the checkpoint that the config names (the newest without checkpoint_id), or None."""
        found = self.get_tuple(config)
        return found.checkpoint if found else None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the same with metadata, parent and pending writes."""
        raise self._none("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first. filter: metadata that must be equal. before: only older than this one."""
        raise self._none("list")

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint after the one that the config names; return its own config."""
        raise self._none("put")

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote, beside the checkpoint that the config names; the same task twice is kept once."""
        raise self._none("put_writes")

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        raise self._none("delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs wrote."""
        raise self._none("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with all its checkpoints, under another id."""
        raise self._none("copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: Literal["keep_latest", "delete"] = "keep_latest") -> None:
        """Forget the history of threads: all but the newest checkpoint, or everything."""
        raise self._none("prune")

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        """Awaitable `get`."""
        found = await self.aget_tuple(config)
        return found.checkpoint if found else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Awaitable `get_tuple`."""
        raise self._none("aget_tuple")

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Awaitable `list`."""
        raise self._none("alist")

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Awaitable `put`."""
        raise self._none("aput")

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Awaitable `put_writes`."""
        raise self._none("aput_writes")

    async def adelete_thread(self, thread_id: str) -> None:
        """Awaitable `delete_thread`."""
        raise self._none("adelete_thread")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Awaitable `delete_for_runs`."""
        raise self._none("adelete_for_runs")

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Awaitable `copy_thread`."""
        raise self._none("acopy_thread")

    async def aprune(
        self, thread_ids: Sequence[str], *, strategy: Literal["keep_latest", "delete"] = "keep_latest"
    ) -> None:
        """Awaitable `prune`."""
        raise self._none("aprune")

    def get_next_version(self, current: V | None, channel: None = None) -> V:
        """Return the version after `current` (None for the first); versions of a channel only grow."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.0"  # type: ignore[return-value] - text sorts like the number


Filter = Callable[[dict[str, Any]], bool]
