"""Any memory around a pipeline, streamed or not, blocking or awaited."""

from __future__ import annotations

from typing import Any

import pytest
from talk import Echo, Listed, Scripted, kinds, texts, tool_turn

from clew.memory import ConversationBufferMemory, ConversationTokenBufferMemory, VectorStoreRetrieverMemory, with_memory
from clew.prompts import ChatPromptTemplate, MessagesPlaceholder
from clew.runnables import RunnableLambda

PROMPT = ChatPromptTemplate.from_messages([
    ("system", "You know {topic}."), MessagesPlaceholder("history"), ("human", "{question}"),
])  # fmt: skip


def test_a_pipeline_remembers(call: Any) -> None:
    model, memory = Echo(), ConversationBufferMemory(return_messages=True)
    chain = with_memory(PROMPT | model, memory, input_key="question")
    for question in ("one", "two"):
        call(chain, "invoke", {"topic": "maths", "question": question})
    assert texts(model.sent[1]) == ["You know maths.", "one", "echo one", "two"]
    assert texts(memory.chat_memory.messages) == ["one", "echo one", "two", "echo two"]


def test_a_stream_is_passed_on_and_saved_once(call: Any) -> None:
    history = Listed()
    memory = ConversationTokenBufferMemory(llm=Scripted(), chat_memory=history, return_messages=True)
    chain = with_memory(PROMPT | Echo(), memory, input_key="question")
    chunks = list(call(chain, "stream", {"topic": "t", "question": "one two"}))
    assert [chunk.text for chunk in chunks if chunk.text] == ["echo", " one", " two"]
    assert history.writes == [["one two", "echo one two"]]


def test_a_closed_stream_keeps_its_part_or_drops_it() -> None:
    for choice, kept in (("keep", ["human", "ai"]), ("drop", [])):
        memory = ConversationBufferMemory(return_messages=True)
        stream = with_memory(PROMPT | Echo(), memory, input_key="question", on_abort=choice).stream(  # type: ignore[arg-type]
            {"topic": "t", "question": "one two"}
        )
        next(iter(stream))
        stream.close()  # type: ignore[attr-defined]
        assert kinds(memory.chat_memory.messages) == kept
    memory = ConversationBufferMemory(return_messages=True)
    with pytest.raises(ConnectionError):
        chain = with_memory(PROMPT | Echo(fail_at=2), memory, input_key="question")
        list(chain.stream({"topic": "t", "question": "one two"}))
    assert memory.chat_memory.messages[1].response_metadata["status"] == "incomplete"


def test_a_tool_turn_is_saved_whole(call: Any) -> None:
    memory = ConversationBufferMemory(return_messages=True)
    chain = with_memory(RunnableLambda(lambda value: tool_turn(2)[1:]), memory)
    call(chain, "invoke", "weather?")
    assert memory.chat_memory.messages == tool_turn(2)


def test_a_save_that_fails_is_the_callers_error(call: Any) -> None:
    memory = ConversationBufferMemory(chat_memory=Listed(fail=ConnectionError("store down")))
    with pytest.raises(ConnectionError, match="store down"):
        call(with_memory(RunnableLambda(lambda value: "a"), memory), "invoke", {"input": "q"})


def test_recall_by_meaning_works_around_a_pipeline(call: Any) -> None:
    pytest.importorskip("numpy", reason="needs: pip install numpy")
    from clew.embeddings import DeterministicFakeEmbedding
    from clew.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    memory = VectorStoreRetrieverMemory(retriever=store.as_retriever(search_kwargs={"k": 1}))
    chain = with_memory(RunnableLambda(lambda value: f"saw {value['history']!r}"), memory)
    assert call(chain, "invoke", {"input": "my cat is Tom"}) == "saw ''"
    assert "my cat is Tom" in call(chain, "invoke", {"input": "my cat is Tom"})
