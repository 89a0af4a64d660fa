"""What every store must do, as tests to inherit.

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def make(self):
            yield lambda **options: MyStore(..., **options)

`make(index=…, ttl=…)` gives an empty store each time it is called in a test. Each test runs on every face in `faces`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from clew.errors import StorageConflictError
from clew.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp
from clew.testing._faces import Face

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["StoreConformance"]


def embed(texts: list[str]) -> list[list[float]]:
    """Return how often each text says tea, cake and anything."""
    return [[float(text.count("tea")), float(text.count("cake")), 0.1] for text in texts]


class _Store:
    """The faces and the store of each test."""

    faces: ClassVar[tuple[str, ...]] = ("blocking", "awaited")

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

    @pytest.fixture
    def make(self) -> Any:
        """Give a function that makes an empty store."""
        raise NotImplementedError("a conformance test needs a fixture `make`")

    @pytest.fixture
    def store(self, make: Any) -> Any:
        """Give a store without options."""
        return make()


class _Values(_Store):
    """What is put is kept: whole, exact, apart."""

    def test_put_get_replace_delete(self, face: Face, store: Any) -> None:
        """A value is there, whole, until it is replaced or deleted."""
        assert face(store, "get", ("users", "ada"), "name") is None
        face(store, "put", ("users", "ada"), "name", {"first": "Ada", "标签": ["猫"], "t": (1, {2}), 3: None})
        item = face(store, "get", ("users", "ada"), "name")
        assert (item.namespace, item.key) == (("users", "ada"), "name")
        assert item.value == {"first": "Ada", "标签": ["猫"], "t": (1, {2}), 3: None}
        face(store, "put", ("users", "ada"), "name", {"last": "L"})
        again = face(store, "get", ("users", "ada"), "name")
        assert again.value == {"last": "L"}
        assert again.created_at == item.created_at
        assert again.updated_at >= item.updated_at
        assert again.version > item.version
        for _ in range(2):
            face(store, "delete", ("users", "ada"), "name")
        assert face(store, "get", ("users", "ada"), "name") is None
        assert face(store, "list_namespaces") == []

    def test_case_128_copies_go_in_and_out(self, face: Face, store: Any) -> None:
        """Nobody's later change reaches what is stored."""
        value: dict[str, list[Any]] = {"list": [1]}
        face(store, "put", ("n",), "k", value)
        value["list"].append("after put")
        face(store, "get", ("n",), "k").value["list"].append("through get")
        face(store, "search", ("n",))[0].value["list"].append("through search")
        assert face(store, "get", ("n",), "k").value == {"list": [1]}

    def test_case_134_namespaces_match_whole_labels(self, face: Face, store: Any) -> None:
        """No namespace reads another that merely begins alike; no character is a wildcard."""
        labels = [
            "a",
            "ab",
            "a%",
            "%",
            "_",
            "a_",
            "*",
            "a*",
            "A",
            "a/",
            "a-",
            "é",
            "a\x00",
            "a\x01",
            "a b",
            "[a]",
        ]
        for label in labels:
            face(store, "put", ("t", label), "k", {"who": label})
        face(store, "put", ("t", "a", "\x00deep"), "k.e.y\x00", {"who": "below"})
        for label in labels:
            found = [item.value["who"] for item in face(store, "search", ("t", label), limit=None)]
            assert sorted(found) == sorted(["a", "below"] if label == "a" else [label])
        assert face(store, "search", ("x",)) == []
        assert len(face(store, "search", (), limit=None)) == len(labels) + 1
        assert face(store, "get", ("t", "a", "\x00deep"), "k.e.y\x00").namespace == ("t", "a", "\x00deep")

    def test_case_077_any_text_is_kept(self, face: Face, store: Any) -> None:
        """NUL and half surrogate pairs come back as they were, in namespaces, keys and values."""
        for text in ("a\x00b", "\ud800", "猫\x00\udfff", "'; DROP TABLE x; --", "\x01\x02\x00"):
            face(store, "put", (text,), text, {text: text})
            item = face(store, "get", (text,), text)
            assert (item.namespace, item.key, item.value) == ((text,), text, {text: text})
            assert [one.value for one in face(store, "search", (text,))] == [{text: text}]

    @pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), (1,)], ids=repr)
    def test_bad_namespaces_are_refused(self, face: Face, store: Any, namespace: Any) -> None:
        """A namespace that could be mistaken for another is no namespace."""
        with pytest.raises(ValueError, match=r"namespace|label"):
            face(store, "put", namespace, "k", {"v": 1})

    def test_values_that_cannot_be_loaded_again_are_refused(self, face: Face, store: Any) -> None:
        """The path of what can't be kept is in the error, and nothing of the batch is."""
        with pytest.raises(TypeError, match=r"\$\.deep\[1\]"):
            face(
                store,
                "batch",
                [PutOp(("n",), "good", {"v": 1}), PutOp(("n",), "k", {"deep": [1, lambda: 1]})],
            )
        with pytest.raises(TypeError):
            face(store, "put", ("n",), "k", ["no mapping"])
        assert face(store, "search", ("n",)) == []


