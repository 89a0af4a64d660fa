"""What every saver must do, as tests to inherit.

    class TestMySaver(SaverConformance):
        @pytest.fixture
        def saver(self):
            with MySaver.from_conn_string(...) as saver:
                yield saver

`SaverConformance` asks for the documented interface; `JournalConformance` adds leases, fencing and groups for those
that derive from clew's JournalSaver. Each test runs on every face in `faces`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from clew.checkpoint import _journal as J
from clew.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from clew.errors import ClewError
from clew.testing._faces import Face

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["JournalConformance", "SaverConformance"]

ODD_IDS = ["plain", "naïve 猫", "50%_of", 'it\'s "quoted"; DROP TABLE x; --', "a.b/c:d", "nul\x00inside", " "]


def config_of(thread: str, ns: str = "", checkpoint_id: str | None = None) -> Any:
    """Return the config that names a thread, a namespace and perhaps a checkpoint."""
    more = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **more}}


class SaverConformance:
    """The documented interface: order, history, pending writes, namespaces, deletion, exact values, concurrency."""

    faces: ClassVar[tuple[str, ...]] = ("blocking", "awaited")

    @pytest.fixture
    def saver(self) -> Any:
        """Give a saver with nothing in it."""
        raise NotImplementedError("a conformance test needs a fixture `saver`")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test once per face."""
        if "face" in metafunc.fixturenames:
            metafunc.parametrize("face", self.faces, indirect=True)

    @pytest.fixture
    def face(self, request: pytest.FixtureRequest) -> Iterator[Face]:
        """Give a way of calling."""
        face = Face(request.param)
        yield face
        face.close()

    @staticmethod
    def store(face: Face, saver: Any, config: Any, values: Any, step: int = 0, **metadata: Any) -> Any:
        """Put one checkpoint and return its config."""
        versions = dict.fromkeys(values, f"{step + 2:032}.0")
        checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
        return face(saver, "put", config, checkpoint, {"source": "loop", "step": step, **metadata}, versions)

    def test_nothing_is_none(self, face: Face, saver: Any) -> None:
        """A thread that nobody wrote has no checkpoint, and no error either."""
        assert isinstance(saver, BaseCheckpointSaver)
        assert face(saver, "get_tuple", config_of("nobody")) is None
        assert face(saver, "list", config_of("nobody")) == []
        face(saver, "delete_thread", "nobody")

    def test_newest_first_and_each_by_its_id(self, face: Face, saver: Any) -> None:
        """History is ordered, and any checkpoint can be read back with its parent."""
        config, kept = config_of("t"), list[Any]()
        for step in range(5):
            config = self.store(face, saver, config, {"n": step}, step)
            kept.append(config)
        newest = face(saver, "get_tuple", config_of("t"))
        assert newest.config == kept[-1]
        assert newest.parent_config == kept[-2]
        assert [one.config for one in face(saver, "list", config_of("t"))] == kept[::-1]
        for step, one in enumerate(kept):
            found = face(saver, "get_tuple", one)
            assert found.checkpoint["channel_values"] == {"n": step}
            assert found.metadata["step"] == step
        assert face(saver, "get_tuple", kept[0]).parent_config is None
        assert face(saver, "get_tuple", config_of("t", checkpoint_id="of no checkpoint")) is None

    def test_list_takes_limit_before_and_filter(self, face: Face, saver: Any) -> None:
        """Pages and filters choose among the checkpoints of one thread."""
        config, kept = config_of("t"), list[Any]()
        for step in range(4):
            config = self.store(face, saver, config, {}, step, who="ada" if step % 2 else "bob")
            kept.append(config)

        def listed(**options: Any) -> list[Any]:
            return [one.config for one in face(saver, "list", config_of("t"), **options)]

        assert listed(limit=2) == kept[:1:-1]
        assert listed(before=kept[2]) == [kept[1], kept[0]]
        assert listed(before=kept[2], limit=1) == [kept[1]]
        assert listed(filter={"who": "ada"}) == [kept[3], kept[1]]
        assert listed(filter={"who": "ada"}, limit=1) == [kept[3]]
        assert listed(filter={"who": "ada", "step": 1}) == [kept[1]]
        assert listed(filter={"who": "eve"}) == []
        assert listed(filter={"missing": None}) == []

    def test_filter_keys_are_data(self, face: Face, saver: Any) -> None:
        """A key with quotes in it chooses nothing, or is refused; it never becomes part of a query."""
        self.store(face, saver, config_of("t"), {})
        try:
            found = face(saver, "list", config_of("t"), filter={"x') OR '1'='1": "d"})
        except ValueError:
            found = []
        assert found == []

    def test_namespaces_are_apart(self, face: Face, saver: Any) -> None:
        """A child's checkpoints are not its parent's."""
        outer = self.store(face, saver, config_of("t"), {"who": "outer"})
        inner = self.store(face, saver, config_of("t", "child"), {"who": "inner"})
        assert face(saver, "get_tuple", config_of("t")).config == outer
        assert face(saver, "get_tuple", config_of("t", "child")).config == inner
        assert face(saver, "get_tuple", config_of("t", "chil")) is None
        assert [one.config for one in face(saver, "list", config_of("t", "child"))] == [inner]

    def test_pending_writes_belong_to_their_checkpoint(self, face: Face, saver: Any) -> None:
        """Writes come back in order, once, with the checkpoint they were made on and no other."""
        one = self.store(face, saver, config_of("t"), {"n": 1})
        for _ in range(2):
            face(saver, "put_writes", one, [("a", 1), ("b", {"k": (2,)})], "task-1")
        face(saver, "put_writes", one, [("a", None)], "task-2")
        expected = [("task-1", "a", 1), ("task-1", "b", {"k": (2,)}), ("task-2", "a", None)]
        assert sorted(face(saver, "get_tuple", one).pending_writes, key=lambda write: write[:2]) == expected
        two = self.store(face, saver, one, {"n": 2}, 1)
        assert not face(saver, "get_tuple", two).pending_writes
        assert len(face(saver, "get_tuple", one).pending_writes) == 3

    def test_thread_ids_may_be_any_text(self, face: Face, saver: Any) -> None:
        """No id is mistaken for another, whatever characters it has."""
        kept = {name: self.store(face, saver, config_of(name), {"me": name}) for name in ODD_IDS}
        for name, config in kept.items():
            found = face(saver, "get_tuple", config_of(name))
            assert found.config == config
            assert found.checkpoint["channel_values"] == {"me": name}

    def test_values_keep_their_types(self, face: Face, saver: Any) -> None:
        """What comes back is equal in value and type, and a copy."""
        values = {
            "t": (1, {2}),
            "i": {1: "a"},
            "big": 2**70,
            "b": b"\x00\xff",
            "s": "a\x00b 猫",
            "none": None,
            "f": 1e308,
        }
        config = self.store(face, saver, config_of("t"), values)
        for _ in range(2):
            found = face(saver, "get_tuple", config).checkpoint["channel_values"]
            assert found == values
            assert [type(one) for one in found.values()] == [type(one) for one in values.values()]
            found["i"].clear()

    def test_deleting_a_thread_leaves_the_others(self, face: Face, saver: Any) -> None:
        """A deleted thread is gone with its children and writes; its neighbours stay."""
        gone = self.store(face, saver, config_of("gone"), {"n": 1})
        face(saver, "put_writes", gone, [("a", 1)], "task")
        self.store(face, saver, config_of("gone", "child"), {"n": 1})
        kept = self.store(face, saver, config_of("gone2"), {"n": 2})
        face(saver, "delete_thread", "gone")
        assert face(saver, "get_tuple", config_of("gone")) is None
        assert face(saver, "get_tuple", config_of("gone", "child")) is None
        assert face(saver, "get_tuple", config_of("gone2")).config == kept

    def test_writers_at_the_same_time(self, face: Face, saver: Any) -> None:
        """Nothing is lost when many threads are written at once."""
        calls: list[Any] = [
            (saver, "put", (config_of(f"t{n}"), {**empty_checkpoint(), "channel_values": {"n": n}},
                            {"source": "loop", "step": 0}, {}))
            for n in range(40)
        ]  # fmt: skip
        configs = face.together(calls)
        assert not [one for one in configs if isinstance(one, BaseException)]
        for n in range(40):
            assert face(saver, "get_tuple", config_of(f"t{n}")).checkpoint["channel_values"] == {"n": n}


