"""The pieces of a store on their own: paths, filters, ranking, embedding."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from clew.store._filter import compile_filter
from clew.store._index import Index, ensure_embeddings
from clew.store._paths import get_text_at_path, tokenize_path
from clew.store._rank import bm25, cosines, pack_vector, words
from clew.store._rows import span, spell, unspell

VALUE = {"title": "Tea", "meta": {"tags": ["a", "b", 3]}, "parts": [{"text": "x"}, {"text": "y"}, {}], "none": None}


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("title", ["Tea"]), ("meta.tags[0]", ["a"]), ("meta.tags[-1]", ["3"]), ("meta.tags[*]", ["a", "b", "3"]),
        ("parts[*].text", ["x", "y"]), ("{title,none}", ["Tea"]), ("missing", []), ("title.deeper", []), ("none", []),
        ("meta.tags[9]", []), ("meta.*", ["[\"a\", \"b\", 3]"]), ("parts[0]", ['{"text": "x"}']),
    ],
)  # fmt: skip
def test_texts_at_paths(path: str, texts: list[str]) -> None:
    assert get_text_at_path(VALUE, path) == texts


def test_the_whole_value_is_one_text() -> None:
    (text,) = get_text_at_path(VALUE, "$")
    assert "Tea" in text
    assert tokenize_path("") == tokenize_path("$") == []
    with pytest.raises(ValueError, match="does not close"):
        tokenize_path("a[0")


def test_filters_look_at_exact_names_first() -> None:
    dotted = compile_filter({"a.b": 1})
    assert dotted is not None
    assert dotted({"a.b": 1})
    assert dotted({"a": {"b": 1}})
    assert not dotted({"a.b": 2, "a": {"b": 1}})
    assert compile_filter({}) is None
    empty = compile_filter({"n": {"$in": []}})
    assert empty is not None
    assert not empty({"n": 1})


def test_vectors_have_length_one() -> None:
    query = pack_vector([3.0, 4.0])
    few = [pack_vector([3.0, 4.0]), pack_vector([-3.0, -4.0]), pack_vector([4.0, -3.0]), pack_vector([0.0, 0.0])]
    for vectors in (few, few * 40):  # by hand, and with numpy where it is installed
        assert [round(score, 5) for score in cosines(query, vectors)] == [1, -1, 0, 0] * (len(vectors) // 4)


def test_words_of_any_script() -> None:
    assert words("Straße, IT'S 3 抹茶!") == ["strasse", "it", "s", "3", "抹", "茶"]
    scores = bm25("green tea", ["tea", "green tea", "coffee", ""])
    assert scores[1] > scores[0] > scores[2] == scores[3] == 0
    assert not any(math.isnan(one) for one in bm25("x", []))


def test_namespaces_are_ranges() -> None:
    for namespace in (("a",), ("a", "b"), ("a\x00", "é"), ("\ud800",)):
        assert unspell(spell(namespace)) == namespace
    first, end = span(("a",))
    assert first <= spell(("a",)) < end
    assert first <= spell(("a", "\U0010ffff")) < end
    assert not first <= spell(("ab",)) < end
    assert not first <= spell(("a/",)) < end


def test_embedders_of_every_kind() -> None:
    class Documents:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] for _ in texts]

    async def awaited(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def plain(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    expected = [pack_vector([1.0, 0.0])] * 2
    for embed in (Documents(), plain):
        assert Index({"embed": embed}).embed(["a", "b"]) == expected
        assert asyncio.run(Index({"embed": embed}).aembed(["a", "b"])) == expected
    assert asyncio.run(Index({"embed": awaited}).aembed(["a", "b"])) == expected
    with pytest.raises(TypeError, match="async"):
        Index({"embed": awaited}).embed(["a"])
    assert ensure_embeddings(plain).embed_query("a") == [1.0, 0.0]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "embed="),
        ({"dims": 3, "embed": lambda texts: [[1.0]]}, "dimensions"),
        ({"embed": lambda texts: []}, "0 vectors"),
    ],
)
def test_embedders_that_give_something_else(config: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Index(config).embed(["a"])
