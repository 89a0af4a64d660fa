"""The memory that recalls by meaning: what it stores, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest
from talk import at_once, tool_turn

pytest.importorskip("numpy", reason="needs: pip install numpy")

from clew.embeddings import DeterministicFakeEmbedding
from clew.memory import VectorStoreRetrieverMemory
from clew.vectorstores import InMemoryVectorStore


def memory(store: Any = None, **more: Any) -> VectorStoreRetrieverMemory:
    store = store or InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    return VectorStoreRetrieverMemory(retriever=store.as_retriever(search_kwargs={"k": 10}), **more)


def stored(one: VectorStoreRetrieverMemory) -> list[str]:
    return sorted(d.page_content for d in one.retriever.vectorstore.similarity_search("", 50))


def test_case_074_injected_context_is_not_stored_again(call: Any) -> None:
    inputs = {"question": "q", "history": "of this memory", "lines": "of another", "secret": "pin"}
    excluding = memory(input_key="question", exclude_input_keys=["lines", "secret"])
    call(excluding, "save_context", inputs, {"answer": "a"})
    assert stored(excluding) == ["question: q\nanswer: a"]
    including = memory(input_key="question", include_input_keys=["question"])
    call(including, "save_context", inputs, {"answer": "a"})
    assert stored(including) == ["question: q\nanswer: a"]


def test_case_074_clear_takes_out_what_this_memory_stored(call: Any) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_texts(["was here before"])
    one, two = memory(store), memory(store)
    call(one, "save_context", {"input": "mine"}, {"output": "x"})
    call(two, "save_context", {"input": "theirs"}, {"output": "y"})
    call(one, "clear")
    assert stored(two) == ["input: theirs\noutput: y", "was here before"]


def test_case_083_the_same_turn_at_once_is_stored_once_where_asked() -> None:
    one = memory(deduplicate=True, metadata={"user_id": "ann"})
    at_once(6, lambda n: one.save_context({"input": "I like tea"}, {"output": "noted"}))
    assert stored(one) == ["input: I like tea\noutput: noted"]
    other = memory(one.retriever.vectorstore, deduplicate=True, metadata={"user_id": "bob"})
    other.save_context({"input": "I like tea"}, {"output": "noted"})
    assert len(stored(one)) == 2  # another person's fact is another fact


def test_a_tool_turn_is_recalled_whole(call: Any) -> None:
    one = memory()
    question, *rest = tool_turn(1)
    call(one, "save_context", {"input": question}, {"output": rest})
    (text,) = stored(one)
    assert all(part in text for part in ("weather?", "weather", "sunny 0"))
