"""Leases, ids, digests and records: the vocabulary that all our savers share."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from clew.checkpoint import _journal as J
from clew.checkpoint import _records as R
from clew.checkpoint._codec import Codec, SerdeCodec, codec_for
from clew.checkpoint._views import is_native, thread_of
from clew.checkpoint.base import BaseCheckpointSaver, copy_checkpoint, create_checkpoint, empty_checkpoint
from clew.checkpoint.memory import InMemorySaver
from clew.errors import MissingThreadError, SerializationError, StorageCorruptError


def test_leases_are_free_when_run_out_or_their_owner_is_dead() -> None:
    now = time.time()
    assert J.may_take("", now + 100)
    assert J.may_take("some machine 1 2 3", now - 1)
    assert not J.may_take("boot space 1 2 abc", now + 100)  # another machine: it may live
    mine = J.new_owner()
    assert J.is_dead(mine)  # of this process, and no run of it goes on
    J.live.add(mine)
    assert not J.may_take(mine, now + 100)
    J.live.discard(mine)
    boot, space, pid, start = J.process().split(" ")
    assert J.is_dead(f"{boot} {space} {pid} {int(start) + 1} abc")  # the pid was given to another process
    assert not J.is_dead(f"{boot} other-space {pid} {start} abc")


def test_commits_that_come_together_share_a_write_and_their_errors_stay_apart() -> None:
    groups: list[int] = []

    def write(jobs: list[J.Job]) -> None:
        time.sleep(0.01)
        groups.append(len(jobs))
        for job in jobs:
            if job.batch.head == "bad":
                job.error = J.Fenced()

    group = J.GroupCommit(write)
    refused: list[int] = []

    def commit(n: int) -> None:
        try:
            group.commit(J.Place("t", ""), J.Batch(head="bad" if n == 3 else None))
        except J.Fenced:
            refused.append(n)

    threads = [threading.Thread(target=commit, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(groups) == 12 and len(groups) < 12 and refused == [3]


def test_a_thread_knows_the_ids_of_its_questions() -> None:
    one = R.question_id("t", "c", "0")
    assert len(one) == 32 and int(one, 16) >= 0
    assert R.is_question_id("t", one)
    assert not R.is_question_id("other", one)
    assert not any(R.is_question_id("t", text) for text in ("0" * 32, "", 5, None))


@pytest.mark.parametrize(
    "one,other,same",
    [
        (((1, "a"), {}), ((1, "a"), {}), True),
        (((1,), {}), ((2,), {}), False),
        (((), {"a": 1, "b": 2}), ((), {"b": 2, "a": 1}), True),
        ((({"a": 1, "b": 2},), {}), (({"b": 2, "a": 1},), {}), True),
        ((({1, 2, 3},), {}), (({3, 2, 1},), {}), True),
        (((2**70,), {}), ((2**70,), {}), True),
        (((2**70,), {}), ((2**70 + 1,), {}), False),
        ((("x" * 500,), {}), (("x" * 500,), {}), True),
        ((("x" * 500,), {}), (("x" * 499 + "y",), {}), False),
        (((object(),), {}), ((object(),), {}), True),  # can't be saved: only its type counts
        (((object(),), {}), ((threading.Lock(),), {}), False),
    ],
)
def test_digests_are_equal_for_equal_arguments(one: Any, other: Any, same: bool) -> None:
    assert R.same_args(R.digest(*one), R.digest(*other)) is same


def test_arguments_can_be_shown() -> None:
    assert R.show_args(R.digest((1, "pear"), {})) == "1, 'pear'"
    assert R.show_args(R.digest((1,), {"by": 2})) == "1, by=2"
    assert R.show_args(R.digest(("x" * 500,), {})).startswith("'xxx")
    assert R.show_args(b"") == ""


def test_records_come_back_and_damage_is_told() -> None:
    records: list[R.Record] = [
        R.Result("0", "step", b"\0", b"\x01"), R.Failure("1", "bad", b"\0", b"e", "KeyError: 1"), R.Begin(1.0, 2),
        R.Question("id", "2", "", "flow", b"q", 1.0), R.Answer("id", b"a", 2.0), R.Wake("3", 9.0),
        R.Attempt("0", "step", 1, "text", 1.0, 2.0), R.End("error", 1.0, "text", [("0", "", 1)]),
        R.Write("t", 0, "c", b"v"), R.Mark("m", b"v"),
    ]  # fmt: skip
    assert R.unpack_all(R.pack(one) for one in records) == records
    for damaged in (b"", b"\xc1", b"\x93\x01\x02", b"\x91\xff"):
        with pytest.raises(StorageCorruptError):
            R.unpack(damaged)
        with pytest.raises(StorageCorruptError):
            R.unpack_body(damaged)
    body = R.Body(1.0, "input", -1, {"__start__": b"x" * 5000}, "flow")
    assert len(R.pack_input(body)) < 500 and R.unpack_body(R.pack_input(body)) == body


class Upper:
    """A serializer of a user."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return "text", str(value).upper().encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return data[1].decode()


