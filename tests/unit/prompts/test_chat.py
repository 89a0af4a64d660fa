import sys

import pytest

from clew.load import dumps, loads
from clew.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage
from clew.prompt_values import ChatPromptValue
from clew.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
    SystemMessagePromptTemplate,
)


def test_roles_and_literals(call):
    prompt = ChatPromptTemplate.from_messages([
        ("system", "你是{role}"), {"role": "user", "content": "{q}"}, AIMessage("{literal}"), "bare {q}",
        ChatMessagePromptTemplate.from_template("c {q}", role="critic"), (AIMessage, "a {q}"), ("developer", "d"),
    ])  # fmt: skip
    value = call(prompt, "invoke", {"role": "诗人", "q": 1})
    assert isinstance(value, ChatPromptValue)
    assert value.to_messages() == [
        SystemMessage("你是诗人"), HumanMessage("1"), AIMessage("{literal}"), HumanMessage("bare 1"),
        ChatMessage("c 1", role="critic"), AIMessage("a 1"),
        SystemMessage("d", additional_kwargs={"__openai_role__": "developer"}),
    ]  # fmt: skip
    assert prompt.input_variables == ["q", "role"]


def test_placeholders():
    prompt = ChatPromptTemplate([MessagesPlaceholder("h", n_messages=2), ("placeholder", "{more}"), ("user", "{q}")])
    history = [("user", "a"), AIMessage("b"), {"role": "user", "content": "c"}]
    assert prompt.invoke({"h": history, "q": "x"}).to_messages() == [
        AIMessage("b"),
        HumanMessage("c"),
        HumanMessage("x"),
    ]
    assert prompt.optional_variables == ["more"] and prompt.input_variables == ["h", "q"]
    for bad in ("text", HumanMessage("x"), {"role": "user"}, 5):
        with pytest.raises(ValueError, match="list of messages"):
            prompt.invoke({"h": bad, "q": "x"})
    with pytest.raises(ValueError):
        ChatPromptTemplate([("placeholder", "history")])


def test_missing_variables_are_named():
    with pytest.raises(KeyError, match=r"missing \['q'\]"):
        ChatPromptTemplate([("system", "{a}"), ("user", "{q}")]).invoke({"a": 1})
    with pytest.raises(KeyError, match="h"):
        ChatPromptTemplate([MessagesPlaceholder("h")]).invoke({})


def test_partials():
    prompt = ChatPromptTemplate([("system", "{a}"), ("user", "{q}")]).partial(a=lambda: "A")
    assert prompt.input_variables == ["q"] and prompt.invoke("x").to_string() == "System: A\nHuman: x"
    assert prompt.format(q="x") == "System: A\nHuman: x"


def test_blocks():
    prompt = ChatPromptTemplate(
        [
            (
                "user",
                [
                    "{t}",
                    {"image_url": "https://x/{p}"},
                    {"type": "text", "text": "{t}", "cache_control": {"type": "ephemeral"}},
                ],
            )
        ]
    )
    (message,) = prompt.invoke({"t": "hi", "p": "y.png"}).to_messages()
    assert message.content == [
        {"type": "text", "text": "hi"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
    ]


def test_case_140_blocks_name_no_files():
    with pytest.raises(ValueError, match="path"):
        ChatPromptTemplate([("user", [{"type": "image_url", "image_url": {"path": "{p}"}}])])


def test_composition():
    prompt = (
        ChatPromptTemplate([("system", "s")])
        + HumanMessage("h")
        + "{q}"
        + [("ai", "{a}")]
        + AIMessagePromptTemplate.from_template("z")
    )
    assert [m.type for m in prompt.invoke({"q": 1, "a": 2}).to_messages()] == ["system", "human", "human", "ai", "ai"]
    assert len(prompt) == 5 and len(prompt[1:3]) == 2 and isinstance(prompt[0], SystemMessagePromptTemplate)
    prompt.append(("user", "{more}"))
    assert "more" in prompt.input_variables and len(prompt) == 6
    assert len((SystemMessagePromptTemplate.from_template("a") + HumanMessage("b")).messages) == 2
    nested = ChatPromptTemplate([("system", "s"), ChatPromptTemplate([("user", "{q}")])])
    assert nested.invoke({"q": "x"}).to_messages() == [SystemMessage("s"), HumanMessage("x")]
    with pytest.raises(NotImplementedError):
        prompt + 5


def test_few_shot():
    examples = FewShotChatMessagePromptTemplate(
        examples=[{"q": "1", "a": "2"}], example_prompt=ChatPromptTemplate([("user", "{q}"), ("ai", "{a}")])
    )
    assert ChatPromptTemplate([examples, ("user", "{q}")]).invoke({"q": "3"}).to_messages() == [
        HumanMessage("1"), AIMessage("2"), HumanMessage("3"),
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [("nobody", "x"), ("user",), {"role": "user"}, 5, ("user", "{a"), ("user", "{a.b}")])
def test_bad_messages_are_refused_when_made(bad):
    with pytest.raises((ValueError, NotImplementedError)):
        ChatPromptTemplate([bad])


def test_other_formats():
    assert (
        ChatPromptTemplate([("user", "{{a.b}}")], template_format="mustache").invoke({"a": {"b": 1}}).to_string()
        == "Human: 1"
    )
    with pytest.raises(ValueError, match="trusted"):
        ChatPromptTemplate([("user", "{{ a }}")], template_format="jinja2")


def test_own_message_templates():
    from clew.prompts import BaseMessagePromptTemplate

    class Echo(BaseMessagePromptTemplate):
        @property
        def input_variables(self):
            return ["x"]

        def format_messages(self, **kwargs):
            return [HumanMessage(kwargs["x"]), AIMessage(kwargs["x"])]

    assert ChatPromptTemplate([Echo()]).invoke({"x": "a"}).to_messages() == [HumanMessage("a"), AIMessage("a")]


def test_dumps_and_loads():
    prompt = ChatPromptTemplate(
        [("system", "{a}"), MessagesPlaceholder("h"), ("user", [{"type": "text", "text": "{q}"}])]
    ).partial(a="A")
    values = {"h": [("user", "x")], "q": "y"}
    assert loads(dumps(prompt), allowed_objects="core").invoke(values) == prompt.invoke(values)
    single = PromptTemplate.from_template("{a}")
    assert loads(dumps(single), allowed_objects="core").format(a=1) == "1"


def test_pretty():
    text = ChatPromptTemplate([("system", "{a}"), MessagesPlaceholder("h")]).pretty_repr()
    assert "System Message" in text and "{a}" in text and "Messages Placeholder" in text and "{h}" in text


def test_human_template_directly():
    assert HumanMessagePromptTemplate.from_template("{a}").format(a=1) == HumanMessage("1")
    assert HumanMessagePromptTemplate(prompt=PromptTemplate.from_template("{a}"), additional_kwargs={"k": 1}).format(
        a=1
    ).additional_kwargs == {"k": 1}


def test_the_short_way_takes_few_calls():
    prompt = ChatPromptTemplate([("system", "You are {who}."), ("human", "{q}")])
    values = {"who": "a poet", "q": "hi"}
    prompt.invoke(values)
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    prompt.invoke(values)
    sys.setprofile(None)
    assert count <= 18
