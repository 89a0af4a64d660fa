"""Chains: load, call, save, in this order, and nothing saved of what failed."""

from __future__ import annotations

from typing import Any

import pytest
from talk import Listed, Scripted, texts

from clew.callbacks import BaseCallbackHandler
from clew.chains import Chain, ConversationChain, LLMChain
from clew.memory import ConversationBufferMemory
from clew.prompts import PromptTemplate


class Upper(Chain):
    fails: bool = False

    @property
    def input_keys(self) -> list[str]:
        return ["question"]

    @property
    def output_keys(self) -> list[str]:
        return ["answer"]

    def _call(self, inputs: dict[str, Any]) -> dict[str, Any]:  # takes no run_manager
        if self.fails:
            raise RuntimeError("down")
        return {"answer": inputs["question"].upper()}


def test_a_run_loads_calls_and_saves(call: Any) -> None:
    history = Listed()
    chain = Upper(memory=ConversationBufferMemory(chat_memory=history, input_key="question"))
    assert call(chain, "invoke", "hi") == {"question": "hi", "history": "", "answer": "HI"}
    assert call(chain, "invoke", {"question": "yo"}, return_only_outputs=True) == {"answer": "YO"}
    assert history.writes == [["hi", "HI"], ["yo", "YO"]]
    chain.fails = True
    with pytest.raises(RuntimeError, match="down"):
        call(chain, "invoke", "hi")
    assert len(history.writes) == 2


def test_a_conversation_chain_talks(call: Any) -> None:
    model = Scripted(replies=["Hello Ann", "You are Ann"])
    chain = ConversationChain(llm=model)
    assert call(chain, "invoke", "I am Ann")["response"] == "Hello Ann"
    assert call(chain, "predict", input="Who am I?") == "You are Ann"
    assert "Human: I am Ann\nAI: Hello Ann\nHuman: Who am I?" in model.prompts()[1]
    with pytest.raises(ValueError, match="prompt"):
        ConversationChain(llm=model, prompt=PromptTemplate.from_template("{other}"))


def test_an_llm_chain_applies_and_stops(call: Any) -> None:
    seen: list[Any] = []

    class Noting(Scripted):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            seen.append(stop)
            return super()._generate(messages, stop, run_manager, **kwargs)

    chain = LLMChain.from_string(Noting(replies=["a"]), "{x}?")
    assert call(chain, "apply", [{"x": "1"}, {"x": "2"}]) == [{"text": "a"}, {"text": "a"}]
    call(chain, "invoke", {"x": "1", "stop": ["."]})
    assert seen == [None, None, ["."]]
    with pytest.raises(ValueError, match="x"):
        call(chain, "invoke", {"y": 1})


def test_observers_see_the_chain_and_the_model_below_it() -> None:
    class Tree(BaseCallbackHandler):
        def __init__(self) -> None:
            self.parents: dict[Any, Any] = {}

        def on_chain_start(self, serialized: Any, inputs: Any, **kw: Any) -> None:
            self.parents[kw.get("name")] = kw.get("parent_run_id")

        def on_chat_model_start(self, serialized: Any, messages: Any, **kw: Any) -> None:
            self.parents["model"] = kw.get("parent_run_id")

    tree = Tree()
    chain = LLMChain.from_string(Scripted(replies=["a"]), "{x}")
    chain.invoke({"x": "1"}, {"callbacks": [tree]})
    assert tree.parents["LLMChain"] is None
    assert tree.parents["model"] is not None
    assert texts(chain.llm.sent[0]) == ["1"]  # type: ignore[attr-defined]