class JournalConformance(SaverConformance):
    """The journal below clew's own savers: leases, fences, records, chains, notes, groups, damage."""

    def damage(self, saver: Any) -> None:
        """Overwrite every stored body with other bytes. Suites of backends that can be reached from outside give it."""
        pytest.skip("this suite does not say how to damage what the backend stores")

    @pytest.fixture
    def owner(self) -> Iterator[str]:
        """Give an owner of this process that lives."""
        owner = J.new_owner()
        J.live.add(owner)
        yield owner
        J.live.discard(owner)

    @staticmethod
    def began(face: Face, saver: Any, owner: str, thread: str = "t") -> Any:
        """Acquire a thread and give it a first checkpoint."""
        place = face(saver.journal, "acquire", thread, "", owner, 30.0)
        face(saver.journal, "commit", place, J.Batch(checkpoint=J.Row("c1", None, b"body")))
        return place

    def test_case_085_tokens_grow_and_the_old_one_is_fenced(self, face: Face, saver: Any, owner: str) -> None:
        """Whoever lost the lease can't write any more; nothing of the refused commit is kept."""
        first = self.began(face, saver, owner)
        second = face(saver.journal, "acquire", "t", "", owner, 30.0, steal=True)
        assert second.token > first.token > 0
        with pytest.raises(J.Fenced):
            face(saver.journal, "commit", first, J.Batch(records=[("c1", 0, b"late")], notes=[("k", b"late")]))
        with pytest.raises(J.Fenced):
            face(saver.journal, "commit", first, J.Batch(records=[("c1", 0, b"late")]))
        assert face(saver.journal, "load", "t", "").records == []
        assert face(saver.journal, "notes", "t", "", "") == {}
        assert not face(saver.journal, "renew", first, 30.0)
        assert face(saver.journal, "renew", second, 30.0)
        face(saver.journal, "commit", second, J.Batch(records=[("c1", 0, b"mine")]))
        assert face(saver.journal, "load", "t", "").records == [b"mine"]

    def test_a_held_lease_is_busy_until_it_is_given_back(self, face: Face, saver: Any, owner: str) -> None:
        """A living owner keeps its thread; release gives it back at once."""
        place = self.began(face, saver, owner)
        with pytest.raises(J.Busy) as busy:
            face(saver.journal, "acquire", "t", "", "another", 30.0)
        assert busy.value.place.owner == owner
        face(saver.journal, "commit", place, J.Batch(state=(J.IDLE, "flow", b"info"), release=True))
        taken = face(saver.journal, "acquire", "t", "", "another", 30.0)
        assert (taken.state, taken.name, taken.info) == (J.IDLE, "flow", b"info")
        assert taken.head is not None
        assert taken.head.id == "c1"

    def test_a_lease_that_ran_out_is_free(self, face: Face, saver: Any, owner: str) -> None:
        """After its seconds the lease may be taken by anybody."""
        face(saver.journal, "acquire", "t", "", owner, 0.2)
        time.sleep(0.4)
        assert face(saver.journal, "acquire", "t", "", "another", 30.0).token == 2

    def test_a_dead_owner_is_superseded_at_once(self, face: Face, saver: Any) -> None:
        """An owner of this machine that is provably gone holds nobody up."""
        dead = J.new_owner()  # of this process, and not among the living
        face(saver.journal, "acquire", "t", "", dead, 1000.0)
        assert face(saver.journal, "acquire", "t", "", J.new_owner(), 30.0).token == 2

    def test_records_are_kept_in_order(self, face: Face, saver: Any, owner: str) -> None:
        """Records come back in the order they were written; numbers may have gaps; -1 comes after the last."""
        place = self.began(face, saver, owner)

        def commit(*records: tuple[str, int, bytes]) -> None:
            face(saver.journal, "commit", place, J.Batch(records=records))

        commit(("c1", 0, b"zero"))
        commit(("c1", 1, b"one"), ("c1", 1 << 30, b"two"))
        commit(("c1", -1, b"three"), ("c1", -1, b"four"))
        far = 5000 << 24  # the runtime counts from the token of its lease: numbers are large, with gaps between
        commit(("c1", far, b"five"), ("c1", far + 2, b"six"))
        commit(("c1", -1, b"seven"))
        expected = [b"zero", b"one", b"two", b"three", b"four", b"five", b"six", b"seven"]
        assert face(saver.journal, "load", "t", "").records == expected
        assert face(saver.journal, "records", "t", "", "c1") == expected
        assert face(saver.journal, "records", "t", "", "other") == []

    def test_one_batch_is_all_or_nothing_and_read_back(self, face: Face, saver: Any, owner: str) -> None:
        """Checkpoint, records, values, notes and state of one commit are there together."""
        place = self.began(face, saver, owner)
        values = [(7, 0, b"snap"), (7, 1, b"delta"), (8, 0, b"other")]
        notes = [("run/1", b"x"), ("run/2", b"y"), ("sleep", b"z")]
        face(saver.journal, "commit", place, J.Batch(
            checkpoint=J.Row("c2", "c1", b"body 2"), records=[("c2", 0, b"r")], values=values, notes=notes,
            state=(J.WAITING, "flow", b"info"),
        ))  # fmt: skip
        found = face(saver.journal, "load", "t", "")
        assert found.head == J.Row("c2", "c1", b"body 2")
        assert (found.latest, found.records, found.state, found.name) == ("c2", [b"r"], J.WAITING, "flow")
        assert face(saver.journal, "chain", found, 7, 1) == [b"snap", b"delta"]
        assert face(saver.journal, "chain", place, 7, 0) == [b"snap"]
        assert face(saver.journal, "notes", "t", "", "run/") == {"run/1": b"x", "run/2": b"y"}
        old = face(saver.journal, "load", "t", "", "c1")
        assert (old.head.id, old.records, old.latest) == ("c1", [], "c2")
        more = J.Batch(values=[(7, 1, b"new"), (8, -1, b"")], notes=[("run/1", None)], drops=["c1"])
        face(saver.journal, "commit", place, more)
        assert face(saver.journal, "chain", place, 7, 1) == [b"snap", b"new"]
        assert face(saver.journal, "notes", "t", "", "run/") == {"run/2": b"y"}
        assert [row.id for _, _, row in face(saver.journal, "checkpoints", "t", "")] == ["c2"]
        assert face(saver.journal, "load", "t", "", "c1").head is None

    def test_a_dropped_checkpoint_may_be_rewritten_in_the_same_batch(self, face: Face, saver: Any, owner: str) -> None:
        """Pruning rewrites what it keeps: drop and append of one id in one commit."""
        place = self.began(face, saver, owner)
        face(saver.journal, "commit", place, J.Batch(records=[("c1", 0, b"old")]))
        batch = J.Batch(drops=["c1"], checkpoint=J.Row("c1", None, b"new"), records=[("c1", 0, b"new")])
        face(saver.journal, "commit", place, batch)
        found = face(saver.journal, "load", "t", "")
        assert (found.head.body, found.records) == (b"new", [b"new"])
        face(saver.journal, "commit", place, J.Batch(drops=["c1"], head=""))
        assert face(saver.journal, "load", "t", "").latest is None

    def test_places_by_state_and_name(self, face: Face, saver: Any, owner: str) -> None:
        """Waiting threads are listed in one go, the last changed first."""
        for n in range(5):
            place = self.began(face, saver, owner, f"t{n}")
            state = J.WAITING if n % 2 else J.IDLE
            face(saver.journal, "commit", place, J.Batch(state=(state, f"flow{n % 3}", b"i"), release=True))
            time.sleep(0.002)
        waiting = face(saver.journal, "places", state=J.WAITING)
        assert [place.thread_id for place in waiting] == ["t3", "t1"]
        assert [(place.info, place.latest, place.owner) for place in waiting] == [(b"i", "c1", "")] * 2
        assert [place.thread_id for place in face(saver.journal, "places", limit=2)] == ["t4", "t3"]
        assert [place.thread_id for place in face(saver.journal, "places", name="flow0")] == ["t3", "t0"]

    def test_deleting_fences_and_copying_copies(self, face: Face, saver: Any, owner: str) -> None:
        """A run on a deleted thread can't bring it back; a copy is whole and has no lease."""
        place = self.began(face, saver, owner)
        batch = J.Batch(records=[("c1", 0, b"r")], values=[(1, 0, b"v")], notes=[("k", b"n")])
        face(saver.journal, "commit", place, batch)
        face(saver.journal, "copy", "t", "u")
        face(saver.journal, "delete", "t")
        with pytest.raises(J.Fenced):
            face(saver.journal, "commit", place, J.Batch(records=[("c1", 1, b"late")]))
        assert face(saver.journal, "load", "t", "") is None
        copied = face(saver.journal, "load", "u", "")
        assert (copied.head.body, copied.records, copied.owner) == (b"body", [b"r"], "")
        assert face(saver.journal, "chain", copied, 1, 0) == [b"v"]
        assert face(saver.journal, "notes", "u", "", "") == {"k": b"n"}
        assert face(saver.journal, "acquire", "u", "", owner, 30.0).token > 0

    def test_commits_that_meet_are_all_kept(self, face: Face, saver: Any, owner: str) -> None:
        """Two hundred commits at once, of several threads and kinds: each is there, the fenced one is not."""
        places = [self.began(face, saver, owner, f"t{n}") for n in range(4)]
        lost = places[3]
        face(saver.journal, "acquire", "t3", "", owner, 30.0, steal=True)
        calls = [
            (saver.journal, "commit", (places[n % 4], J.Batch(
                records=[("c1", n // 4, b"%d" % n)], notes=[(f"n{n}", b"x")] if n % 5 == 0 else [],
            )))
            for n in range(200)
        ]  # fmt: skip
        outcomes = face.together(calls)
        assert [type(one) for one in outcomes[3::4]] == [J.Fenced] * 50
        assert not [one for n, one in enumerate(outcomes) if n % 4 != 3 and one is not None]
        for n in range(3):
            assert face(saver.journal, "load", f"t{n}", "").records == [b"%d" % (4 * k + n) for k in range(50)]
        assert face(saver.journal, "load", lost.thread_id, "").records == []

    def test_one_lease_for_many_that_ask(self, face: Face, saver: Any) -> None:
        """Of twenty who want the thread at once, one gets it."""
        owners = [J.new_owner() for _ in range(20)]
        J.live.update(owners)
        try:
            calls = [(saver.journal, "acquire", ("t", "", owner, 30.0)) for owner in owners]
            outcomes = face.together(calls)
        finally:
            J.live.difference_update(owners)
        assert sum(isinstance(one, J.Place) for one in outcomes) == 1
        assert sum(isinstance(one, J.Busy) for one in outcomes) == 19

    def test_damaged_bytes_are_a_named_error(self, face: Face, saver: Any) -> None:
        """What is not what clew wrote is refused by an error of clew's tree; other threads are still readable."""
        self.store(face, saver, config_of("t"), {"n": 1})
        self.damage(saver)
        with pytest.raises(ClewError):
            face(saver, "get_tuple", config_of("t"))
        config = self.store(face, saver, config_of("after"), {"n": 2})
        assert face(saver, "get_tuple", config).checkpoint["channel_values"] == {"n": 2}

    def test_a_thread_may_be_read_while_it_is_written(self, face: Face, saver: Any, owner: str) -> None:
        """Readers see a whole commit or none of it."""
        place = self.began(face, saver, owner)
        batches = [
            J.Batch(checkpoint=J.Row(f"c{n}", None, b"b"), records=[(f"c{n}", 0, b"c%d" % n)]) for n in range(2, 40)
        ]
        torn = list[Any]()

        def look(found: Any) -> None:
            if found.head.id != "c1" and found.records != [found.head.id.encode()]:
                torn.append((found.head, found.records))

        if face.name == "blocking":
            _read_while_writing(saver.journal, place, batches, look)
        else:
            face.run(_aread_while_writing(saver.journal, place, batches, look))
        assert torn == []
        assert face(saver.journal, "load", "t", "").head.id == "c39"


def _read_while_writing(journal: Any, place: Any, batches: list[J.Batch], look: Callable[[Any], None]) -> None:
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            look(journal.load("t", ""))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for batch in batches:
            journal.commit(place, batch)
    finally:
        done.set()
        reader.join()


async def _aread_while_writing(journal: Any, place: Any, batches: list[J.Batch], look: Callable[[Any], None]) -> None:
    async def write() -> None:
        for batch in batches:
            await journal.acommit(place, batch)

    writer = asyncio.ensure_future(write())
    while not writer.done():
        look(await journal.aload("t", ""))
        await asyncio.sleep(0)
    await writer
