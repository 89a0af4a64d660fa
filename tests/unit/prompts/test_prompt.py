import asyncio

import pytest

from clew.documents import Document
from clew.prompt_values import ImagePromptValue, StringPromptValue
from clew.prompts import (
    DictPromptTemplate,
    FewShotPromptTemplate,
    FewShotPromptWithTemplates,
    ImagePromptTemplate,
    PromptTemplate,
    aformat_document,
    format_document,
)


def test_format_and_invoke(call):
    prompt = PromptTemplate.from_template("{a} {b}")
    assert prompt.input_variables == ["a", "b"]
    assert call(prompt, "invoke", {"a": 1, "b": 2, "c": 3}) == StringPromptValue(text="1 2")
    assert call(prompt, "format", a=1, b=2) == "1 2"
    assert call(prompt, "format_prompt", a=1, b=2) == StringPromptValue(text="1 2")


def test_a_single_variable_may_be_given_bare():
    assert PromptTemplate.from_template("{a}!").invoke("x").text == "x!"
    with pytest.raises(TypeError, match="dict"):
        PromptTemplate.from_template("{a}{b}").invoke("x")


def test_missing_variables_are_named():
    for use in (lambda p: p.invoke({"a": 1}), lambda p: p.format(a=1)):
        with pytest.raises(KeyError, match=r"missing \['b'\]"):
            use(PromptTemplate.from_template("{a}{b}"))


def test_partials():
    prompt = PromptTemplate.from_template("{day} {a}", partial_variables={"day": lambda: "Monday"})
    assert prompt.input_variables == ["a"] and prompt.format(a="x") == "Monday x"
    assert prompt.partial(a="y").format() == "Monday y" and prompt.partial(a="y").invoke({}).text == "Monday y"
    assert prompt.format(a="x", day="Sunday") == "Sunday x"


def test_a_changed_template_counts():
    prompt = PromptTemplate.from_template("{a}")
    prompt.template = "<{a}>"
    assert prompt.format(a=1) == "<1>"
    assert prompt.model_copy(update={"template": "[{a}]"}).format(a=1) == "[1]"


def test_templates_add_up():
    both = PromptTemplate.from_template("{a}", partial_variables={"a": 1}) + " {b}"
    assert both.format(b=2) == "1 2" and both.input_variables == ["b"]
    assert (both + PromptTemplate.from_template("{c}")).format(b=2, c=3) == "1 23"
    with pytest.raises(NotImplementedError):
        both + 5
    with pytest.raises(ValueError):
        both + PromptTemplate.from_template("{{c}}", template_format="mustache")


def test_bad_templates_are_refused_when_made():
    for bad in ({"template": "{a"}, {"template": "{stop}"}, {"template": "{a}", "template_format": "erb"}, {}):
        with pytest.raises(ValueError):
            PromptTemplate(**bad)
    with pytest.raises(ValueError, match="missing"):
        PromptTemplate(template="{a}", input_variables=["b"], validate_template=True)


def test_input_schema():
    assert list(PromptTemplate.from_template("{a}").get_input_schema().model_fields) == ["a"]


def test_files_and_examples(tmp_path):
    (tmp_path / "p.txt").write_text("{a} 中", encoding="utf-8")
    assert PromptTemplate.from_file(tmp_path / "p.txt").format(a=1) == "1 中"
    assert PromptTemplate.from_examples(["x", "y"], "{q}", ["q"], prefix="p").format(q="z") == "p\n\nx\n\ny\n\nz"


def test_documents():
    prompt = PromptTemplate.from_template("{title}: {page_content}")
    document = Document("text", metadata={"title": "T", "more": 1})
    assert format_document(document, prompt) == asyncio.run(aformat_document(document, prompt)) == "T: text"
    with pytest.raises(ValueError, match="title"):
        format_document(Document("text"), prompt)


def test_few_shot():
    example = PromptTemplate.from_template("{q}->{a}")
    prompt = FewShotPromptTemplate(
        examples=[{"q": 1, "a": 2, "note": "x"}],
        example_prompt=example,
        prefix="{mood}",
        suffix="{q}->",
        example_separator="\n",
    )
    assert sorted(prompt.input_variables) == ["mood", "q"]
    assert prompt.format(mood="Calm", q=5) == "Calm\n1->2\n5->"
    assert prompt.partial(mood="M").invoke({"q": 5}).text == "M\n1->2\n5->"

    class Chosen:
        def select_examples(self, values):
            return [{"q": values["q"], "a": "!"}]

    chosen = FewShotPromptTemplate(example_selector=Chosen(), example_prompt=example, suffix="{q}")
    assert chosen.format(q=7) == "7->!\n\n7"
    for bad in ({}, {"examples": [], "example_selector": Chosen()}):
        with pytest.raises(ValueError, match="either"):
            FewShotPromptTemplate(example_prompt=example, suffix="x", **bad)
    both = FewShotPromptWithTemplates(
        examples=[{"q": 1, "a": 2}],
        example_prompt=example,
        prefix=PromptTemplate.from_template("{p}"),
        suffix=PromptTemplate.from_template("{q}"),
    )
    assert both.format(p="P", q="Q") == "P\n\n1->2\n\nQ"


def test_dicts_and_images():
    prompt = DictPromptTemplate(template={"a": "{x}", "b": [1, {"c": "{y}"}]})
    assert prompt.input_variables == ["x", "y"] and prompt.invoke({"x": 1, "y": 2}) == {"a": "1", "b": [1, {"c": "2"}]}
    image = ImagePromptTemplate(template={"url": "https://x/{p}"})
    assert image.invoke({"p": "y.png"}) == ImagePromptValue(image_url={"url": "https://x/y.png"})
    with pytest.raises(ValueError):
        image.partial(p="").model_copy(update={"template": {"url": ""}}).format()


def test_case_140_images_are_not_read_from_files():
    for bad in ({"template": {"path": "{p}"}}, {"input_variables": ["path"]}):
        with pytest.raises(ValueError, match="path"):
            ImagePromptTemplate(**bad)
    with pytest.raises(ValueError, match="path"):
        ImagePromptTemplate(template={"url": "{u}"}).format(u="x", path="/etc/passwd")


def test_runs_are_reported():
    from clew.callbacks import BaseCallbackHandler

    seen = []

    class Handler(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, tags=None, **kw):
            seen.append((inputs, tags))

    PromptTemplate.from_template("{a}", tags=["mine"]).invoke({"a": 1}, {"callbacks": [Handler()]})
    assert seen == [({"a": 1}, ["mine"])]