def test_codecs() -> None:
    assert codec_for(None).decode(codec_for(None).encode((1, {2}))) == (1, {2})
    assert type(codec_for(None)) is Codec
    own = codec_for(Upper())
    assert isinstance(own, SerdeCodec) and own.decode(own.encode("abc")) == "ABC"
    with pytest.raises(SerializationError):
        Codec().encode(object())


def test_only_savers_whose_documented_methods_are_ours_use_the_journal() -> None:
    class Renamed(InMemorySaver):
        """Adds nothing that is documented."""

        def extra(self) -> None: ...

    class Spy(InMemorySaver):
        def put_writes(self, *args: Any, **kwargs: Any) -> None: ...

    assert is_native(InMemorySaver()) and is_native(Renamed())
    assert not is_native(Spy()) and not is_native(BaseCheckpointSaver())


def test_checkpoints_of_the_documented_interface() -> None:
    one = empty_checkpoint() | {"channel_values": {"x": [1]}}
    two = create_checkpoint(one, {"x": 2}, 1)  # type: ignore[arg-type] - joined
    assert two["id"] > one["id"] and two["channel_values"] == {"x": 2}
    copied = copy_checkpoint(one)  # type: ignore[arg-type] - joined
    copied["channel_values"]["x"] = 5
    assert one["channel_values"] == {"x": [1]}
    assert thread_of({"configurable": {"thread_id": 7}}) == ("7", "")
    with pytest.raises(MissingThreadError):
        thread_of({})
    with pytest.raises(NotImplementedError, match="get_tuple"):
        BaseCheckpointSaver().get_tuple({"configurable": {"thread_id": "t"}})


def test_case_124_what_is_read_back_is_what_was_committed_in_order() -> None:
    saver = InMemorySaver()
    journal = saver.journal
    owner = J.new_owner()
    J.live.add(owner)
    place = journal.acquire("t", "", owner, 30.0)
    journal.commit(place, J.Batch(checkpoint=J.Row("c1", None, b"1"), records=(("c1", 0, b"begin"),)))
    journal.commit(place, J.Batch(records=(("c1", 1 << 24, b"result"),)))
    journal.commit(
        place, J.Batch(checkpoint=J.Row("c2", "c1", b"2"), records=(("c1", 1 << 25, b"last"),), release=True)
    )
    assert journal.load("t", "", "c1").records == [b"begin", b"result", b"last"]
    assert journal.load("t", "").head == J.Row("c2", "c1", b"2")
    late = J.Place("t", "")
    late.key, late.token = place.key, place.token
    journal.acquire("t", "", J.new_owner(), 30.0)
    with pytest.raises(J.Fenced):
        journal.commit(late, J.Batch(records=(("c2", 9, b"too late"),)))
    J.live.discard(owner)