class _Finding(_Store):
    """What is kept is found: filters, pages, namespaces, meaning, words."""

    def test_filters(self, face: Face, store: Any) -> None:
        """Operators and their and, or, not; a key that is missing matches nothing."""
        for n in range(6):
            face(
                store,
                "put",
                ("d",),
                f"k{n}",
                {"n": n, "kind": "even" if n % 2 == 0 else "odd", "in": {"side": n % 3}},
            )
        face(store, "put", ("d",), "none", {"n": None, "flag": True, "one": 1, "tags": ["x", "y"]})

        def found(filter: Any) -> list[Any]:
            return sorted(item.key for item in face(store, "search", ("d",), filter=filter, limit=None))

        assert found({"kind": "odd"}) == ["k1", "k3", "k5"]
        assert found({"n": {"$gte": 4}}) == ["k4", "k5"]
        assert found({"n": {"$gt": 1, "$lt": 4}}) == ["k2", "k3"]
        assert found({"n": {"$ne": 0}, "kind": {"$eq": "even"}}) == ["k2", "k4"]
        assert found({"n": {"$lte": 1}}) == ["k0", "k1"]
        assert found({"n": {"$in": [1, 5, "1"]}}) == ["k1", "k5"]
        assert found({"n": {"$nin": [0, 1, 2, None]}}) == ["k3", "k4", "k5"]
        assert found({"$or": [{"n": 0}, {"n": 5}]}) == ["k0", "k5"]
        assert found({"$and": [{"kind": "odd"}, {"$not": {"n": 3}}]}) == ["k1", "k5"]
        assert found({"in.side": 2}) == found({"in": {"side": 2}}) == ["k2", "k5"]
        assert found({"n": None}) == ["none"]
        assert found({"missing": None}) == found({"missing": {"$ne": 1}}) == found({"kind": {"$lt": 5}}) == []
        assert found({"flag": {"$exists": True}}) == found({"kind": {"$exists": False}}) == ["none"]
        assert found({"flag": 1}) == found({"one": True}) == []
        assert found({"tags": {"$contains": "y"}}) == found({"tags": ["x", "y"]}) == ["none"]

    @pytest.mark.parametrize("filter", [{"n": {"$near": 1}}, {"$xor": []}, {"n": {"$in": 3}}, {"$or": {}}], ids=str)
    def test_unknown_operators_are_errors(self, face: Face, store: Any, filter: Any) -> None:
        """A misspelt operator is an error and not an empty answer."""
        face(store, "put", ("d",), "k", {"n": 1})
        with pytest.raises(ValueError, match=r"\$"):
            face(store, "search", ("d",), filter=filter)

    def test_case_133_filter_keys_are_data(self, face: Face, store: Any) -> None:
        """A key with quotes in it chooses nothing."""
        face(store, "put", ("d",), "k", {"n": 1})
        assert face(store, "search", ("d",), filter={"x') OR '1'='1": "d"}) == []
        assert face(store, "search", ("d",), filter={"n": "1' OR '1'='1"}) == []

    def test_case_128_pages_say_that_there_is_more(self, face: Face, store: Any) -> None:
        """The default limit is never silent, and pages join up without gaps."""
        for n in range(25):
            face(store, "put", ("n",), f"k{n:02}", {"n": n})
        page, seen = face(store, "search", ("n",)), list[Any]()
        assert len(page) == 10
        assert page.has_more
        assert page[0].key == "k24"  # the latest change first
        while True:
            seen += [item.key for item in page]
            if page.next_offset is None:
                break
            page = face(store, "search", ("n",), offset=page.next_offset)
        assert seen == [f"k{n:02}" for n in reversed(range(25))]
        assert len(face(store, "search", ("n",), limit=None)) == 25
        assert face(store, "search", ("n",), limit=25).next_offset is None

    def test_list_namespaces(self, face: Face, store: Any) -> None:
        """Sorted, by prefix, suffix, wildcard and depth, in pages."""
        for namespace in (("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")):
            face(store, "put", namespace, "k", {"v": 1})

        def listed(**options: Any) -> Any:
            return face(store, "list_namespaces", **options)

        assert listed() == [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]
        assert listed(prefix=("a", "b")) == [("a", "b", "c"), ("a", "b", "d")]
        assert listed(suffix=("c",)) == [("a", "b", "c"), ("z", "c")]
        assert listed(prefix=("a", "*", "d")) == [("a", "b", "d")]
        assert listed(max_depth=2) == [("a", "b"), ("a", "x"), ("z", "c")]
        assert listed(limit=1, offset=1) == [("a", "b", "d")]

    def test_batches_answer_in_order(self, face: Face, store: Any) -> None:
        """Operations of a batch see those before them."""
        face(store, "put", ("n",), "old", {"v": 1})
        ops = [
            GetOp(("n",), "old"), PutOp(("n",), "new", {"v": 2}), SearchOp(("n",)), ListNamespacesOp(),
            GetOp(("n",), "none"), PutOp(("n",), "old", None), GetOp(("n",), "old"), GetOp(("n",), "new"),
        ]  # fmt: skip
        answers = face(store, "batch", ops)
        assert answers[0].value == {"v": 1}
        assert answers[1] is None
        assert {item.key for item in answers[2]} == {"old", "new"}
        assert answers[3] == [("n",)]
        assert answers[4:7] == [None, None, None]
        assert answers[7].value == {"v": 2}

    def test_search_by_meaning(self, face: Face, make: Any) -> None:
        """The nearest come first with their cosine; items without vectors are not found; filters still hold."""
        store = make(index={"dims": 3, "embed": embed, "fields": ["text"]})
        face(store, "put", ("m",), "1", {"text": "tea tea tea"})
        face(store, "put", ("m",), "2", {"text": "cake"})
        face(store, "put", ("m",), "3", {"text": "tea"}, index=False)
        face(store, "put", ("mm",), "4", {"text": "tea"})
        found = face(store, "search", ("m",), query="tea")
        assert [item.key for item in found] == ["1", "2"]
        assert found[0].score > 0.99
        assert found[1].score < 0.5
        assert [item.key for item in face(store, "search", ("m",), query="tea", filter={"text": "cake"})] == ["2"]
        page = face(store, "search", ("m",), query="cake", limit=1)
        assert [item.key for item in page] == ["2"]
        assert page.next_offset == 1

    def test_case_128_a_new_value_has_new_vectors(self, face: Face, make: Any) -> None:
        """Each text of a path has a vector of its own, and none outlives its value."""
        store = make(index={"dims": 3, "embed": embed, "fields": ["parts[*]"]})
        face(store, "put", ("n",), "k", {"parts": ["tea", "cake"]})
        face(store, "put", ("n",), "k", {"parts": ["cake"]})
        face(store, "put", ("n",), "other", {"parts": ["tea"]})
        found = face(store, "search", ("n",), query="tea")
        assert [item.key for item in found] == ["other", "k"]
        assert found[1].score < 0.5
        face(store, "delete", ("n",), "other")
        assert [item.key for item in face(store, "search", ("n",), query="tea")] == ["k"]

    def test_search_by_words_without_an_index(self, face: Face, store: Any) -> None:
        """The text itself is searched when nothing is embedded."""
        face(store, "put", ("m",), "1", {"text": "Green tea from Uji", "n": 1})
        face(store, "put", ("m",), "2", {"text": "A cake"})
        face(store, "put", ("m",), "3", {"text": "Tea and cake, tea and more tea", "deep": {"er": ["抹茶"]}})
        assert [item.key for item in face(store, "search", ("m",), query="tea")] == ["3", "1"]
        assert [item.key for item in face(store, "search", ("m",), query="uji")] == ["1"]
        assert [item.key for item in face(store, "search", ("m",), query="抹茶")] == ["3"]
        assert face(store, "search", ("m",), query="coffee") == []


