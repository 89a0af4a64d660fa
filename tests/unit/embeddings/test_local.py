"""Embeddings: the fakes, and the ones that run on this machine where their packages are."""

from __future__ import annotations

from typing import Any

import pytest

from clew.embeddings import DeterministicFakeEmbedding, FakeEmbeddings, LocalEmbeddings
from clew.errors import MissingDependencyError


def test_fakes(call: Any) -> None:
    fake = DeterministicFakeEmbedding(size=8)
    assert call(fake, "embed_query", "x") == call(fake, "embed_documents", ["x"])[0]
    assert call(fake, "embed_query", "x") != call(fake, "embed_query", "y")
    assert len(FakeEmbeddings(size=3).embed_query("half \ud83d")) == 3


@pytest.mark.parametrize(("model", "size"), [("static", 256), ("minilm", 384)])
def test_a_local_model_puts_like_beside_like(model: Any, size: int) -> None:
    embeddings = LocalEmbeddings(model)
    try:
        a, b, c, empty, odd = embeddings.embed_documents(
            ["a cat sleeps on the sofa", "the kitten naps on a couch", "quarterly tax report", "", "half \ud83d"]
        )
    except MissingDependencyError as reason:
        pytest.skip(str(reason))
    assert len(a) == len(empty) == len(odd) == size
    assert sum(x * x for x in a) == pytest.approx(1.0, abs=1e-3)
    assert sum(x * y for x, y in zip(a, b, strict=True)) > sum(x * y for x, y in zip(a, c, strict=True)) + 0.1
    assert embeddings.embed_documents([]) == []


def test_unknown_models_are_refused() -> None:
    with pytest.raises(ValueError, match="static"):
        LocalEmbeddings("huge")  # type: ignore[arg-type]
