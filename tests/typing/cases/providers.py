"""What type checkers see of the providers."""

from typing import assert_type

from clew.messages import AIMessage
from clew.providers import ChatAnthropic, ChatGemini, ChatLocal, ChatOllama, ChatOpenAI, OpenAIEmbeddings


def answers(model: ChatOpenAI | ChatAnthropic | ChatGemini | ChatOllama | ChatLocal) -> None:
    assert_type(model.invoke("q"), AIMessage)


def vectors(model: OpenAIEmbeddings) -> None:
    assert_type(model.embed_documents(["a"]), list[list[float]])
    assert_type(model.embed_query("a"), list[float])


def counts(model: ChatAnthropic, local: ChatLocal) -> None:
    assert_type(model.count_tokens("q"), int)
    assert_type(local.get_token_ids("q"), list[int])
