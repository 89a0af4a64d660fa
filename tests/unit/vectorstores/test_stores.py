"""The vector stores: the same answers, filters and words from all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from talk import at_once, tool_turn

np = pytest.importorskip("numpy", reason="needs: pip install numpy")

from clew.documents import Document
from clew.embeddings import DeterministicFakeEmbedding, Embeddings
from clew.errors import SerializationError
from clew.messages import AIMessage, HumanMessage
from clew.vectorstores import (
    HybridRetriever,
    InMemoryVectorStore,
    PGVectorStore,
    SQLiteVectorStore,
)
from clew.vectorstores._filters import matches, parse
from clew.vectorstores._matrix import VectorMatrix, diverse
from clew.vectorstores._segment import segment


class Words(Embeddings):
    """One dimension a word, so nearness can be worked out by eye."""

    words = ("cat", "dog", "piano", "violin", "oslo", "北京")

    def embed_query(self, text: str) -> list[float]:
        return [float(text.lower().count(word)) for word in self.words] + [0.01]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.fixture(params=["memory", "sqlite", "pgvector"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemoryVectorStore(Words())
    elif request.param == "sqlite":
        yield SQLiteVectorStore(str(tmp_path / "v.db"), Words())
    else:
        made = PGVectorStore(request.getfixturevalue("pg_url"), Words())
        yield made
        made.close()


TEXTS = ["a cat in Oslo", "a dog and a cat", "the piano", "我喜欢北京的春天", "nul \x00 and it's \\ 'quoted'"]
METADATA: list[dict[str, Any]] = [
    {"lang": "en", "year": 2020, "place": {"city": "Oslo"}},
    {"lang": "en", "year": 2021.5, "ok": True},
    {"lang": "fr", "year": 2019, "note": None},
    {"lang": "zh", "tags": ["a", "b"]},
    {},
]


def filled(store: Any) -> Any:
    store.add_texts(TEXTS, METADATA, ids=list("01234"))
    return store


def ids(documents: Any) -> str:
    return "".join(document.id for document in documents)


def test_nearest_first_with_scores(store: Any, call: Any) -> None:
    filled(store)
    found = call(store, "similarity_search_with_score", "cat", 2)
    assert ids(document for document, _ in found) == "01"
    assert found[0][1] == pytest.approx(1 / 2**0.5, abs=1e-3)
    assert call(store, "similarity_search_with_relevance_scores", "cat", 5, score_threshold=0.6) == found
    assert [d.page_content for d in store.get_by_ids(["4", "nobody", "3"])] == [TEXTS[4], TEXTS[3]]
    assert store.get_by_ids(["0"])[0].metadata == METADATA[0]


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ({"lang": "en"}, "01"),
        ({"year": {"$gte": 2020, "$lt": 2021}}, "0"),
        ({"$or": [{"lang": "zh"}, {"year": {"$lte": 2019}}]}, "23"),
        ({"lang": {"$in": ["zh", "fr"]}}, "23"),
        ({"lang": {"$nin": ["zh", "fr"]}}, "014"),
        ({"lang": {"$ne": "en"}}, "234"),
        ({"$not": {"lang": "en"}}, "234"),
        ({"year": {"$exists": False}}, "34"),
        ({"note": None}, "2"),
        ({"ok": True}, "1"),
        ({"ok": 1}, ""),
        ({"place.city": "Oslo"}, "0"),
        ({"tags": ["a", "b"]}, "3"),
        ({"lang": {"$gt": "en"}}, "23"),
        ({"year": {"$gt": "2000"}}, ""),
        ({"lang' OR '1'='1": "x"}, ""),
        ({"lang": "x' OR '1'='1"}, ""),
        ({}, "01234"),
    ],
)
def test_filters_mean_the_same_everywhere(store: Any, condition: Any, wanted: str) -> None:
    filled(store)
    assert "".join(sorted(ids(store.similarity_search("x", 10, filter=condition)))) == wanted
    assert sorted(d.id for d in store.max_marginal_relevance_search("x", 10, filter=condition)) == sorted(wanted)


@pytest.mark.parametrize("condition", [{"$where": "1"}, {"a": {"$regex": "x"}}, {"$or": {}}, {"a": {"$in": 3}}])
def test_a_filter_that_is_not_understood_is_refused(store: Any, condition: Any) -> None:
    with pytest.raises(ValueError, match=r"\$"):
        filled(store).similarity_search("x", 3, filter=condition)


def test_words_are_found_in_any_script(store: Any) -> None:
    filled(store)
    assert ids(d for d, _ in store.keyword_search_with_score("CAT oslo", 3)) == "01"
    assert ids(d for d, _ in store.keyword_search_with_score("北京", 3)) == "3"
    assert ids(d for d, _ in store.keyword_search_with_score("春", 3)) == "3"
    assert store.keyword_search_with_score("'; DROP TABLE documents; --", 3) == []
    assert store.keyword_search_with_score("!?", 3) == []
    assert ids(d for d, _ in store.keyword_search_with_score("quoted OR cat", 5, filter={"lang": "en"})) in ("01", "10")


def test_case_083_the_same_id_twice_is_one_document(store: Any) -> None:
    at_once(4, lambda n: store.add_texts([f"cat {n}"], [{"n": n}], ids=["same"]))
    store.add_texts(["first cat", "last cat"], ids=["same", "same"])
    (found,) = store.similarity_search("cat", 10)
    assert (found.page_content, found.metadata) == ("last cat", {})
    assert len(store.keyword_search_with_score("cat", 10)) == 1


def test_deleted_is_gone_for_every_kind_of_search(store: Any) -> None:
    filled(store)
    assert len(store.similarity_search("cat", 10)) == 5
    store.delete(["0", "nobody"])
    assert store.delete_where({"lang": "zh"}) == 1
    assert sorted(ids(store.similarity_search("cat", 10))) == ["1", "2", "4"]
    assert ids(d for d, _ in store.keyword_search_with_score("cat 北京", 10)) == "1"
    store.add_texts(["a new cat"], ids=["5"])
    assert ids(store.similarity_search("cat", 1)) == "5"


def test_variety(store: Any, call: Any) -> None:
    store.add_texts(["cat", "cat cat", "cat dog"], ids=list("abc"))
    assert ids(store.similarity_search("cat", 2)) == "ab"
    assert ids(call(store, "max_marginal_relevance_search", "cat", 2, 3, 0.3)) == "ac"


def test_what_is_handed_out_is_a_copy() -> None:
    store, given = InMemoryVectorStore(Words()), Document(page_content="cat", metadata={"deep": {"a": 1}}, id="x")
    store.add_documents([given])
    given.metadata["deep"]["a"] = 2
    store.similarity_search("cat")[0].metadata["new"] = 1
    assert store.get_by_ids(["x"])[0].metadata == {"deep": {"a": 1}}


def test_a_store_on_disk_is_shared_by_handles_and_stays(tmp_path: Path) -> None:
    one, two = (SQLiteVectorStore(str(tmp_path / "v.db"), Words()) for _ in range(2))
    one.add_texts(["cat"], ids=["a"])
    assert ids(two.similarity_search("cat")) == "a"
    two.add_texts(["cat cat"], ids=["b"])
    one.delete(["a"])
    assert ids(one.similarity_search("cat")) == ids(two.similarity_search("cat")) == "b"
    with pytest.raises(SerializationError, match="metadata"):
        one.add_texts(["x"], [{"bad": object()}])
    with pytest.raises(ValueError, match="plain name"):
        SQLiteVectorStore(str(tmp_path / "v.db"), Words(), table="x; DROP")


def test_dump_and_load(tmp_path: Path) -> None:
    filled(store := InMemoryVectorStore(Words())).dump(str(tmp_path / "v.json"))
    again = InMemoryVectorStore.load(str(tmp_path / "v.json"), Words())
    assert again.similarity_search_with_score("cat", 5) == store.similarity_search_with_score("cat", 5)


def test_words_lead_and_newer_wins_between_equals() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    now = time.time()
    store.add_texts(
        ["the budget is 300 euro", "the budget is 900 euro", "nothing of the kind"],
        [{"time": now - 90 * 86_400}, {"time": now}, {"time": now}], ids=["old", "new", "other"],
    )  # fmt: skip
    found = HybridRetriever(vectorstore=store, weights={"words": 0.7, "age": 0.3}).search_with_scores("budget")
    assert [document.id for document, _ in found] == ["new", "old"]
    assert found[0][1] == pytest.approx(1.0, abs=0.01)
    assert ids(HybridRetriever(vectorstore=store, k=1).invoke("300")) == "old"
    with pytest.raises(ValueError, match="weights"):
        HybridRetriever(vectorstore=store, weights={"luck": 1})


def test_a_turn_is_indexed_with_its_date_and_what_it_refers_to() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    retriever = HybridRetriever(vectorstore=store)
    before = [HumanMessage(content="Shall we visit Ann in Oslo?"), AIMessage(content="Gladly.")]
    retriever.add_turn([HumanMessage(content="and on Tuesday?")], before=before, when=0.0, session_id="s")
    retriever.add_turn(tool_turn(1), session_id="s")
    assert "and on Tuesday?" in retriever.invoke("Oslo")[0].page_content
    assert "and on Tuesday?" in retriever.invoke("1970")[0].page_content
    assert retriever.invoke("weather")[0].metadata["session_id"] == "s"


def test_segments() -> None:
    assert segment("Ｈｅｌｌｏ, World's 北京大学 1.5") == ["hello", "world", "s", "北京", "京大", "大学", "1", "5"]
    assert segment("春") == ["春"]
    assert segment("北京", singles=True) == ["北", "京", "北京"]
    assert segment("!?") == []


def test_the_matrix_keeps_order_under_additions_and_deletions() -> None:
    matrix, expected = VectorMatrix("test"), dict[int, Any]()
    source = np.random.default_rng(0)
    for step in range(60):
        keys = source.integers(0, 40, 5).tolist()
        rows = source.standard_normal((5, 8)).astype(np.float32)
        matrix.add(keys, rows)
        for key, row in zip(keys, rows, strict=True):
            expected[key] = row
        gone = source.integers(0, 40, 3).tolist()
        matrix.delete(gone)
        for key in gone:
            expected.pop(key, None)
        query = source.standard_normal(8)
        wanted = sorted(
            ((key, float(row @ query / np.linalg.norm(row) / np.linalg.norm(query))) for key, row in expected.items()),
            key=lambda pair: -pair[1],
        )[:4]
        found = matrix.nearest(query, 4)
        assert [key for key, _ in found] == [key for key, _ in wanted], step
        assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-5)
    assert len(matrix) == len(expected)
    with pytest.raises(ValueError, match="dimensions"):
        matrix.nearest([1.0], 1)
    assert diverse([1.0], np.zeros((0, 1), np.float32), 3, 0.5) == []


def test_a_search_of_ten_thousand_copies_no_rows() -> None:
    """One product over the kept matrix: the memory of a search does not grow with the store's rows times dimensions."""
    import tracemalloc

    matrix = VectorMatrix("test")
    matrix.add(list(range(10_000)), np.random.default_rng(0).standard_normal((10_000, 64)))
    query = np.ones(64)
    matrix.nearest(query, 4)
    tracemalloc.start()
    matrix.nearest(query, 4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000 * 64 * 4 / 10


def test_filters_in_python_do_not_compare_what_cant_be() -> None:
    assert not matches(parse({"a": {"$lt": 3}}), {"a": "2"})
    assert not matches(parse({"a": {"$lt": 3}}), {"a": True})
    assert matches(parse({"a": {"$lt": 3.5}}), {"a": 3})
    assert not matches(parse({"a.b": 1}), {"a": 1})
