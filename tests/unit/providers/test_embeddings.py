"""Embeddings over three wires: order, batches, errors, recorded replies."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
import recorded

from clew import errors
from clew.providers import _google_embeddings, _openai_embeddings
from clew.providers.google import GoogleGenerativeAIEmbeddings
from clew.providers.ollama import OllamaEmbeddings
from clew.providers.openai import OpenAIEmbeddings
from clew.testing._canned import Canned, Reply, Request


def number(text: str) -> list[float]:
    return [float(len(text)), 0.5]


def openai_rows(request: Request) -> Reply:
    rows = [{"index": i, "embedding": number(t)} for i, t in enumerate(request.body["input"])]
    return Reply(json.dumps({"data": rows[::-1], "model": "m"}).encode())


def google_rows(request: Request) -> Reply:
    texts = [r["content"]["parts"][0]["text"] for r in request.body["requests"]]
    return Reply(json.dumps({"embeddings": [{"values": number(t)} for t in texts]}).encode())


def ollama_rows(request: Request) -> Reply:
    return Reply(json.dumps({"embeddings": [number(t) for t in request.body["input"]]}).encode())


WIRES: dict[str, Any] = {
    "openai": (lambda url, **kw: OpenAIEmbeddings(base_url=url, api_key="k", chunk_size=2, **kw), openai_rows, 3),
    "google": (
        lambda url, **kw: GoogleGenerativeAIEmbeddings(base_url=url, api_key="k", chunk_size=2, **kw),
        google_rows,
        3,
    ),
    "ollama": (lambda url, **kw: OllamaEmbeddings(model="m", base_url=url, **kw), ollama_rows, 1),
}


@pytest.mark.parametrize("wire", list(WIRES))
def test_vectors_come_in_the_order_of_the_texts(wire: str, call: Any) -> None:
    make, rows, requests = WIRES[wire]
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    with Canned([rows]) as server:
        assert call(make(server.url), "embed_documents", texts) == [number(t) for t in texts]
        assert len(server.requests) == requests
        assert call(make(server.url), "embed_query", "query") == number("query")


@pytest.mark.parametrize("wire", list(WIRES))
def test_no_texts_are_no_request(wire: str, call: Any) -> None:
    make, rows, _ = WIRES[wire]
    with Canned([rows]) as server:
        assert call(make(server.url), "embed_documents", []) == []
    assert server.requests == []


@pytest.mark.parametrize("wire", list(WIRES))
def test_failures_are_tried_again_and_named(wire: str, call: Any) -> None:
    make, rows, _ = WIRES[wire]
    busy = Reply(b'{"error": {"message": "busy"}}', 429, headers={"Retry-After": "0.01"})
    with Canned([busy, rows]) as server:
        assert call(make(server.url), "embed_query", "x") == number("x")
    with (
        Canned([Reply(b'{"error": {"message": "no such model"}}', 404)]) as server,
        pytest.raises(errors.ModelNotFoundError),
    ):
        call(make(server.url), "embed_query", "x")


def test_queries_of_google_say_that_they_are_queries() -> None:
    with Canned([google_rows]) as server:
        model = GoogleGenerativeAIEmbeddings(
            base_url=server.url, api_key="k", task_type="RETRIEVAL_DOCUMENT", dimensions=2
        )
        model.embed_query("x")
        model.embed_documents(["x"])
    kinds = [r.body["requests"][0]["taskType"] for r in server.requests]
    assert kinds == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert server.requests[0].body["requests"][0]["outputDimensionality"] == 2


def test_packed_vectors_are_unpacked() -> None:
    packed = base64.b64encode(struct.pack("<3f", 0.5, -1.0, 2.0)).decode()
    assert _openai_embeddings.rows({"data": [{"index": 0, "embedding": packed}]}) == [[0.5, -1.0, 2.0]]


@pytest.mark.parametrize("name", recorded.having(apis=("embeddings", "embed_content", "ollama_embed")))
def test_recorded_vectors_decode(name: str) -> None:
    body = json.loads(recorded.load(name)["response"]["body_text"])
    api = recorded.load(name)["api"]
    if api == "embeddings" and "embedding" in body:
        pytest.skip("Ollama's older embeddings endpoint, which its own documentation replaces by /api/embed")
    read = {
        "embeddings": _openai_embeddings.rows,
        "embed_content": _google_embeddings.rows,
        "ollama_embed": lambda b: b["embeddings"],
    }
    vectors = read[api](body)
    assert vectors and all(isinstance(x, float | int) for v in vectors for x in v)
