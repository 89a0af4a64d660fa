import copy
from uuid import uuid4

import pytest
from pydantic import BaseModel

from clew.messages import AIMessage, AIMessageChunk, HumanMessage
from clew.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
    RunInfo,
    merge_chat_generation_chunks,
)


def test_text_follows_the_message():
    generation = ChatGeneration(message=AIMessage([{"type": "text", "text": "x"}]))
    assert generation.text == "x"
    generation.message.content = "y"
    assert generation.text == "y"


def test_a_chat_generation_needs_a_message():
    with pytest.raises(ValueError):
        ChatGeneration(message="x")


def test_chunks_add_up():
    total = GenerationChunk(text="a", generation_info={"x": "1"}) + GenerationChunk(
        text="b", generation_info={"x": "1"}
    )
    assert total == GenerationChunk(text="ab", generation_info={"x": "1"})
    chunks = [ChatGenerationChunk(message=AIMessageChunk(text)) for text in "abc"]
    assert (chunks[0] + chunks[1]).text == "ab" and (chunks[0] + chunks[1:]).text == "abc"
    assert merge_chat_generation_chunks(chunks).text == "abc" and merge_chat_generation_chunks([]) is None
    assert [chunk.text for chunk in chunks] == ["a", "b", "c"]
    with pytest.raises(TypeError):
        chunks[0] + "x"


def test_copies():
    result = LLMResult(generations=[[ChatGeneration(message=AIMessage("x"))]], llm_output={"a": [1]})
    for twin in (result.model_copy(deep=True), copy.deepcopy(result)):
        twin.generations[0][0].message.content = "y"
        twin.llm_output["a"].append(2)
    assert result.generations[0][0].text == "x" and result.llm_output == {"a": [1]}
    assert result.model_copy(update={"llm_output": None}).llm_output is None


def test_dump():
    result = ChatResult(generations=[ChatGeneration(message=HumanMessage("x"))])
    assert result.model_dump()["generations"][0]["message"]["content"] == "x"


def test_flatten_counts_usage_once():
    result = LLMResult(
        generations=[[Generation(text="a")], [Generation(text="b")]], llm_output={"token_usage": {"n": 3}, "m": 1}
    )
    first, second = result.flatten()
    assert first.llm_output == {"token_usage": {"n": 3}, "m": 1} and second.llm_output == {"token_usage": {}, "m": 1}


def test_as_pydantic_fields():
    class Holder(BaseModel):
        result: LLMResult
        info: RunInfo

    holder = Holder(result=LLMResult(generations=[]), info=RunInfo(run_id=uuid4()))
    assert holder.model_dump()["result"]["generations"] == []


def test_the_classes_can_be_inspected():
    import inspect

    for cls in (Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult, RunInfo):
        assert "self" not in inspect.signature(cls).parameters
