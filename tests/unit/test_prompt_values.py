import pytest
from pydantic import BaseModel

from clew.messages import AIMessage, HumanMessage
from clew.prompt_values import ChatPromptValue, ImagePromptValue, PromptValue, StringPromptValue


def test_text():
    value = StringPromptValue(text="x")
    assert value.to_string() == "x" and value.to_messages() == [HumanMessage("x")]


def test_messages():
    messages = (HumanMessage("q"), AIMessage("a"))
    value = ChatPromptValue(messages=messages)
    assert value.to_messages() == list(messages) and value.to_string() == "Human: q\nAI: a"
    value.to_messages().append(HumanMessage("more"))
    assert len(value.messages) == 2


def test_image():
    value = ImagePromptValue(image_url={"url": "u", "detail": "low"})
    assert value.to_string() == "u"
    assert value.to_messages()[0].content == [{"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]


def test_own_kinds():
    class Shout(PromptValue):
        word: str

        def to_string(self):
            return self.word.upper()

    assert Shout(word="a").to_string() == "A"
    with pytest.raises(NotImplementedError):
        Shout(word="a").to_messages()


def test_as_pydantic_field():
    class Holder(BaseModel):
        value: PromptValue

    assert (
        Holder(value=ChatPromptValue(messages=[HumanMessage("x")])).model_dump()["value"]["messages"][0]["content"]
        == "x"
    )