class StoreConformance(_Values, _Finding):
    """Namespaces, copies, filters, paging, time to live, search, compare-and-set, batches."""

    def test_compare_and_set(self, face: Face, store: Any) -> None:
        """A write over another version than the expected one is refused, with all of its batch."""
        face(store, "put", ("n",), "k", {"v": 1}, expected_version=0)
        with pytest.raises(StorageConflictError):
            face(store, "put", ("n",), "k", {"v": 2}, expected_version=0)
        item = face(store, "get", ("n",), "k")
        face(store, "put", ("n",), "k", {"v": 2}, expected_version=item.version)
        stale = [
            PutOp(("n",), "other", {"v": 1}),
            PutOp(("n",), "k", {"v": 3}, expected_version=item.version),
        ]
        with pytest.raises(StorageConflictError):
            face(store, "batch", stale)
        assert face(store, "get", ("n",), "k").value == {"v": 2}
        assert face(store, "get", ("n",), "other") is None

    def test_case_083_updates_at_once_are_all_kept(self, face: Face, store: Any) -> None:
        """Eight writers that each add five times make forty."""

        def change(value: Any) -> Any:
            return {"n": (value or {"n": 0})["n"] + 1}

        outcomes = face.together([(store, "update", (("n",), "counter", change)) for _ in range(40)])
        assert not [one for one in outcomes if isinstance(one, BaseException)]
        assert face(store, "get", ("n",), "counter").value == {"n": 40}

    def test_time_to_live(self, face: Face, make: Any) -> None:
        """Items past their time are not found, whatever reads them; reading restarts it unless it is told not to."""
        store = make(ttl={"refresh_on_read": False})
        face(store, "put", ("n",), "short", {"v": 1}, ttl=0.6 / 60)
        face(store, "put", ("n",), "read", {"v": 1}, ttl=0.6 / 60)
        face(store, "put", ("n",), "long", {"v": 1}, ttl=10)
        face(store, "put", ("n",), "kept", {"v": 1})
        face(store, "put", ("alone",), "short", {"v": 1}, ttl=0.3 / 60)
        assert len(face(store, "search", ("n",))) == 4
        time.sleep(0.35)
        assert face(store, "get", ("n",), "short").value == {"v": 1}
        assert face(store, "get", ("n",), "read", refresh_ttl=True).value == {"v": 1}
        time.sleep(0.35)
        assert face(store, "get", ("n",), "short") is None
        assert sorted(item.key for item in face(store, "search", ("n",))) == ["kept", "long", "read"]
        assert face(store, "list_namespaces") == [("n",)]
        face(store, "put", ("n",), "short", {"v": 2}, expected_version=0)
        assert face(store, "get", ("n",), "short").value == {"v": 2}

    def test_sweeping_removes_what_ran_out(self, face: Face, make: Any) -> None:
        """A default time to live holds for puts that give none; sweeping says how many it removed."""
        store = make(ttl={"default_ttl": 0.1 / 60})
        face(store, "put", ("n",), "a", {"v": 1})
        face(store, "put", ("n",), "b", {"v": 1}, ttl=None)
        time.sleep(0.2)
        result = store.sweep_ttl()
        assert (face.run(result) if hasattr(result, "__await__") else result) == 1
        assert [item.key for item in face(store, "search", ("n",))] == ["b"]

    def test_writers_and_readers_at_once(self, face: Face, store: Any) -> None:
        """Nothing is lost and nothing torn when many write at once."""
        calls = [(store, "put", (("n", str(n % 5)), f"k{n}", {"a": n, "b": n})) for n in range(60)]
        reads = [(store, "search", (("n",),)) for _ in range(20)]
        outcomes = face.together(calls + reads)
        assert not [one for one in outcomes if isinstance(one, BaseException)]
        assert all(item.value["a"] == item.value["b"] for page in outcomes[60:] for item in page)
        assert len(face(store, "search", ("n",), limit=None)) == 60

    def test_a_blocking_call_that_fails_leaves_no_lock(self, face: Face, store: Any) -> None:
        """After a refused batch, another thread can write at once."""
        face(store, "put", ("n",), "k", {"v": 1})
        with pytest.raises(StorageConflictError):
            face(store, "put", ("n",), "k", {"v": 2}, expected_version=7)
        if face.name == "awaited":
            face(store, "put", ("n",), "k", {"v": 3})
        else:
            writer = threading.Thread(target=store.put, args=(("n",), "k", {"v": 3}))
            writer.start()
            writer.join(10)
            assert not writer.is_alive()
        assert face(store, "get", ("n",), "k").value == {"v": 3}
